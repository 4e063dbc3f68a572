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
            CommandUsage.Option(name: "show", help: "print the values in force, and where each comes from"),
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
        if arguments.has("show") {
            Output.text(ConfigurationSchema.describe(loaded.settings, loaded.provenance))
        } else {
            let names = loaded.files.isEmpty ? "the built-in defaults" : loaded.files.joined(separator: ", ")
            Output.line("\(names): valid\(directory == nil ? "" : ", alone")")
            let access = loaded.settings.unsignedAccess.map { [$0] } ?? []
            for note in notes + access + ignored(beside: file) + overrides(of: loaded) { Output.line("note: \(note)") }
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

    /// The values of the file and of the arguments that are not in force on this board, because others are above them.
    private static func overrides(of loaded: LoadedConfiguration) -> [String] {
        let stack = StoredSettings.stack(upon: loaded, in: Configuration.stateDirectory)
        return ConfigurationSchema.keys.compactMap { key in
            guard loaded.provenance[key.path] != nil else { return nil }
            return StoredSettings.override(of: key.path, in: stack).map { "\($0); see jostle config show --origin" }
        }
    }
}
