internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator

/// `jostle fleet group`: the groups that the fleet puts devices in.
extension FleetCommand {
    static var group: Command {
        Command(
            usage: CommandUsage(
                name: "fleet group", summary: "add devices to a group, or remove them from it",
                details: """
                    The groups of a device are a retained message of their own. It replaces the groups in the device's
                    file, and gives their order: a later group overrides an earlier one.
                    """),
            commands: [
                Command(
                    usage: groupUsage("add", "add devices to a group, as their last one"),
                    run: { arguments throws(CommandFailure) in
                        try changeGroups(arguments) { groups, name in
                            groups.contains(name) ? groups : groups + [name]
                        }
                    }),
                Command(
                    usage: groupUsage("remove", "remove devices from a group"),
                    run: { arguments throws(CommandFailure) in
                        try changeGroups(arguments) { groups, name in groups.filter { $0 != name } }
                    }),
            ])
    }

    private static func groupUsage(_ word: String, _ summary: String) -> CommandUsage {
        CommandUsage(
            name: "fleet group \(word)", summary: summary,
            operands: [
                CommandUsage.Operand(name: "GROUP", help: "the group"),
                CommandUsage.Operand(name: "ID", help: "the devices", isRepeatable: true),
            ],
            options: FleetOptions.publishing + [FleetOptions.json] + FleetConnection.options)
    }

    private static func changeGroups(
        _ arguments: Arguments, _ change: ([String], String) -> [String]
    ) throws(CommandFailure) {
        let name = arguments.operand(0) ?? ""
        let ids = arguments.operands(from: 1)
        try FleetOptions.check(group: name)
        for id in ids where !JostleSettings.Device.isID(id) {
            throw CommandFailure(.usage, "\"\(id)\" is not a device id: letters, digits, _ and -")
        }
        let note = try FleetOptions.note(arguments)
        let manner = try FleetRun.Manner(arguments)
        let connection = try FleetConnection.open(arguments)
        try connection.complete(ids.map { .registry($0) })
        let model = connection.model
        var changes: [FleetRun.Change] = []
        var unchanged: [FleetDocumentID] = []
        for id in Set(ids).sorted() {
            let document = FleetDocumentID.registry(id)
            if let problem = model.documents[document]?.problem {
                throw CommandFailure(
                    .badData, "\(document.text): the broker holds a document that cannot be used: \(problem)")
            }
            let plan = RevisionPlan(for: document, in: model)
            try FleetEdit.requireNothingLost(document, plan, isSigned: model.trust != nil)
            let present = model.groups(of: id)
            let groups = change(present, name)
            guard groups.count <= JostleSettings.Device.maximumGroups else {
                throw CommandFailure(
                    .badData, "\(id): a device has at most \(JostleSettings.Device.maximumGroups) groups")
            }
            if groups == present, !plan.mustRepeat {
                if !manner.isJSON { Output.line("\(id): nothing to change") }
                if model.documents[document] != nil { unchanged.append(document) }
                continue
            }
            let draft = DocumentDraft(
                groups: groups, by: FleetConnection.author, at: FleetConnection.now, note: note)
            changes.append(FleetRun.Change(document: document, draft: draft, revision: plan))
        }
        try FleetRun.publish(changes, unchanged: unchanged, connection, manner)
    }
}
