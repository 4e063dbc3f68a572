internal import Documents
internal import JostleCommandLine
internal import JostleConfiguration
internal import LinuxSystem

/// `jostle config`: the configuration that is in force on this board.
enum ConfigCommand {
    static var command: Command {
        Command(
            usage: CommandUsage(
                name: "config", summary: "show the configuration that is in force on this board, and clear values"),
            commands: [Command(usage: showUsage, run: show), Command(usage: clearUsage, run: clear)])
    }

    static let showUsage = CommandUsage(
        name: "config show",
        summary: "print the values in force: the file, what was set at home, and the fleet's layers",
        details: """
            Reads what the agent has stored in its state directory, so the agent need not run. With the configuration in
            /etc/jostle, that is the directory of the service, /var/lib/jostle, which root may read.
            """,
        options: [
            Option("origin", help: "say where each value comes from"),
            Option("json", help: "print {\"settings\":…,\"origins\":…}, as in config/reported"),
            Option("state", value: "DIR", help: "read this state directory instead of $STATE_DIRECTORY"),
        ] + CommandUsage.configurationOptions)

    static func show(_ arguments: Arguments) throws {
        let loaded = try Configuration.load(arguments)
        // Without the option there may be no agent yet, and the file alone is in force.
        if let directory = arguments.value("state"), !DirectoryContents.exists(directory) {
            throw Failure(.noInput, "\(directory): no such directory")
        }
        let file = Configuration.file(arguments)
        let layers = LayersInForce(upon: loaded, file: file, directory: arguments.value("state"))
        let stack = layers.stack
        if arguments.has("json") {
            let report: JSONValue = ["settings": stack.values, "origins": stack.origins]
            Output.json(report.compactText)
        } else {
            let resolution = stack.resolution
            Output.text(
                ConfigurationSchema.describe(
                    resolution.settings, resolution.provenance, withOrigins: arguments.has("origin")))
        }
        Output.flush()
        for override in layers.overrides where override.layer == nil {
            Output.warn("\(override.text); \(override.advice)")
        }
        for problem in stack.resolution.refused { Output.warn("not in force: \(problem)") }
        for outcome in stack.resolution.outcomes where outcome.chosen == nil {
            for problem in outcome.problems.last ?? [] { Output.warn("not in force: \(problem)") }
        }
    }
}

/// `jostle config clear`: removes values that were set over MQTT.
extension ConfigCommand {
    static let clearUsage = CommandUsage(
        name: "config clear", summary: "remove values that were set over MQTT, so that the file applies again",
        details: """
            A value that was set over MQTT takes precedence over the configuration file. The running agent removes it at
            once, without a restart. If the agent does not run, its state directory is changed.
            """,
        operands: [
            Operand(
                "KEY", help: "the key, for example gestures.shake.sensitivity", isRequired: false, isRepeatable: true)
        ],
        options: [
            Option("all", help: "all values that were set over MQTT"),
            Option("state", value: "DIR", help: "change this state directory, without asking for a running agent"),
        ] + CommandUsage.configurationOptions)

    static func clear(_ arguments: Arguments) throws {
        let signals = SignalWaiter()
        let loaded = try Configuration.load(arguments)
        let file = Configuration.file(arguments)
        if let directory = arguments.value("state"), !DirectoryContents.exists(directory) {
            throw Failure(.noInput, "\(directory): no such directory")
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
    private static func keys(_ arguments: Arguments, _ layers: LayersInForce) throws -> [String] {
        let keys = arguments.operands(from: 0)
        if arguments.has("all") {
            guard keys.isEmpty else { throw Failure(.usage, "--all and KEY exclude each other") }
            return layers.localKeys
        }
        guard !keys.isEmpty else { throw Failure(.usage, "KEY is missing; --all clears every value") }
        let known = layers.stack.keys
        for key in keys where !known.contains(key) && !layers.localKeys.contains(key) {
            throw Failure(.usage, "\(key): unknown key\(EditDistance.suggestion(for: key, among: known))")
        }
        return keys
    }
}
