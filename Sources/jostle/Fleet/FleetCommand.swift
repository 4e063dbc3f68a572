internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator

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
                connected(
                    "list", "list the devices, their groups, and whether they have their configuration",
                    details: """
                        The state of a device is current, waiting (it has not taken over a layer that the broker \
                        holds), refused (it
                        does not take over a layer) or offline.
                        """,
                    options: [
                        Option("group", value: "GROUP", help: "only devices of this group"),
                        Option("version", value: "VERSION", help: "only devices with this version of Jostle"),
                        Option("chip", value: "NAME", help: "only devices whose chip has this in its name"),
                        Option(
                            "status", value: "STATUS",
                            help: "only devices with this state, or with a layer of this status",
                            suggestions: .words(FleetFilter.statuses)),
                        Option("problem", help: "only devices with a problem"),
                        Option("online", help: "only devices that are online"),
                        Option("offline", help: "only devices that are not online"),
                        Option(
                            "listen", value: "SECONDS",
                            help: "listen for so long, and show the last event of each device"),
                    ], run: list),
                connected(
                    "show", "show a device: its layers, what it refused, and the settings in force",
                    operands: [Operand("ID", help: "the device's id")],
                    options: [Option("defaults", help: "also show settings that have their built-in default")],
                    run: show),
                connected(
                    "get", "print the keys of a layer as the broker holds it",
                    operands: [Operand("KEY", help: "only this key or section", isRequired: false, isRepeatable: true)],
                    options: FleetOptions.selection, run: get),
                connected(
                    "set", "set keys for all devices, for groups or for single devices",
                    details: """
                        The values are merged into the layer that the broker holds, and published as its next \
                        revision. A value is
                        written as with --set; null takes away the value of lower layers. The command waits until \
                        the devices that
                        are online have taken the layer over, and names those that have not (exit status 75).

                        \(RolloutOptions.details)
                        """,
                    operands: [
                        Operand(
                            "KEY=VALUE", help: "for example gestures.shake.sensitivity=7", isRequired: false,
                            isRepeatable: true)
                    ],
                    options: FleetOptions.selection, FleetOptions.publishing, RolloutOptions.options,
                    [FleetEdit.unknownOption, FleetEdit.gestureOption], run: set),
                connected(
                    "unset", "remove keys from a layer, so that the layers below decide again",
                    operands: [
                        Operand("KEY", help: "a key or a section, for example gestures.shake", isRepeatable: true)
                    ],
                    options: FleetOptions.selection, FleetOptions.publishing, RolloutOptions.options, run: unset),
                connected(
                    "diff", "show what jostle fleet set or apply would change, device by device",
                    details: "The present values are those that the devices report. Nothing is published.",
                    operands: [
                        Operand(
                            "DIRECTORY|KEY=VALUE",
                            help: "a directory as for apply; or keys as for set, with --device, --group or --all",
                            isRepeatable: true)
                    ],
                    options: FleetOptions.selection, [Option("prune", help: "as for apply"), FleetEdit.unknownOption],
                    run: diff),
                connected(
                    "apply", "publish the configuration of a fleet from a directory of files",
                    details: """
                        \(FleetFiles.form)

                        Only documents that differ are published. What a broker lost is published again, if necessary \
                        in a new epoch,
                        in which revisions begin with 1. Documents that are not in the directory are listed, and stay.

                        \(RolloutOptions.details)
                        """,
                    operands: [Operand("DIRECTORY", help: "the directory of files")],
                    options: [
                        Option("check", help: "only check the files, without a broker"),
                        Option("prune", help: "empty the layers and groups that are not in the directory"),
                        Option(
                            "new-epoch",
                            help: "publish everything in a new epoch, which boards take whatever revisions they have"),
                        Option(
                            "document", value: "NAME",
                            help:
                                "only this one: all, group:GROUP, device:ID, or registry for all groups; may be repeated",
                            isRepeatable: true, suggestions: .documents),
                    ], FleetOptions.publishing, RolloutOptions.options, [FleetEdit.unknownOption], run: apply),
                connected(
                    "export", "write what the broker holds as files for jostle fleet apply",
                    details: FleetFiles.form,
                    operands: [Operand("DIRECTORY", help: "an empty or a new directory")],
                    options: [Option("force", help: "overwrite files in a directory that is not empty")],
                    printsJSON: false, run: export),
                rollout,
                connected(
                    "wait", "wait until devices have taken over the layers and groups that the broker holds for them",
                    details: "Exit status 0 if all selected devices that are online have them, else 75.",
                    options: FleetOptions.selection,
                    [Option("wait", value: "SECONDS", help: "the longest time; 60 by default")], run: wait),
                connected(
                    "log", "show who published each document in force, when and why",
                    options: [
                        Option(
                            "document", value: "NAME",
                            help:
                                "all revisions of this document that this machine has seen: all, group:G, device:ID, registry:ID",
                            suggestions: .documents)
                    ], run: log),
                connected(
                    "rollback", "publish the document before the present one again, under a new revision",
                    details: """
                        Every command of jostle fleet keeps the documents that it sees in the state directory of \
                        this machine.
                        rollback goes back to the last one that differs from the present one. jostle fleet log \
                        lists them: a
                        revision can be there several times, because numbers begin again in each epoch; a hash names \
                        one document.
                        """,
                    operands: [Operand("DOCUMENT", help: "all, group:GROUP, device:ID, registry:ID, or the topic")],
                    options: [
                        Option(
                            "to", value: "REVISION|HASH",
                            help: "go back to the document of this revision, or with this hash")
                    ],
                    FleetOptions.publishing, run: rollback),
                group,
                connected(
                    "command", "send a command to many devices and collect their answers",
                    details: """
                        Devices that are not online are not asked. Exit status 0 if every device that was asked \
                        carried the command
                        out, 75 if one did not answer, 69 if one refused it.
                        """,
                    operands: [
                        Operand(
                            "NAME", help: "the command: ping, identify, get-state, …",
                            suggestions: .words(JostleSettings.Command.allCases.map(\.rawValue))),
                        Operand("JSON", help: "its arguments, for example {\"seconds\":20}", isRequired: false),
                    ],
                    options: FleetOptions.selection,
                    [Option("timeout", value: "SECONDS", help: "wait so long for answers; 10 by default")],
                    run: command),
                connected(
                    "forget", "remove all retained messages of a device that is gone",
                    details: """
                        Removes its state, its layer, its groups and its announcements to Home Assistant. Its layer \
                        stays in the
                        history of this machine, for jostle fleet rollback.
                        """,
                    operands: [Operand("ID", help: "the device's id")],
                    options: [
                        Option("force", help: "also if the device is online"),
                        Option("dry-run", help: "list the topics, and remove nothing"),
                    ], printsJSON: false, run: forget),
                Command(usage: keygenUsage, run: keygen),
                Command(usage: enrollUsage, run: enroll),
                Command(usage: revokeUsage, run: revoke),
                Command(usage: replaceUsage, run: replace),
            ])
    }

    private static var rollout: Command {
        let seed = Operand("ROLLOUT", help: "its name, if there are several", isRequired: false)
        return Command(
            usage: CommandUsage(
                name: "fleet rollout", summary: "see, resume or withdraw changes that are being rolled out",
                details: """
                    A rollout begins with --canary in jostle fleet set, unset or apply. Its state is in the \
                    documents at the
                    broker, so anybody can go on with it.
                    """),
            commands: [
                connected("rollout list", "show the rollouts that are under way", run: listRollouts),
                connected(
                    "rollout resume", "go on with a rollout from the share that it has reached",
                    details: RolloutOptions.details, operands: [seed],
                    options: RolloutOptions.pace,
                    [
                        FleetOptions.note,
                        Option("wait", value: "TIME", help: "the longest time of a step; 10m by default"),
                        Option("dry-run", help: "show the devices of each step, and publish nothing"),
                        FleetOptions.signKey, FleetOptions.unsigned,
                    ], run: resumeRollout),
                connected(
                    "rollout withdraw", "take a rollout back: the configuration before is in force everywhere",
                    operands: [seed], options: [FleetOptions.note, FleetOptions.signKey, FleetOptions.unsigned],
                    run: withdrawRollout),
            ])
    }

    private static var group: Command {
        let operands = [Operand("GROUP", help: "the group"), Operand("ID", help: "the devices", isRepeatable: true)]
        return Command(
            usage: CommandUsage(
                name: "fleet group", summary: "add devices to a group, or remove them from it",
                details: """
                    The groups of a device are a retained message of their own. It replaces the groups in the device's
                    file, and gives their order: a later group overrides an earlier one.
                    """),
            commands: [
                connected(
                    "group add", "add devices to a group, as their last one", operands: operands,
                    options: FleetOptions.publishing, run: addToGroup),
                connected(
                    "group remove", "remove devices from a group", operands: operands,
                    options: FleetOptions.publishing, run: removeFromGroup),
            ])
    }

    /// A command that connects to the fleet's broker.
    private static func connected(
        _ name: String, _ summary: String, details: String = "", operands: [Operand] = [], options: [Option]...,
        printsJSON: Bool = true, run: @escaping (Arguments) throws -> Void
    ) -> Command {
        let options = options.flatMap(\.self) + (printsJSON ? [FleetOptions.json] : []) + FleetOperation.options
        return Command(
            usage: CommandUsage(
                name: "fleet \(name)", summary: summary, details: details, operands: operands, options: options),
            run: run)
    }
}
