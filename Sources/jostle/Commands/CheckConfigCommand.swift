internal import JostleAgent
internal import JostleCommandLine
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

            Reports what the agent would refuse, with exit status 78: unknown keys and values, values that exclude each
            other, and files that the configuration names and that are missing or cannot be read. For a configuration in
            /etc/jostle, that is checked as the user jostle, as which the service runs.

            Values that are valid but have no effect are warnings, for example a rule for double taps while only single
            ones are recognised. The agent logs the same warnings when it starts.
            """,
        operands: [CommandUsage.Operand(name: "FILE", help: "the configuration; as --config", isRequired: false)],
        options: CommandUsage.configurationOptions + [
            CommandUsage.Option(
                name: "show", help: "print the values of the file, where each comes from, and what is above it"),
            CommandUsage.Option(name: "strict", help: "exit with status 78 also for warnings"),
            CommandUsage.Option(
                name: "no-files", help: "do not look at the files that it names: it is for another machine"),
            CommandUsage.Option(name: "schema", help: "print the JSON schema of configuration files"),
        ])

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        if arguments.has("schema") {
            Output.text(ConfigurationSchema.jsonSchema)
            return
        }
        let file = arguments.operand(0) ?? Configuration.file(arguments)
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
        var warnings = loaded.warnings
        if !arguments.has("no-files") {
            let files = FileCheck(loaded, isOfService: file?.hasPrefix("/etc/jostle/") == true)
            warnings += files.warnings
            guard files.errors.isEmpty else {
                throw CommandFailure(
                    .configuration, lines: files.errors.map(\.description) + warnings.map { "warning: \($0)" })
            }
        }
        if arguments.has("strict"), !warnings.isEmpty {
            throw CommandFailure(.configuration, lines: warnings.map { "warning: \($0)" })
        }
        if !arguments.has("show") {
            let names = loaded.files.isEmpty ? "the built-in defaults" : loaded.files.joined(separator: ", ")
            Output.line("\(names): valid\(directory == nil ? "" : ", alone")")
            let access = loaded.settings.unsignedAccess.map { [$0] } ?? []
            let all = notes + access + ignored(beside: file) + overrides(of: loaded, layers)
            for note in all { Output.line("note: \(note)") }
        }
        Output.flush()
        for warning in warnings { Output.errors("jostle: warning: \(warning)") }
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
        layers.overrides.filter { loaded.provenance[$0.key] != nil || RuleSwitch(key: $0.key) != nil }.map {
            "\($0.text), which takes precedence over the file; \($0.advice)"
        }
    }
}
