internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator

/// `jostle fleet command`: sends a command to many devices and collects the answers.
extension FleetCommand {
    static let commandUsage = CommandUsage(
        name: "fleet command", summary: "send a command to many devices and collect their answers",
        details: """
            Devices that are not online are not asked. Exit status 0 if every device that was asked carried the command
            out, 75 if one did not answer, 69 if one refused it.
            """,
        operands: [
            CommandUsage.Operand(
                name: "NAME", help: "the command: ping, identify, get-state, …",
                suggestions: .words(JostleSettings.Command.allCases.map(\.rawValue))),
            CommandUsage.Operand(name: "JSON", help: "its arguments, for example {\"seconds\":20}", isRequired: false),
        ],
        options: FleetOptions.selection + [
            CommandUsage.Option(name: "timeout", value: "SECONDS", help: "wait so long for answers; 10 by default"),
            FleetOptions.json,
        ] + FleetConnection.options)

    static func command(_ arguments: Arguments) throws(CommandFailure) {
        let name = arguments.operand(0) ?? ""
        guard !name.isEmpty, name.utf8.allSatisfy({ (0x61...0x7A).contains($0) || $0 == 0x2D }) else {
            throw CommandFailure(.usage, "\"\(name)\" is not a command: small letters and -")
        }
        let json = arguments.operand(1) ?? "{}"
        do throws(ConfigurationProblem) {
            let node = try JSONReader.read(Array(json.utf8), source: .argument("JSON"))
            guard case .mapping = node.value else { throw ConfigurationProblem(at: node.position, "is not an object") }
        } catch {
            throw CommandFailure(.usage, "the arguments must be a JSON object: \(error.reason)")
        }
        let selection = try FleetOptions.selection(arguments)
        let seconds = try arguments.seconds("timeout") ?? 10
        let connection = try FleetConnection.open(arguments)
        let boards = Dictionary(
            connection.model.allBoards.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let selected = selection.ids(in: connection.model)
        let asked = selected.filter { boards[$0]?.isOnline == true }
        let absent = selected.filter { boards[$0]?.isOnline != true }
        let isJSON = arguments.has("json")
        let hasProgress = !isJSON && TerminalScreen.isAvailable
        let answers: CommandAnswers
        do throws(FleetSessionError) {
            answers = try connection.session.command(name, Array(json.utf8), to: asked, within: seconds) { count in
                guard hasProgress else { return }
                Output.live("\(count) of \(FleetText.count(asked.count, "device")) answered")
                Output.flush()
            }
        } catch {
            throw CommandFailure(error)
        }
        if hasProgress { Output.live("") }
        if isJSON {
            for id in selected { Output.json(result(id, isAsked: asked.contains(id), answers)) }
        } else if selected.isEmpty {
            Output.line("No device is selected.")
        } else {
            Output.text(TextTable(selected.map { row($0, isAsked: asked.contains($0), answers) }).description)
        }
        try check(asked, absent, selection, answers)
    }

    private static func row(_ id: String, isAsked: Bool, _ answers: CommandAnswers) -> [String] {
        guard isAsked else { return [id, "not online", ""] }
        switch answers.answers[id] {
        case nil: return [id, "no answer", ""]
        case .malformed(let reason): return [id, "unreadable answer", reason]
        case .answered(let answer, let json):
            guard answer.isAccepted else { return [id, "refused", answer.message ?? answer.error ?? ""] }
            return [id, "done", String(json.prefix(200))]
        }
    }

    private static func result(_ id: String, isAsked: Bool, _ answers: CommandAnswers) -> String {
        var members: [JSONValue.Member] = [.init("id", .string(id)), .init("asked", .bool(isAsked))]
        switch answers.answers[id] {
        case nil: members.append(.init("answer", .null))
        case .malformed(let reason): members.append(.init("unreadable", .string(reason)))
        case .answered(_, let json):
            // It was parsed before, so it is valid JSON.
            let head = JSONValue.object(members).compactText.dropLast()
            return "\(head), \"answer\": \(json)}"
        }
        return JSONValue.object(members).compactText
    }

    private static func check(
        _ asked: [String], _ absent: [String], _ selection: FleetSelection, _ answers: CommandAnswers
    ) throws(CommandFailure) {
        let silent = asked.filter { answers.answers[$0] == nil }
        if !silent.isEmpty { throw CommandFailure(.temporary, "no answer from \(FleetText.names(silent))") }
        let refused = asked.filter { id in
            if case .answered(let answer, _)? = answers.answers[id] { !answer.isAccepted } else { true }
        }
        if !refused.isEmpty { throw CommandFailure(.unavailable, "refused by \(FleetText.names(refused))") }
        if case .devices = selection, !absent.isEmpty {
            throw CommandFailure(.unavailable, "not online: \(FleetText.names(absent))")
        }
    }
}
