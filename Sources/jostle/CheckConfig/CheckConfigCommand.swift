internal import Documents
internal import Glibc
internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
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
        operands: [Operand("FILE", help: "the configuration; as --config", isRequired: false)],
        options: CommandUsage.configurationOptions + [
            Option("show", help: "print the values of the file, where each comes from, and what is above it"),
            Option("strict", help: "exit with status 78 also for warnings"),
            Option("no-files", help: "do not look at the files that it names: it is for another machine"),
            Option("schema", help: "print the JSON schema of configuration files"),
        ])

    static func run(_ arguments: Arguments) throws {
        if arguments.has("schema") {
            Output.text(ConfigurationSchema.jsonSchema)
            return
        }
        var file = arguments.operand(0) ?? Configuration.file(arguments)
        let directory = file.flatMap { DropInDirectory(containing: $0) }
        let loaded: LoadedConfiguration
        if let file, let directory {
            loaded = try Configuration.load(arguments, alone: file, of: directory)
        } else {
            loaded = try Configuration.load(arguments, file: arguments.operand(0), boardFile: .replaceable)
        }
        if loaded.files.isEmpty { file = nil }
        let notes = try loaded.settings.sensorSelection.check(loaded.settings.imu)
        let layers = LayersInForce(upon: loaded, file: file)
        if arguments.has("show") { show(loaded, layers) }
        var warnings = loaded.warnings
        if !arguments.has("no-files") {
            let files = FileCheck(loaded, isOfService: file?.hasPrefix("/etc/jostle/") == true)
            warnings += files.warnings
            guard files.errors.isEmpty else {
                throw Failure(
                    .configuration, lines: files.errors.map(\.description) + warnings.map { "warning: \($0)" })
            }
        }
        if arguments.has("strict"), !warnings.isEmpty {
            throw Failure(.configuration, lines: warnings.map { "warning: \($0)" })
        }
        if !arguments.has("show") {
            let names = loaded.files.isEmpty ? "the built-in defaults" : loaded.files.joined(separator: ", ")
            Output.line("\(names): valid\(directory == nil ? "" : ", alone")")
            let access = loaded.settings.unsignedAccess.map { [$0] } ?? []
            let all = notes + access + ignored(beside: file) + overrides(of: loaded, layers)
            for note in all { Output.line("note: \(note)") }
        }
        Output.flush()
        for warning in warnings { Output.warn("warning: \(warning)") }
    }

    /// The files of the drop-in directory that nobody reads because of their names.
    private static func ignored(beside file: String?) -> [String] {
        guard let file, let directory = DropInDirectory(of: file) else { return [] }
        do {
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
        for override in overrides { Output.warn("\(override.text); \(override.advice)") }
    }

    /// The values of the file and of the arguments that are not in force on this board, because others are above them.
    private static func overrides(of loaded: LoadedConfiguration, _ layers: LayersInForce) -> [String] {
        layers.overrides.filter { loaded.provenance[$0.key] != nil || RuleSwitch(key: $0.key) != nil }.map {
            "\($0.text), which takes precedence over the file; \($0.advice)"
        }
    }
}

/// Checks the files that a configuration names, as the user that will read them.
struct FileCheck {
    /// Files without which the agent does not start, or never reaches its broker.
    private(set) var errors: [DocumentProblem] = []

    /// What could not be checked, and what may be wrong.
    private(set) var warnings: [DocumentProblem] = []

    private let loaded: LoadedConfiguration
    /// The service, if this process is another user and the service may read the configuration.
    private let service: FileReader?
    private let isOfService: Bool
    /// The secrets that this process cannot read.
    private var unreadSecrets = 0

    /// Checks the files for the user of the service if the configuration `isOfService`, else for this process. Root may
    /// read everything, and is warned of what the service may not.
    init(_ loaded: LoadedConfiguration, isOfService: Bool) {
        self.loaded = loaded
        self.isOfService = isOfService
        service = isOfService || Configuration.isRoot ? FileReader.ofService() : nil
        let mqtt = loaded.settings.mqtt
        checkSecret(mqtt.usernameFile, "mqtt.username_file")
        checkSecret(mqtt.passwordFile, "mqtt.password_file")
        check(mqtt.caFile, "mqtt.ca_file")
        check(mqtt.caDirectory, "mqtt.ca_directory", isDirectory: true)
        check(mqtt.certificateFile, "mqtt.certificate_file")
        checkSecret(mqtt.keyFile, "mqtt.key_file")
        checkFirstLines()
        if let bus = loaded.settings.sensor.bus, loaded.settings.sensor.driver != .virtual, access(bus, F_OK) != 0 {
            warn("sensor.bus", bus, "is not there now: \(String(cString: strerror(errno)))")
        }
        checkTrajectory()
    }

    // MARK: Files of the connection

    private mutating func check(_ path: String?, _ key: String, isDirectory: Bool = false) {
        guard let path else { return }
        let isForService = isOfService && service != nil
        let reader = isForService ? service ?? .ownProcess : .ownProcess
        switch reader.obstacle(to: path, isDirectory: isDirectory) {
        case .refused(let reason): refuse(key, path, "cannot be read: \(reason)")
        case .unknown(let reason): warn(key, path, "cannot be checked: \(reason)")
        case nil:
            if !isForService, case .refused(let reason)? = service?.obstacle(to: path, isDirectory: isDirectory) {
                warn(key, path, "cannot be read by the service: \(reason)")
            }
        }
    }

    /// A secret may also be a credential, which systemd reads for the service. Every secret is refused if all users can
    /// read it.
    private mutating func checkSecret(_ name: String?, _ key: String) {
        guard let name else { return }
        let path: String
        switch JostleSettings.place(ofSecret: name) {
        case .hidden:
            unreadSecrets += 1
            let reason =
                Configuration.isRoot
                ? "it is not in /etc/jostle/credentials, and only the service gets other credentials of systemd"
                : "only root and the service see credentials; use sudo"
            return warn(key, name, "cannot be checked: \(reason)")
        case .credential(let file):
            path = file
            if access(path, R_OK) != 0 { refuse(key, path, "cannot be read: \(String(cString: strerror(errno)))") }
        case .file(let file):
            path = file
            check(path, key)
        }
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & 0o007 != 0 {
            refuse(key, path, "is refused because every user can read it; run chmod o= \(path)")
        }
        if access(path, R_OK) != 0 { unreadSecrets += 1 }
    }

    /// Reads user name and password as the agent will, if this process may.
    private mutating func checkFirstLines() {
        let mqtt = loaded.settings.mqtt
        guard errors.isEmpty, unreadSecrets == 0, mqtt.usernameFile != nil || mqtt.passwordFile != nil else { return }
        do {
            let options = try loaded.settings.mqttOptions(name: "check", brokers: [])
            for doubt in loaded.settings.doubts(about: options.credentials) {
                warn("mqtt.\(doubt.key)", doubt.path, doubt.reason)
            }
        } catch {
            refuse("mqtt.\(error.key)", error.path, error.reason)
        }
    }

    // MARK: The sensor

    /// The virtual sensor's movement: the agent refuses an unknown one.
    private mutating func checkTrajectory() {
        let sensor = loaded.settings.sensor
        guard sensor.driver == .virtual else { return }
        do {
            _ = try SensorSelection.loopDuration(of: sensor.trajectory)
        } catch {
            refuse("sensor.trajectory", sensor.trajectory, "cannot be used: \(error.withSuggestion)")
        }
    }

    private mutating func refuse(_ key: String, _ found: String, _ reason: String) {
        errors.append(problem(key, found, reason))
    }

    private mutating func warn(_ key: String, _ found: String, _ reason: String) {
        warnings.append(problem(key, found, reason))
    }

    /// The whole path is named: the reader has to find the file.
    private func problem(_ key: String, _ found: String, _ reason: String) -> DocumentProblem {
        let position = loaded.provenance[key] ?? DocumentPosition(.argument(key))
        return DocumentProblem(at: position, path: key, DocumentProblem.escaped("\(found) \(reason)"))
    }
}
