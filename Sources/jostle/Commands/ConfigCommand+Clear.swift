internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem

/// `jostle config clear`: removes values that were set over MQTT.
extension ConfigCommand {
    static let clearUsage = CommandUsage(
        name: "config clear", summary: "remove values that were set over MQTT, so that the file applies again",
        details: """
            A value that was set over MQTT takes precedence over the configuration file. The running agent removes it at
            once, without a restart. If the agent does not run, its state directory is changed.
            """,
        operands: [
            CommandUsage.Operand(
                name: "KEY", help: "the key, for example gestures.shake.sensitivity", isRequired: false,
                isRepeatable: true)
        ],
        options: [
            CommandUsage.Option(name: "all", help: "all values that were set over MQTT"),
            CommandUsage.Option(
                name: "state", value: "DIR", help: "change this state directory, without asking for a running agent"),
        ] + CommandUsage.configurationOptions)

    static func clear(_ arguments: Arguments) throws(CommandFailure) {
        let signals = SignalWaiter()
        let loaded = try Configuration.load(arguments)
        let file = Configuration.file(arguments)
        if let directory = arguments.value("state"), !DirectoryContents.exists(directory) {
            throw CommandFailure(.noInput, "\(directory): no such directory")
        }
        let layers = LayersInForce(upon: loaded, file: file, directory: arguments.value("state"))
        let keys = try keys(arguments, layers)
        guard !keys.isEmpty else {
            Output.line("No value is set over MQTT.")
            return
        }
        let outcome: LocalValues.Outcome
        if let directory = arguments.value("state") {
            try LocalValues.clear(keys, in: directory)
            outcome = .inDirectory
        } else {
            outcome = try LocalValues.clear(keys, loaded, layers, signals: signals)
        }
        for key in keys { Output.line("\(key): cleared\(value(of: key, loaded, layers, outcome))") }
    }

    /// The value that a cleared key has now, as the end of a sentence.
    private static func value(
        of key: String, _ loaded: LoadedConfiguration, _ layers: LayersInForce, _ outcome: LocalValues.Outcome
    ) -> String {
        if let layer = layers.stack.layer(governing: key) { return "; the fleet's layer \(layer) sets it" }
        switch outcome {
        case .byAgent(let values):
            // A key of an older version has no value.
            return values[key].map { "; \(YAMLText.flow($0)), from the configuration, is in force now" } ?? ""
        case .inDirectory:
            let value = ConfigurationSchema.value(of: key, in: loaded.settings).map(YAMLText.flow)
            return value.map { "; \($0), from the configuration, applies from the next start of the agent" } ?? ""
        }
    }

    /// The keys to clear.
    private static func keys(_ arguments: Arguments, _ layers: LayersInForce) throws(CommandFailure) -> [String] {
        let keys = arguments.operands(from: 0)
        if arguments.has("all") {
            guard keys.isEmpty else { throw CommandFailure(.usage, "--all and KEY exclude each other") }
            return layers.localKeys
        }
        guard !keys.isEmpty else { throw CommandFailure(.usage, "KEY is missing; --all clears every value") }
        let known = layers.stack.keys
        for key in keys where !known.contains(key) && !layers.localKeys.contains(key) {
            throw CommandFailure(.usage, "\(key): unknown key\(EditDistance.suggestion(for: key, among: known))")
        }
        return keys
    }
}
