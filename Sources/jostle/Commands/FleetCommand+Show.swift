internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator

/// `jostle fleet show`: everything known of one device.
extension FleetCommand {
    static let showUsage = CommandUsage(
        name: "fleet show", summary: "show a device: its layers, what it refused, and the settings in force",
        operands: [CommandUsage.Operand(name: "ID", help: "the device's id")],
        options: [
            CommandUsage.Option(name: "defaults", help: "also show settings that have their built-in default"),
            FleetOptions.json,
        ] + FleetConnection.options)

    static func show(_ arguments: Arguments) throws(CommandFailure) {
        let id = arguments.operand(0) ?? ""
        guard JostleSettings.Device.isID(id) else {
            throw CommandFailure(.usage, "\"\(id)\" is not a device id: letters, digits, _ and -")
        }
        let connection = try FleetConnection.open(arguments, interests: .health)
        let model = connection.model
        guard let board = model.allBoards.first(where: { $0.id == id }) else {
            throw CommandFailure(.unavailable, FleetText.unknown(id, connection.model))
        }
        let reported = board.report?.settings() ?? BoardReport.Settings()
        guard !arguments.has("json") else {
            let settings = reported.values.map { JSONValue.Member($0.key, $0.value) }
            let sources = reported.origins.sorted { $0.key < $1.key }
                .map { JSONValue.Member($0.key, .string($0.value)) }
            let refused = board.report?.refusedValues().map(FleetJSON.refusal) ?? []
            Output.json(
                JSONValue.object(
                    FleetJSON.board(board, in: model) + [
                        .init("documents", .array(documents(of: board, model))), .init("settings", .object(settings)),
                        .init("origins", .object(sources)), .init("refused", .array(refused)),
                        .init("health", .array((board.health.map(WatchText.health) ?? []).map { .string($0) })),
                    ]
                ).compactText)
            return
        }
        Output.text(TextTable(facts(of: board, model)).description)
        showLayers(of: board, model)
        let shown = reported.values.filter { arguments.has("defaults") || reported.origins[$0.key] != nil }
        if !shown.isEmpty {
            Output.line()
            Output.line(arguments.has("defaults") ? "Settings in force:" : "Settings that are not defaults:")
            Output.text(
                TextTable(shown.map { [$0.key, $0.value.compactText, reported.origins[$0.key] ?? "default"] })
                    .description)
        }
        let refused = board.report?.refusedValues() ?? []
        if !refused.isEmpty {
            Output.line()
            Output.line("Refused values of the home:")
            for refusal in refused { Output.line("  \(refusal.text)") }
        }
    }

    private static func documents(of board: FleetBoard, _ model: FleetModel) -> [JSONValue] {
        model.documents(of: board.id).compactMap { id in
            model.documents[id].map { .object(FleetJSON.document(id, $0)) }
        }
    }

    private static func facts(of board: FleetBoard, _ model: FleetModel) -> [[String]] {
        var rows = [
            ["device", board.id], ["availability", FleetText.availability(board.isOnline)],
            ["groups", model.groups(of: board.id).joined(separator: ", ").ifEmpty("-")],
            ["version", board.health?.version ?? "-"],
        ]
        switch model.state(of: board) {
        case .applied: rows.append(["state", "current"])
        case .offline: rows.append(["state", "offline; it takes over its configuration when it returns"])
        case .waiting(let reason): rows.append(["state", "waiting: \(reason)"])
        case .refused(let lines): rows.append(["state", "refused: \(lines.joined(separator: "; "))"])
        }
        if let health = board.health { rows.append(["health", WatchText.health(health).joined(separator: ", ")]) }
        if let state = board.state { rows.append(["board", WatchText.state(state)]) }
        if !board.problems.isEmpty { rows.append(["problems", board.problems.joined(separator: ", ")]) }
        return rows
    }

    private static func showLayers(of board: FleetBoard, _ model: FleetModel) {
        let reported = board.statuses
        var documents = model.documents(of: board.id)
        for entry in reported where !documents.contains(entry.document) { documents.append(entry.document) }
        var rows: [[String]] = []
        var notes: [String] = []
        for document in documents {
            let layer = reported.first { $0.document == document }?.layer
            let stored = model.documents[document]
            guard stored != nil || layer != nil && layer?.status != LayerStatus.none else { continue }
            var held = "-"
            if let envelope = stored?.envelope {
                held = "\(envelope.revision.number), \(FleetText.origin(envelope))"
            } else if stored != nil {
                held = "unreadable"
            }
            let name = FleetText.name(document)
            rows.append([name, layer.map { FleetText.status(document, $0) } ?? "not reported", held])
            for error in layer?.errors ?? [] { notes.append("\(name): \(error.text)") }
            for error in layer?.candidateErrors ?? [] { notes.append("\(name): candidate: \(error.text)") }
            if let reason = layer?.reason { notes.append("\(name): \(reason)") }
            if let keys = layer?.unknownKeys, !keys.isEmpty {
                notes.append("\(name): left out, because the device does not know it: \(keys.joined(separator: ", "))")
            }
        }
        guard !rows.isEmpty else { return }
        Output.line()
        Output.text(TextTable([["layer", "reported", "on the broker"]] + rows).description)
        for note in notes { Output.line("  \(note)") }
    }
}
