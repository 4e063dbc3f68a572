# Makes jostle@.service, for one of several agents on a board, of jostle.service.
1i\
# One of several agents on a board, each with its own chip: `systemctl enable --now jostle@left jostle@right` starts two\
# agents, with /etc/jostle/left.yaml and /etc/jostle/right.yaml. Everything else is as in jostle.service, which\
# Scripts/check-deploy checks.
s/^Description=.*/&, instance %i/
s|^ExecStart=.*|& --config /etc/jostle/%i.yaml|
s|^ExecReload=.* check-config.*|& --config /etc/jostle/%i.yaml|
/^# The files that it names/d
/^# The command restart relies on/i\
# The name is part of the default device.id, so two instances are two devices.\
Environment=JOSTLE_INSTANCE=%i
s|^# The agent reads .*may write only to |&its directory below |
s|^StateDirectory=jostle$|&/%i|
