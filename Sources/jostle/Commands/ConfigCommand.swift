internal import JostleAgent
internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem
internal import StateStorage

/// `jostle config`: the configuration that is in force on this board.
enum ConfigCommand {
    static var command: Command {
        Command(
            usage: CommandUsage(name: "config", summary: "show the configuration that is in force on this board"),
            commands: [Command(usage: showUsage, run: show)])
    }

    static let showUsage = CommandUsage(
        name: "config show",
        summary: "print the values in force: the file, what was set at home, and the fleet's layers",
        details: """
            Reads what the agent has stored in its state directory, so the agent need not run. The directory of the
            service is /var/lib/jostle.
            """,
        options: [
            CommandUsage.Option(name: "origin", help: "say where each value comes from"),
            CommandUsage.Option(name: "json", help: "print {\"settings\":…,\"origins\":…}, as in config/reported"),
            CommandUsage.Option(
                name: "state", value: "DIR", help: "read this state directory instead of $STATE_DIRECTORY"),
        ] + CommandUsage.configurationOptions)

    static func show(_ arguments: Arguments) throws(CommandFailure) {
        let loaded = try Configuration.load(arguments)
        let directory = arguments.value("state") ?? Configuration.stateDirectory
        // Without the option there may be no agent yet, and the file alone is in force.
        if arguments.value("state") != nil, !DirectoryContents.exists(directory) {
            throw CommandFailure(.noInput, "\(directory): no such directory")
        }
        let stack = StoredSettings.stack(upon: loaded, in: directory)
        if arguments.has("json") {
            let report: JSONValue = ["settings": stack.values, "origins": stack.origins]
            Output.json(report.compactText)
        } else {
            let resolution = stack.resolution
            Output.text(
                ConfigurationSchema.describe(
                    resolution.settings, resolution.provenance, withOrigins: arguments.has("origin")))
        }
        for problem in stack.resolution.refused { Output.errors("jostle: not in force: \(problem)") }
        for outcome in stack.resolution.outcomes where outcome.chosen == nil {
            for problem in outcome.problems.last ?? [] { Output.errors("jostle: not in force: \(problem)") }
        }
    }
}

/// What the agent of this board has stored above its configuration file.
enum StoredSettings {
    /// The configuration with everything above it.
    static func stack(upon loaded: LoadedConfiguration, in directory: String) -> ConfigurationStack {
        let id = loaded.settings.device.id ?? DeviceName.ofThisMachine()
        let stored = StoredConfiguration.read(loaded, id: id, in: StateDirectory(path: directory))
        for problem in stored.problems { Output.errors("jostle: \(problem)") }
        return stored.stack
    }

    /// What sets a key above the file, for a sentence; `nil` if nothing does.
    static func override(of key: String, in stack: ConfigurationStack) -> String? {
        if let layer = stack.layer(governing: key) { return "the fleet's layer \(layer) sets \(key)" }
        return stack.layers.contains { $0[key] != nil } ? "\(key) was set over MQTT" : nil
    }
}
