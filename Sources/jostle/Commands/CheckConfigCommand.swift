internal import JostleAgent
internal import JostleConfiguration
internal import MotionKit

/// `jostle check-config`: validates a configuration and shows the values in force.
enum CheckConfigCommand {
    static let usage = CommandUsage(
        name: "check-config", summary: "check a configuration and report every problem with file, line and column",
        operands: [CommandUsage.Operand(name: "FILE", help: "the configuration; as --config", isRequired: false)],
        options: CommandUsage.configurationOptions + [
            CommandUsage.Option(name: "show", help: "print the values in force, and where each comes from"),
            CommandUsage.Option(name: "schema", help: "print the JSON schema of configuration files"),
        ])

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        if arguments.has("schema") {
            Output.text(ConfigurationSchema.jsonSchema)
            return
        }
        let file = arguments.operand(0) ?? arguments.value("config") ?? ConfigurationFile.standard()
        let loaded = try Configuration.load(arguments, file: file)
        let notes: [String]
        do throws(SensorError) {
            notes = try loaded.settings.sensorSelection.check(loaded.settings.imu)
        } catch {
            throw CommandFailure(error)
        }
        if arguments.has("show") {
            Output.text(ConfigurationSchema.describe(loaded.settings, loaded.provenance))
        } else {
            Output.line("\(file ?? "the built-in defaults"): valid")
            for note in notes { Output.line("note: \(note)") }
        }
    }
}
