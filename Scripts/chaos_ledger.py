"""The ledger of a chaos run: what the documentation promises, what was seen, and what does not fit together."""
import collections, hashlib, json, time

from chaos_rig import health_interval, keep_alive

# Keys of layers with the place of their value in a report. No home sets them.
layer_keys = (
    "gestures.shake.sensitivity", "gestures.shake.cooldown", "gestures.turn.minimum_angle", "gestures.tap.cooldown",
    "gestures.tilt.enabled", "gestures.impact.sensitivity", "sensor.rate")
# The key that is set with `set/<key>`: its value only grows.
local_key = "gestures.flip.cooldown"
# Seconds around the death of the broker in which it may lose what it acknowledged: it saves once a second.
broker_loss = (-1.0, 3.0)
# Seconds after which an agent that can reach its broker must be online: up to 15 s between attempts after a broker that
# accepts no device, and 10 s until a broker that does not answer is given up.
longest_return = 32
memory_limit = 64
# Seconds until the broker publishes a will, and until a health report is late; and by which this script may be late.
starvation = 1.0
will_time = 1.5 * keep_alive + 5
health_patience = 5 * health_interval


def value(tree, key):
    for part in key.split("."):
        tree = tree.get(part) if isinstance(tree, dict) else None
    return tree


def magnitude(tree, key):
    """A value without its unit, in seconds, degrees or hertz."""
    found = value(tree, key)
    if isinstance(found, str) and found.split(" ")[0].replace(".", "", 1).isdigit():
        figure, _, unit = found.partition(" ")
        return round(float(figure) * {"ms": 1e-3, "µs": 1e-6}.get(unit, 1), 6)
    return found


def shortened(evidence):
    text = str(evidence)
    return text if len(text) <= 1200 else f"{text[:300]} … {text[-900:]}"


def number(identifier):
    return int(identifier.rsplit("-", 1)[1])


def run_of(identifier):
    return identifier.rsplit("-", 1)[0]


def content(event):
    """What may not differ when an event is repeated."""
    return {key: field for key, field in event.items() if key not in ("delayed", "t", "clock")}


class Account:
    """What is known of one agent."""

    def __init__(self):
        # By id: the event, when it first passed the link and was first acknowledged to the agent.
        self.events, self.passed, self.acknowledged = {}, {}, {}
        # The ids that the observer got, in order of their first arrival, with the time.
        self.got = {}
        self.repeated = 0
        # The life in which a run was first seen, and all ids that were in the file of a dead agent.
        self.lives, self.stored = {}, {}
        self.availability, self.availability_time = None, 0.0
        self.health, self.health_time, self.healths = None, 0.0, 0
        self.report, self.reports, self.seen_reports = None, 0, set()
        self.floors, self.local_floor = {}, (0.0, None)
        self.statuses = collections.Counter()
        self.late = self.silent = False
        self.last = {}


class Ledger:
    """Takes notes while the run lasts, and settles them at the end."""

    def __init__(self):
        self.start = time.time()
        self.faults, self.violations, self.notes = collections.Counter(), [], collections.Counter()
        self.accounts, self.agents, self.broker = {}, {}, None
        self.documents, self.sessions = {}, 0
        self.published_layers = self.failed_layers = 0
        self.commands, self.results = collections.Counter(), collections.Counter()
        self.trace = None
        # When this machine was too busy for this script, and when `watch` was called last.
        self.starvations, self.watched = [], None
        # Why the run cannot go on.
        self.failure = None
        # What is known of a row of lost events, by the id of each.
        self.lost = {}

    def add(self, agent):
        self.agents[agent.name], self.accounts[agent.name] = agent, Account()

    def violation(self, agent, text, *evidence, at=None):
        self.violations.append((at or time.time(), agent, text, [shortened(each) for each in evidence]))

    def elapsed(self, moment):
        return moment - self.start

    # MARK: notes

    def event(self, name, payload):
        """The account and the event, if this is one that can be read."""
        account = self.accounts[name]
        event = json.loads(payload)
        identifier = event["id"]
        if identifier not in account.events:
            account.events[identifier] = event
            account.lives.setdefault(run_of(identifier), self.agents[name].life.number)
        elif content(account.events[identifier]) != content(event):
            self.violation(name, f"the event {identifier} has two contents", account.events[identifier], event)
        return account, event

    def passed(self, name, connection, topic, payload):
        if not topic.startswith(f"jostle/{name}/event/"):
            return
        account, event = self.event(name, payload)
        now, agent = time.time(), self.agents[name]
        account.passed.setdefault(event["id"], now)
        # By one of the clocks that the agent had, the event happened while this script ran.
        if not any(self.start - 5 < event["t"] / 1000 - offset < now + 1 for _, offset in agent.clocks):
            self.violation(name, f"{event['id']} has an impossible time", event, agent.clocks)
        # Only agents whose clock never steps, so that `t` is the time of this script.
        if agent.clock or "clock" in event:
            return
        age = event["t"] / 1000
        if connection.opened - age > 12 and not event.get("delayed"):
            self.violation(name, f"{event['id']} is {now - age:.1f} s old, was sent on a connection of "
                           f"{connection.opened - age:.1f} s after it, and is not marked as delayed", event)
        if event.get("delayed") and now - age < 9:
            self.violation(name, f"{event['id']} is marked as delayed after {now - age:.1f} s", event)

    def acknowledged(self, name, topic, payload):
        if topic.startswith(f"jostle/{name}/event/"):
            self.accounts[name].acknowledged.setdefault(json.loads(payload)["id"], time.time())

    def no_session(self):
        self.sessions += 1
        if self.sessions > 1:
            self.violation("broker", "the broker has lost the session of the observer: the ledger has holes")

    def received(self, topic, payload, is_retained, is_repeated):
        now = time.time()
        self.trace.write(f"{now:.3f} {int(is_retained)}{int(is_repeated)} {topic} {payload.decode(errors='replace')}\n")
        parts = topic.split("/")
        if parts[1].startswith("_") or parts[2:] == ["config", "desired"]:
            if payload:
                document = json.loads(payload)
                self.documents[topic, document["revision"], digest(document)] = document["config"]
            return
        account = self.accounts.get(parts[1])
        if not account or is_retained:
            return
        rest = "/".join(parts[2:])
        if rest.startswith("event/"):
            account, event = self.event(parts[1], payload)
            if event["id"] in account.got:
                account.repeated += 1
            else:
                account.got[event["id"]] = now
            return
        account.last[rest] = payload
        if rest == "availability":
            account.availability, account.availability_time = payload.decode(), now
        elif rest == "health":
            account.health, account.health_time, account.healths = json.loads(payload), now, account.healths + 1
        elif rest == "config/reported":
            self.take_report(parts[1], account, payload, now)
        elif rest.endswith("/result"):
            self.results[parts[3], json.loads(payload).get("error", "ok")] += 1

    def take_report(self, name, account, payload, now):
        # A broker that was killed may send messages again.
        fingerprint = hashlib.sha256(payload).digest()
        if fingerprint in account.seen_reports:
            return
        account.seen_reports.add(fingerprint)
        report = json.loads(payload)
        previous, account.report = account.report, report
        account.reports += 1
        agent = self.agents[name]
        account.lives.setdefault(report["run"], agent.life.number)
        in_force, changes = {}, previous is None or previous["layers"] != report["layers"]
        for layer, entry in report["layers"].items():
            status = entry["status"]
            if changes:
                account.statuses[status] += 1
            # `in_force` is left out if it is the revision that the status is about.
            revision = entry.get("in_force")
            if revision is None and status in ("applied", "missing", "conflict"):
                revision = entry.get("revision")
            if status == "rolled_back":
                if (previous or {}).get("layers", {}).get(layer, {}).get("status") != "rolled_back":
                    self.judge_rollback(name, agent, layer, entry)
            is_subject = status in ("applied", "missing") and revision == entry.get("revision")
            in_force[layer] = revision, entry.get("hash") if is_subject else None
            # Revisions count within an epoch.
            epoch = entry.get("accepted_epoch", entry.get("epoch", ""))
            floor_epoch, floor = account.floors.get(layer, (epoch, None))
            if floor and epoch == floor_epoch and (revision or 0) < floor and status != "rolled_back":
                self.violation(
                    name, f"the layer {layer} was in force with revision {floor}, and now with {revision}", entry,
                    previous["layers"].get(layer), f"run {previous['run']} before, {report['run']} now")
            if status == "rejected":
                self.violation(name, f"the layer {layer} was rejected", entry)
            account.floors[layer] = epoch, revision
        self.compare_settings(name, report, in_force)
        local = magnitude(report["settings"], local_key)
        floor, life = account.local_floor
        if local is not None and local < floor - 1e-6:
            self.violation(name, f"{local_key} was reported as {floor}, and now as {local}",
                           f"life {life} before, {agent.life.number} now")
        # What is set at home is in force at once and written when the disk permits it.
        if "not_kept" in report:
            self.notes["settings reported as not on disk yet"] += 1
            return
        account.local_floor = local or 0.0, agent.life.number

    def judge_rollback(self, name, agent, layer, entry):
        reason, kills = entry.get("reason", ""), sum(life.was_killed for life in agent.lives)
        has_no_sensor = "no samples" in reason or reason.startswith("no usable sensor")
        if ("unexpectedly" in reason and kills >= 3) or (has_no_sensor and agent.is_on_bus):
            self.notes[f"layers rolled back: {reason.partition(':')[0]}"] += 1
        elif "keep up" in reason and (
                any(life.pauses for life in agent.lives) or any(time.time() - each < 60 for each in self.starvations)):
            self.notes[f"layers rolled back: {reason}"] += 1
        else:
            self.violation(name, f"the layer {layer} was rolled back without a cause", entry)

    def compare_settings(self, name, report, in_force):
        """Compares the settings in a report with the documents that it says are in force."""
        topics = {"all": "jostle/_all/config", "device": f"jostle/{name}/config/desired"}
        expected = {}
        for layer in ["all"] + [f"group:{group}" for group in report["groups"]] + ["device"]:
            revision, short = in_force.get(layer, (None, None))
            if revision is None:
                continue
            topic = topics.get(layer) or f"jostle/_group/{layer[6:]}/config"
            found = [each for (where, which, hash), each in self.documents.items()
                     if where == topic and which == revision and short in (None, hash)]
            if len(found) != 1:
                self.notes["reports of documents that the observer did not get"] += 1
                return
            for key in layer_keys:
                if value(found[0], key) is not None:
                    expected[key] = magnitude(found[0], key), layer
        for key, (wanted, layer) in expected.items():
            found = magnitude(report["settings"], key)
            if found != wanted:
                self.violation(name, f"{key} is {found}, but {wanted} in the layer {layer} that is reported to be in "
                               "force", {key: each for key, each in report.items() if key != "settings"})

    # MARK: while it runs

    def watch(self):
        """Checks what has to hold at any time: availability and health."""
        now = time.time()
        if self.watched and now - self.watched > starvation:
            self.starvations.append(now)
        self.watched = now
        starved = max(self.starvations, default=0)
        for name, agent in self.agents.items():
            account = self.accounts[name]
            agent.measure()
            working = agent.since and self.broker.since and agent.link.works
            calm = now - max(agent.since, self.broker.since, agent.link.since, starved) if working else 0
            # A broker that was frozen or starved may say offline before the agent can know it.
            late = min(calm, now - account.availability_time) > longest_return and account.availability != "online"
            if late and not account.late:
                self.violation(name, f"not online after {calm:.0f} s without a fault", agent.last_lines())
            account.late = late
            silent = calm > longest_return and now - account.health_time > health_patience
            if silent and not account.silent:
                self.violation(name, f"no health report for {now - account.health_time:.0f} s", agent.last_lines())
            account.silent = silent
            if not agent.is_alive:
                self.watch_will(name, agent, account, now)

    def watch_will(self, name, agent, account, now):
        life = agent.life
        if not life.end or life.is_judged:
            return
        accepted, broker = agent.accepted_at_end, self.broker
        # Without a connection there is no will, and a broker that was killed has forgotten it.
        if not accepted or not broker.since or broker.started > accepted or broker.since > life.end:
            return
        # The broker notices at once that a process has ended, unless the link was broken.
        is_told = agent.link.works and agent.link.since < life.end
        starved = max(self.starvations, default=0)
        if agent.link.freezes or now - max(life.end, agent.link.since, starved) <= (4 if is_told else will_time):
            return
        life.is_judged = True
        self.notes["ends of agents after which offline was due"] += 1
        if account.availability != "offline":
            self.violation(name, f"{now - life.end:.1f} s after its end ({life.signal}) it is still "
                           f"{account.availability}")

    def ended(self, agent):
        """An agent has ended, and its file can be read."""
        account = self.accounts[agent.name]
        ids, gestures = agent.stored()
        for identifier in ids:
            account.stored.setdefault(identifier, time.time())
            account.lives.setdefault(run_of(identifier), agent.life.number)
        return ids, gestures

    # MARK: the settlement

    def settle(self):
        """Returns the table of events and gestures, one row an agent."""
        return [self.settle_agent(name, account) for name, account in self.accounts.items()]

    def settle_agent(self, name, account):
        agent = self.agents[name]
        runs = sorted({run_of(each) for each in [*account.events, *account.stored]}, key=lambda run: account.lives[run])
        known = collections.defaultdict(int)
        for identifier in [*account.events, *account.stored]:
            known[run_of(identifier)] = max(known[run_of(identifier)], number(identifier))
        row = collections.Counter(runs=len(runs), repeated=account.repeated, received=len(account.got))
        self.check_order(name, account, runs)
        # Each open gesture with the event that began it; `None` is an unknown state.
        state = collections.defaultdict(lambda: False)
        unknown = False
        # Gestures that were open when the agent died without a disk: they may have no end.
        doubtful = {}
        for run in runs:
            life = agent.lives[account.lives[run]]
            is_excused = life.ended_without_disk or life.started_without_disk
            if life.number and agent.lives[life.number - 1].ended_without_disk:
                unknown = True
            if unknown:
                doubtful.update({key: began for key, began in state.items() if began})
                state, unknown = collections.defaultdict(lambda: None), False
            for index in range(1, known[run] + 1):
                identifier = f"{run}-{index}"
                row["promised"] += 1
                if identifier not in account.got:
                    self.judge_loss(name, account, identifier, life, is_excused, row)
                if identifier in account.events:
                    event = account.events[identifier]
                    key = event["gesture"], bool(event.get("simulated"))
                    if doubtful.pop(key, None) and event["phase"] == "began":
                        self.notes["gestures without an end, because the agent was killed while its disk failed"] += 1
                    self.pair(name, event, state, agent, life, row)
                else:
                    # The unknown event may have begun or ended any gesture.
                    state = collections.defaultdict(lambda: None)
            if life.ended_without_disk:
                unknown = True
        for (gesture, _), began in state.items():
            if began:
                row["open"] += 1
                self.violation(name, f"the gesture {gesture} began with {began} and never ended",
                               account.events.get(began))
        row["memory"] = round(agent.memory)
        if agent.memory > memory_limit:
            self.violation(name, f"used {agent.memory:.0f} MB of memory")
        return name, row

    def check_order(self, name, account, runs):
        """First arrivals are in order: the numbers of a run increase, and no run comes after a later one."""
        place, last = 0, collections.defaultdict(int)
        for identifier, moment in account.got.items():
            run, index = run_of(identifier), number(identifier)
            life = self.agents[name].lives[account.lives[run]]
            text = None
            if runs.index(run) < place:
                text = f"{identifier} arrived after events of the next run"
            elif index <= last[run]:
                text = f"{identifier} arrived after number {last[run]}"
            place, last[run] = max(place, runs.index(run)), max(last[run], index)
            if not text:
                continue
            if any(each.started_without_disk for each in self.agents[name].lives[life.number:]):
                self.notes["events out of order after a start without a disk"] += 1
            else:
                self.violation(name, text, account.events[identifier], at=moment)

    def judge_loss(self, name, account, identifier, life, is_excused, row):
        moment = account.acknowledged.get(identifier)
        if moment and any(broker_loss[0] <= death - moment <= broker_loss[1] for death, _ in self.broker.deaths):
            row["lost by the broker"] += 1
        elif is_excused:
            row["unstored"] += 1
        else:
            row["lost"] += 1
            facts = {"stored": account.stored, "passed the link": account.passed, "acknowledged": account.acknowledged}
            # Events that were lost in a row are one violation.
            previous = self.lost.get(f"{run_of(identifier)}-{number(identifier) - 1}")
            if previous:
                self.lost[identifier] = previous
                previous[3:] = [f"and all events to {identifier}"]
                return
            evidence = [
                account.events.get(identifier, "its content is unknown"),
                {key: f"{self.elapsed(each[identifier]):.2f} s" for key, each in facts.items() if identifier in each},
                f"life {life.number}, {self.elapsed(life.start):.2f} s … {self.elapsed(life.end):.2f} s, "
                f"signal {life.signal}"]
            self.lost[identifier] = evidence
            self.violations.append((life.end, name, f"the event {identifier} is lost", evidence))

    def pair(self, name, event, state, agent, life, row):
        phase, reason = event["phase"], event.get("reason")
        # The pipeline of `simulate` recognises beside the one of a real chip.
        key = event["gesture"], bool(event.get("simulated"))
        began = state[key]
        if phase == "began":
            row["began"] += 1
            if began:
                self.violation(name, f"{event['gesture']} began again before it ended: {began}, {event['id']}", event)
            state[key] = event["id"]
        elif phase == "changed":
            if began is False:
                self.violation(name, f"{event['gesture']} changed without a beginning: {event['id']}", event)
        elif phase in ("ended", "cancelled"):
            row[phase] += 1
            if began is False:
                self.violation(name, f"{event['gesture']} {phase} without a beginning: {event['id']}", event)
            state[key] = False
            if reason == "restarted":
                row["restarted"] += 1
                before = agent.lives[life.number - 1] if life.number else None
                if not before or not (before.was_killed or before.ended_without_disk):
                    self.violation(name, f"{event['id']} was cancelled by a restart, but nothing was killed", event)


def digest(document):
    """The short hash of a document. Its numbers are written in the same way in RFC 8785."""
    plain = {key: each for key, each in document.items() if key != "signature"}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
