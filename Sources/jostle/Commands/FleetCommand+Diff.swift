internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator

/// `jostle fleet diff`: what a change would alter, device by device.
extension FleetCommand {
    static let diffUsage = CommandUsage(
        name: "fleet diff", summary: "show what jostle fleet set or apply would change, device by device",
        details: "The present values are those that the devices report. Nothing is published.",
        operands: [
            CommandUsage.Operand(
                name: "DIRECTORY|KEY=VALUE",
                help: "a directory as for apply; or keys as for set, with --device, --group or --all",
                isRepeatable: true)
        ],
        options: FleetOptions.selection + [
            CommandUsage.Option(name: "prune", help: "as for apply"), FleetEdit.unknownOption, FleetOptions.json,
        ] + FleetConnection.options)

    static func diff(_ arguments: Arguments) throws(CommandFailure) {
        let proposal: FleetPreview.Proposal
        let connection: FleetConnection
        if let selection = try FleetOptions.optionalSelection(arguments) {
            let edit = try FleetEdit.edit(setting: arguments.operands(from: 0), unsetting: [], arguments)
            connection = try FleetConnection.open(arguments)
            try connection.complete(selection.layers)
            let result = try FleetEdit.apply(edit, to: selection.layers, connection.model, note: nil)
            proposal = FleetPreview.Proposal(result.changes.map { ($0.document, $0.draft.content) })
        } else {
            guard arguments.operand(1) == nil, let path = arguments.operand(0), !path.contains("=") else {
                throw CommandFailure(.usage, "name a directory, or the devices: --all, --group GROUP or --device ID")
            }
            let ignores = try FleetFiles.ignoresUnknownKeys(arguments)
            let directory = try FleetFiles.read(path, ignoresUnknownKeys: ignores ?? false)
            connection = try FleetConnection.open(arguments)
            try connection.complete(directory.documents)
            let author = ApplyPlan.Author(by: FleetConnection.author, at: FleetConnection.now, note: nil)
            let plan = ApplyPlan(
                directory, connection.model, author: author, prunes: arguments.has("prune"), ignoresUnknownKeys: ignores
            )
            proposal = FleetPreview.Proposal(plan.items.map { ($0.document, $0.draft.content) })
        }
        let preview = FleetPreview(proposal, connection.model)
        if arguments.has("json") {
            for board in preview.boards { Output.json(json(board).compactText) }
        } else {
            show(preview)
        }
    }

    /// Devices with the same changes are shown together.
    private static func show(_ preview: FleetPreview) {
        guard !preview.boards.isEmpty else {
            Output.line("No device would change.")
            return
        }
        var parts: [(boards: [FleetPreview.Board], first: FleetPreview.Board)] = []
        for board in preview.boards {
            let index = parts.firstIndex {
                $0.first.changes == board.changes && $0.first.refusedKeys == board.refusedKeys
            }
            if let index { parts[index].boards.append(board) } else { parts.append(([board], board)) }
        }
        for (boards, first) in parts {
            let names = boards.map { $0.isOnline == true ? $0.id : "\($0.id) (not online)" }
            let count = boards.count > 1 ? "\(boards.count) devices: " : ""
            Output.line("\(count)\(FleetText.names(names))")
            Output.text(
                TextTable(
                    first.changes.map { change in
                        [change.key, "\(change.old ?? "?") -> \(change.new ?? "its own value")", change.layer ?? ""]
                    }
                ).description)
            for key in first.refusedKeys {
                Output.line("  would be refused: \(key) is not in the board's fleet.remote")
            }
        }
    }

    private static func json(_ board: FleetPreview.Board) -> JSONValue {
        let changes = board.changes.map { change in
            JSONValue.object([
                .init("key", .string(change.key)), .init("old", FleetJSON.text(change.old)),
                .init("new", FleetJSON.text(change.new)), .init("layer", FleetJSON.text(change.layer)),
            ])
        }
        return .object([
            .init("id", .string(board.id)), .init("online", board.isOnline.map { .bool($0) } ?? .null),
            .init("changes", .array(changes)), .init("refused_keys", .array(board.refusedKeys.map { .string($0) })),
        ])
    }
}
