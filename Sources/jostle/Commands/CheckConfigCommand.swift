internal import JostleAgent
internal import JostleConfiguration
internal import LinuxSystem
internal import MotionKit

/// `jostle check-config`: validates a configuration and shows the values in force.
enum CheckConfigCommand {
    static let usage = CommandUsage(
        name: "check-config", summary: "check a configuration and report every problem with file, line and column",
        details: """
            Without FILE, it checks what `jostle run` would read: jostle.yaml and the files of conf.d beside it. FILE may be
            a configuration, or one file of conf.d, which is then checked alone.
            """,
        operands: [CommandUsage.Operand(name: "FILE", help: "the configuration; as --config", isRequired: false)],
        options: CommandUsage.configurationOptions + [
            CommandUsage.Option(
                name: "show", help: "print the values of the file, where each comes from, and what is above it"),
            CommandUsage.Option(name: "schema", help: "print the JSON schema of configuration files"),
        ])

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        if arguments.has("schema") {
            Output.text(ConfigurationSchema.jsonSchema)
            return
        }
        let file = arguments.operand(0) ?? arguments.value("config") ?? ConfigurationFile.standard()
        let directory = file.flatMap { DropInDirectory(containing: $0) }
        let loaded: LoadedConfiguration
        if let file, let directory {
            loaded = try Configuration.load(arguments, alone: file, of: directory)
        } else {
            loaded = try Configuration.load(arguments, file: file)
        }
        let notes: [String]
        do throws(SensorError) {
            notes = try loaded.settings.sensorSelection.check(loaded.settings.imu)
        } catch {
            throw CommandFailure(error)
        }
        let layers = LayersInForce(upon: loaded, file: file)
        if arguments.has("show") { show(loaded, layers) }
        if !arguments.has("show") {
            let names = loaded.files.isEmpty ? "the built-in defaults" : loaded.files.joined(separator: ", ")
            Output.line("\(names): valid\(directory == nil ? "" : ", alone")")
            let access = loaded.settings.unsignedAccess.map { [$0] } ?? []
            let all = notes + access + ignored(beside: file) + overrides(of: loaded, layers)
            for note in all { Output.line("note: \(note)") }
        }
    }

    /// The files of the drop-in directory that nobody reads because of their names.
    private static func ignored(beside file: String?) -> [String] {
        guard let file, let directory = DropInDirectory(of: file) else { return [] }
        do throws(SystemFailure) {
            return try directory.ignoredFiles().map { "\($0) is not read: its name does not end in .yaml" }
        } catch {
            return ["\(directory.path): \(error)"]
        }
    }

    /// Prints the values of the file and of the arguments. A value that is not in force says so.
    private static func show(_ loaded: LoadedConfiguration, _ layers: LayersInForce) {
        let overrides = layers.overrides
        let notes = Dictionary(
            overrides.map { ($0.key, "not in force: \($0.text)") }, uniquingKeysWith: { first, _ in first })
        Output.text(ConfigurationSchema.describe(loaded.settings, loaded.provenance, notes: notes))
        Output.flush()
        for override in overrides { Output.errors("jostle: \(override.text); \(override.advice)") }
    }

    /// The values of the file and of the arguments that are not in force on this board, because others are above them.
    private static func overrides(of loaded: LoadedConfiguration, _ layers: LayersInForce) -> [String] {
        layers.overrides.filter { loaded.provenance[$0.key] != nil }.map {
            "\($0.text), which takes precedence over the file; \($0.advice)"
        }
    }
}
