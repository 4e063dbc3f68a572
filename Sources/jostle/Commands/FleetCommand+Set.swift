internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator

/// `jostle fleet set`, `unset` and `get`: the keys of a layer.
extension FleetCommand {
    static let setUsage = CommandUsage(
        name: "fleet set", summary: "set keys for all devices, for groups or for single devices",
        details: """
            The values are merged into the layer that the broker holds, and published as its next revision. A value is
            written as with --set; null takes away the value of lower layers. The command waits until the devices that
            are online have taken the layer over, and names those that have not (exit status 75).

            \(RolloutOptions.details)
            """,
        operands: [
            CommandUsage.Operand(
                name: "KEY=VALUE", help: "for example gestures.shake.sensitivity=7", isRepeatable: true)
        ],
        options: FleetOptions.selection + FleetOptions.publishing + RolloutOptions.options
            + [FleetEdit.unknownOption, FleetOptions.json] + FleetConnection.options)

    static let unsetUsage = CommandUsage(
        name: "fleet unset", summary: "remove keys from a layer, so that the layers below decide again",
        operands: [
            CommandUsage.Operand(
                name: "KEY", help: "a key or a section, for example gestures.shake", isRepeatable: true)
        ],
        options: FleetOptions.selection + FleetOptions.publishing + RolloutOptions.options + [FleetOptions.json]
            + FleetConnection.options)

    static let getUsage = CommandUsage(
        name: "fleet get", summary: "print the keys of a layer as the broker holds it",
        operands: [
            CommandUsage.Operand(
                name: "KEY", help: "only this key or section", isRequired: false, isRepeatable: true)
        ],
        options: FleetOptions.selection + [FleetOptions.json] + FleetConnection.options)

    static func set(_ arguments: Arguments) throws(CommandFailure) {
        let edit = try FleetEdit.edit(setting: arguments.operands(from: 0), unsetting: [], arguments)
        try publish(edit, arguments)
    }

    static func unset(_ arguments: Arguments) throws(CommandFailure) {
        let edit = try FleetEdit.edit(setting: [], unsetting: arguments.operands(from: 0), arguments)
        try publish(edit, arguments)
    }

    private static func publish(_ edit: LayerEdit, _ arguments: Arguments) throws(CommandFailure) {
        let selection = try FleetOptions.selection(arguments)
        let manner = try FleetRun.Manner(arguments)
        let note = try FleetOptions.note(arguments)
        let rollout = try RolloutOptions.areIn(arguments) ? RolloutOptions(arguments) : nil
        let connection = try FleetConnection.open(arguments, interests: rollout == nil ? [] : .health)
        try connection.complete(selection.layers)
        let result = try FleetEdit.apply(edit, to: selection.layers, connection.model, note: note)
        if !manner.isJSON {
            for id in result.unchanged {
                let number = connection.model.documents[id]?.number
                Output.line("\(id.text): nothing to change\(number.map { " in revision \($0)" } ?? "")")
            }
        }
        FleetEdit.warnOfRefusals(result, connection.model)
        warnOfUnknownDevices(selection, connection.model)
        if let rollout, !result.changes.isEmpty {
            return try rollOut(result.changes, connection, rollout, manner, note: note)
        }
        try FleetRun.publish(result.changes, unchanged: result.unchanged, connection, manner)
    }

    /// A layer for a device that does not exist yet is in order, but more often the id is mistyped.
    private static func warnOfUnknownDevices(_ selection: FleetSelection, _ model: FleetModel) {
        guard case .devices(let ids) = selection else { return }
        for id in ids where model.boards[id] == nil && model.documents[.registry(id)] == nil {
            let suggestion = EditDistance.suggestion(for: id, among: model.allBoards.map(\.id).filter { $0 != id })
            Output.errors("jostle: the broker knows no device \(id) yet; its layer waits for it\(suggestion)")
        }
    }

    static func get(_ arguments: Arguments) throws(CommandFailure) {
        let selection = try FleetOptions.selection(arguments)
        let keys = arguments.operands(from: 0)
        let connection = try FleetConnection.open(arguments)
        try connection.complete(selection.layers)
        for id in selection.layers {
            let stored = connection.model.documents[id]
            if let problem = stored?.problem {
                throw CommandFailure(
                    .badData, "\(id.text): the broker holds a document that cannot be used: \(problem)")
            }
            let document = stored?.layer
            let values = document.map { leaves(of: JSONValue($0.config), path: "") } ?? []
            let shown = values.filter { value in
                keys.isEmpty || keys.contains { value.key == $0 || value.key.hasPrefix("\($0).") }
            }
            guard !arguments.has("json") else {
                let members = stored.map { FleetJSON.document(id, $0) } ?? [.init("document", .string(id.text))]
                let config = JSONValue.object(shown.map { .init($0.key, $0.value) })
                Output.json(JSONValue.object(members + [.init("config", config)]).compactText)
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
        guard case .object(let members) = config, path.isEmpty || !members.isEmpty else { return [(path, config)] }
        return members.flatMap { leaves(of: $0.value, path: path.isEmpty ? $0.name : "\(path).\($0.name)") }
    }
}

extension FleetText {
    /// A value as `jostle fleet set` takes it.
    static func value(_ value: JSONValue) -> String {
        if case .string(let text) = value, let first = text.first, !"[{\"'".contains(first),
            JSONValue(yaml: ConfigurationNode(.scalar(text, .plain), at: ConfigurationPosition(.layer("")))) == value
        {
            return text
        }
        return value.compactText
    }
}
