internal import Documents
internal import JostleCommandLine
internal import JostleMessages
internal import JostleOperator
internal import LinuxSystem

/// The commands that only read, and `command`.
extension FleetCommand {
    // MARK: wait

    static func wait(_ arguments: Arguments) throws {
        let selection = try FleetOptions.optionalSelection(arguments) ?? .all
        let seconds = try arguments.seconds("wait") ?? 60
        let operation = try FleetOperation(arguments, of: selection.layers.compactMap(\.device))
        let model = operation.model
        if case .devices(let named) = selection {
            let known = Set(model.allBoards.map(\.id))
            if let unknown = named.first(where: { !known.contains($0) }) {
                throw Failure(.unavailable, FleetText.unknown(unknown, model))
            }
        }
        let condition = WaitCondition(everythingIn: model, ids: Set(selection.ids(in: model)))
        guard !condition.boards(in: model).isEmpty else {
            throw Failure(.temporary, "no device of these has reported its configuration")
        }
        try operation.wait(for: condition, seconds)
        if case .devices = selection { return }
        try operation.requireEverything()
    }

    // MARK: list

    static func list(_ arguments: Arguments) throws {
        let filter = try filter(arguments)
        let listening = try arguments.seconds("listen")
        let events = listening == nil ? [] : FleetSession.events
        let operation = try FleetOperation(arguments, reading: FleetSession.health + events)
        if let listening { try operation.session.listen(for: listening) }
        let model = operation.model
        let boards = model.allBoards.filter { filter.admits($0, in: model) }
        guard !operation.isJSON else {
            for board in boards { Output.json(FleetJSON.board(board, in: model)) }
            return try operation.requireEverything()
        }
        guard !boards.isEmpty else {
            Output.line(model.allBoards.isEmpty ? "The broker knows no device." : "No device matches.")
            return try operation.requireEverything()
        }
        var header = ["device", "", "version", "groups", "layers", "state", "problems"]
        if listening != nil { header.insert("last event", at: 6) }
        let rows = boards.map { board in
            var row = [
                board.id, WatchText.availability(board.isOnline), board.health?.version ?? "-",
                list(model.groups(of: board.id)), FleetText.layers(board).ifEmpty("-"), model.state(of: board).word,
                list(board.problems),
            ]
            if listening != nil { row.insert(board.events.first.map(WatchText.event) ?? "-", at: 6) }
            return row
        }
        Output.text(TextTable([header] + rows).description)
        try operation.requireEverything()
    }

    private static func list(_ names: [String]) -> String { names.joined(separator: ", ").ifEmpty("-") }

    private static func filter(_ arguments: Arguments) throws -> FleetFilter {
        var filter = FleetFilter()
        filter.group = arguments.value("group")
        if let name = filter.group { try FleetOptions.check(group: name) }
        filter.version = arguments.value("version")
        filter.chip = arguments.value("chip")
        filter.status = arguments.value("status")
        if let status = filter.status, !FleetFilter.statuses.contains(status) {
            let words = FleetFilter.statuses.joined(separator: ", ")
            throw Failure(.usage, "--status is \"\(status)\"; the statuses are \(words)")
        }
        filter.hasProblem = arguments.has("problem")
        try arguments.exclude("online", "offline")
        if arguments.has("online") { filter.isOnline = true }
        if arguments.has("offline") { filter.isOnline = false }
        return filter
    }

    // MARK: show

    static func show(_ arguments: Arguments) throws {
        let id = arguments.operand(0) ?? ""
        try DeviceIDArgument.check(operand: id)
        let operation = try FleetOperation(arguments, of: [id], reading: FleetSession.health)
        let model = operation.model
        guard let board = model.allBoards.first(where: { $0.id == id }) else {
            throw Failure(.unavailable, FleetText.unknown(id, model))
        }
        let reported = board.report?.settings() ?? BoardReport.Settings()
        let refused = board.report?.refusedValues() ?? []
        guard !operation.isJSON else {
            let documents = model.documents(of: board.id).compactMap { id in
                model.documents[id].map { FleetJSON.document(id, $0) }
            }
            let settings = reported.values.map { JSONValue.Member($0.key, $0.value) }
            let sources = reported.origins.sorted { $0.key < $1.key }
                .map { JSONValue.Member($0.key, .string($0.value)) }
            Output.json(
                FleetJSON.board(board, in: model).adding([
                    "documents": .array(documents), "settings": .object(settings), "origins": .object(sources),
                    "refused": .array(refused.map(FleetJSON.refusal)),
                    "health": .strings(board.health.map(WatchText.health) ?? []),
                ]))
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
        if !refused.isEmpty {
            Output.line()
            Output.line("Refused values of the home:")
            for refusal in refused { Output.line("  \(refusal.text)") }
        }
    }

    private static func facts(of board: FleetBoard, _ model: FleetModel) -> [[String]] {
        var rows = [
            ["device", board.id], ["availability", WatchText.availability(board.isOnline)],
            ["groups", list(model.groups(of: board.id))],
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

    // MARK: get

    static func get(_ arguments: Arguments) throws {
        let selection = try FleetOptions.selection(arguments)
        let keys = arguments.operands(from: 0)
        let operation = try FleetOperation(arguments, documents: selection.layers)
        for id in selection.layers {
            try FleetEdit.requireUsable(id, in: operation.model)
            let stored = operation.model.documents[id]
            let document = stored?.layer
            let values = document.map { leaves(of: $0.config, path: "") } ?? []
            let shown = values.filter { value in
                keys.isEmpty || keys.contains { value.key == $0 || value.key.hasPrefix("\($0).") }
            }
            guard !operation.isJSON else {
                let config = JSONValue.object(shown.map { .init($0.key, $0.value) })
                let head = stored.map { FleetJSON.document(id, $0) } ?? ["document": .string(id.text)]
                Output.json(head.adding(["config": config]))
                continue
            }
            if let envelope = document?.envelope {
                Output.line("# \(id.text), revision \(envelope.revision.number), \(FleetText.origin(envelope))")
            } else {
                Output.line("# \(id.text): none on the broker")
            }
            for value in shown { Output.line("\(value.key)=\(FleetText.value(value.value))") }
            if let candidate = document?.candidate {
                Output.line("# and a candidate for \(decimal(candidate.percent, 1)) % of the devices")
            }
        }
    }

    /// The values of a layer with their paths.
    static func leaves(of config: JSONValue, path: String) -> [(key: String, value: JSONValue)] {
        guard let members = config.members, path.isEmpty || !members.isEmpty else { return [(path, config)] }
        return members.flatMap { leaves(of: $0.value, path: path.isEmpty ? $0.name : "\(path).\($0.name)") }
    }

    // MARK: log

    static func log(_ arguments: Arguments) throws {
        let name = arguments.value("document")
        let id = name.flatMap { FleetDocumentID($0) }
        if let name, id == nil {
            throw Failure(.usage, "--document is \"\(name)\", not all, group:GROUP, device:ID or registry:ID")
        }
        let operation = try FleetOperation(arguments)
        let model = operation.model
        var documents: [(id: FleetDocumentID, stored: StoredDocument)]
        if let id {
            documents = operation.revisions(of: id).map { (id, $0) }
        } else {
            documents = model.documents.map { ($0.key, $0.value) }
            documents.sort { one, other in
                let (a, b) = (one.stored.envelope?.at ?? 0, other.stored.envelope?.at ?? 0)
                return a == b ? one.id < other.id : a > b
            }
        }
        guard !operation.isJSON else {
            for (id, stored) in documents {
                let (applied, all) = counts(id, stored, model)
                Output.json(
                    FleetJSON.document(id, stored).adding(["applied": .number(applied), "devices": .number(all)]))
            }
            return try operation.requireEverything()
        }
        guard !documents.isEmpty else {
            let none = id.map { "This machine has seen no revision of \($0.text)." }
            Output.line(none ?? "The broker holds no document.")
            return
        }
        let rows = documents.map { id, stored in
            guard let envelope = stored.envelope else {
                return ["-", id.text, "-", "-", "-", "-", "unreadable: \(stored.problem.map { "\($0)" } ?? "")"]
            }
            let (applied, all) = counts(id, stored, model)
            return [
                FleetText.time(envelope.at), id.text, "\(envelope.revision.number)", envelope.revision.shortHash,
                "\(applied) of \(all)", envelope.by ?? "-", envelope.note ?? "",
            ]
        }
        Output.text(TextTable([["time", "document", "revision", "hash", "applied", "by", "note"]] + rows).description)
        try operation.requireEverything()
    }

    private static func counts(
        _ id: FleetDocumentID, _ stored: StoredDocument, _ model: FleetModel
    ) -> (applied: Int, all: Int) {
        guard let revision = stored.revision else { return (0, 0) }
        let readers = model.readers(of: id)
        let applied = readers.filter {
            guard let layer = $0.status(of: id) else { return false }
            return layer.status == .applied && layer.revision == revision.number
                && layer.hash ?? revision.shortHash == revision.shortHash
        }
        return (applied.count, readers.count)
    }

    // MARK: diff

    static func diff(_ arguments: Arguments) throws {
        let changes: [FleetChange]
        let operation: FleetOperation
        let selection = try FleetOptions.optionalSelection(arguments)
        if let selection {
            let edit = try FleetEdit.edit(setting: arguments.operands(from: 0), unsetting: [], arguments)
            operation = try FleetOperation(arguments, documents: selection.layers)
            changes = try FleetEdit.apply(edit, to: selection.layers, operation.model).changes
        } else {
            guard arguments.operand(1) == nil, let path = arguments.operand(0), !path.contains("=") else {
                throw Failure(.usage, "name a directory, or the devices: --all, --group GROUP or --device ID")
            }
            let ignores = try FleetFiles.ignoresUnknownKeys(arguments)
            let directory = try FleetFiles.read(path, ignoresUnknownKeys: ignores ?? false)
            operation = try FleetOperation(arguments, documents: directory.documents)
            changes =
                ApplyPlan(directory, operation.model, prunes: arguments.has("prune"), ignoresUnknownKeys: ignores).items
        }
        let preview = FleetPreview(FleetPreview.Proposal(changes), operation.model)
        if operation.isJSON {
            for board in preview.boards { Output.json(json(board)) }
        } else {
            show(preview)
        }
        if case .devices? = selection { return }
        try operation.requireEverything()
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
        let changes = board.changes.map { change -> JSONValue in
            [
                "key": .string(change.key), "old": .optional(change.old), "new": .optional(change.new),
                "layer": .optional(change.layer),
            ]
        }
        return [
            "id": .string(board.id), "online": .optional(board.isOnline), "changes": .array(changes),
            "refused_keys": .strings(board.refusedKeys),
        ]
    }

    // MARK: command

    static func command(_ arguments: Arguments) throws {
        let name = arguments.operand(0) ?? ""
        guard !name.isEmpty, name.utf8.allSatisfy({ (0x61...0x7A).contains($0) || $0 == 0x2D }) else {
            throw Failure(.usage, "\"\(name)\" is not a command: small letters and -")
        }
        let json = arguments.operand(1) ?? "{}"
        do {
            guard try JSONReader.read(Array(json.utf8), source: .argument("JSON")).members != nil else {
                throw Failure(.usage, "the arguments must be a JSON object: is not an object")
            }
        } catch let problem as DocumentProblem {
            throw Failure(.usage, "the arguments must be a JSON object: \(problem.reason)")
        }
        let selection = try FleetOptions.selection(arguments)
        let seconds = try arguments.seconds("timeout") ?? 10
        let operation = try FleetOperation(arguments, of: selection.layers.compactMap(\.device))
        let model = operation.model
        let online = Set(model.allBoards.filter { $0.isOnline == true }.map(\.id))
        let selected = selection.ids(in: model)
        let asked = selected.filter(online.contains)
        let answers = try operation.session.command(name, Array(json.utf8), to: asked, within: seconds) { count in
            guard !operation.isJSON else { return }
            TerminalScreen.progress("\(count) of \(FleetText.count(asked.count, "device")) answered")
        }
        if operation.isJSON {
            for id in selected { Output.json(result(id, isAsked: asked.contains(id), answers)) }
        } else if selected.isEmpty {
            Output.line("No device is selected.")
        } else {
            Output.text(TextTable(selected.map { row($0, isAsked: asked.contains($0), answers) }).description)
        }
        try check(asked, selected.filter { !online.contains($0) }, selection, answers, operation)
    }

    private static func row(_ id: String, isAsked: Bool, _ answers: CommandAnswers) -> [String] {
        guard isAsked else { return [id, "not online", ""] }
        switch answers.answers[id] {
        case nil: return [id, "no answer", ""]
        case .failure(let error): return [id, "unreadable answer", ForeignText.excerpt("\(error)", limit: 200)]
        case .success(let answer):
            guard answer.isAccepted else { return [id, "refused", answer.message ?? answer.error ?? ""] }
            return [id, "done", String(String(decoding: answer.payload, as: UTF8.self).prefix(200))]
        }
    }

    private static func result(_ id: String, isAsked: Bool, _ answers: CommandAnswers) -> String {
        let head: JSONValue = ["id": .string(id), "asked": .bool(isAsked)]
        switch answers.answers[id] {
        case nil: return head.adding(["answer": .null]).compactText
        case .failure(let error):
            return head.adding(["unreadable": .string(ForeignText.excerpt("\(error)", limit: 200))]).compactText
        case .success(let answer):
            // It was parsed before, so it is valid JSON.
            return "\(head.compactText.dropLast()), \"answer\": \(String(decoding: answer.payload, as: UTF8.self))}"
        }
    }

    private static func check(
        _ asked: [String], _ absent: [String], _ selection: FleetSelection, _ answers: CommandAnswers,
        _ operation: FleetOperation
    ) throws {
        let silent = asked.filter { answers.answers[$0] == nil }
        if !silent.isEmpty { throw Failure(.temporary, "no answer from \(FleetText.names(silent))") }
        let refused = asked.filter { id in
            if case .success(let answer)? = answers.answers[id] { !answer.isAccepted } else { true }
        }
        if !refused.isEmpty { throw Failure(.unavailable, "refused by \(FleetText.names(refused))") }
        guard case .devices = selection else { return try operation.requireEverything() }
        if !absent.isEmpty { throw Failure(.unavailable, "not online: \(FleetText.names(absent))") }
    }
}
