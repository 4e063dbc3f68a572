internal import JostleCommandLine

/// `jostle fleet`: the configuration of many devices, as retained messages on their broker.
enum FleetCommand {
    static var command: Command {
        Command(
            usage: CommandUsage(
                name: "fleet", summary: "see and change the configuration of many devices over MQTT",
                details: """
                    The configuration of a fleet consists of layers: of all devices, of groups, of single devices. Each is
                    a retained message on the broker. A board validates it, takes it over and reports that.
                    """),
            commands: [
                Command(usage: listUsage, run: list),
                Command(usage: showUsage, run: show),
                Command(usage: getUsage, run: get),
                Command(usage: setUsage, run: set),
                Command(usage: unsetUsage, run: unset),
                Command(usage: diffUsage, run: diff),
                Command(usage: applyUsage, run: apply),
                Command(usage: exportUsage, run: export),
                rollout,
                Command(usage: waitUsage, run: wait),
                Command(usage: logUsage, run: log),
                Command(usage: rollbackUsage, run: rollback),
                group,
                Command(usage: commandUsage, run: command),
                Command(usage: forgetUsage, run: forget),
                Command(usage: keygenUsage, run: keygen),
                Command(usage: enrollUsage, run: enroll),
                Command(usage: revokeUsage, run: revoke),
                Command(usage: replaceUsage, run: replace),
            ])
    }
}
