internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem
internal import StateStorage

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
            CommandUsage.Option(name: "origin", help: "say where each value comes from"),
            CommandUsage.Option(name: "json", help: "print {\"settings\":…,\"origins\":…}, as in config/reported"),
            CommandUsage.Option(
                name: "state", value: "DIR", help: "read this state directory instead of $STATE_DIRECTORY"),
        ] + CommandUsage.configurationOptions)

    static func show(_ arguments: Arguments) throws(CommandFailure) {
        let loaded = try Configuration.load(arguments)
        // Without the option there may be no agent yet, and the file alone is in force.
        if let directory = arguments.value("state"), !DirectoryContents.exists(directory) {
            throw CommandFailure(.noInput, "\(directory): no such directory")
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
            Output.errors("jostle: \(override.text); \(override.advice)")
        }
        for problem in stack.resolution.refused { Output.errors("jostle: not in force: \(problem)") }
        for outcome in stack.resolution.outcomes where outcome.chosen == nil {
            for problem in outcome.problems.last ?? [] { Output.errors("jostle: not in force: \(problem)") }
        }
    }
}
