internal import Documents
internal import Glibc
internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import JostleRuntime
internal import LinuxSystem
internal import MosquittoClient
internal import MotionCore
internal import StateStorage

/// `jostle support`: one file with what a maintainer needs to find a fault.
enum SupportCommand {
    /// Seconds that `jostle doctor` may take: it listens to the sensor for some time.
    private static let doctorTime = 120.0

    static let usage = CommandUsage(
        name: "support",
        summary: "write a report for a maintainer, without secrets, to attach to a description of a fault",
        details: """
            The report is one text file of at most 1 MB. It has versions, facts about the board, the configuration with the
            origin of each value, the log, what jostle doctor finds, and what the agent publishes. Passwords, user names,
            keys, and the payloads and URLs of actions are left out, also where they stand in the log. Read it before you
            send it.

            With sudo it can read everything that the service can. With --device, the report is about another board, and
            has what that board publishes and answers over MQTT. The log of that board is not among it.
            """,
        options: [
            Option("device", value: "ID", help: "a report of this device, over MQTT"),
            Option("output", value: "FILE", help: "the new file; - for standard output. The default has id and time"),
            Option("lines", value: "COUNT", help: "lines of the log, 1 … 10000; 1000 by default"),
            Option("hide-broker", help: "write [broker] instead of the broker's host"),
            Option(
                "state", value: "DIR", help: "the state directory; by default $STATE_DIRECTORY or that of the service"),
            BrokerArgument.option,
        ] + CommandUsage.configurationOptions)

    static func run(_ arguments: Arguments) throws {
        let signals = SignalWaiter()
        let lines = try arguments.count("lines", within: 1...10_000) ?? 1000
        let subject = SupportSubject(arguments)
        var report = SupportReport(secrets: subject.secrets(hidesBroker: arguments.has("hide-broker")))
        let id: String
        if let device = arguments.value("device") {
            id = device
            try DeviceIDArgument.check(device, option: "device")
            try addDevice(device, to: &report, arguments, signals)
        } else {
            id = subject.id
            try addBoard(subject, to: &report, arguments, lines, signals)
        }
        let time = WallClock.dateAndTime(milliseconds: WallClock.milliseconds(at: WallClock.monotonic))
        let text = report.text("Jostle support report of \(id)", made: "\(version) at \(time)")
        let stamp = String(time.map { $0 == " " ? "-" : $0 }.filter { $0 != ":" })
        try write(text, to: arguments.value("output") ?? "jostle-support-\(id)-\(stamp).txt", report.titles)
    }

    // MARK: Contents

    private static func addBoard(
        _ subject: SupportSubject, to report: inout SupportReport, _ arguments: Arguments, _ lines: Int,
        _ signals: SignalWaiter
    ) throws {
        report.add("Versions", "jostle \(version)\n\(versionDetails)")
        let packages = ["jostle", "mosquitto", "libmosquitto1", "libyaml-0-2", "libsqlite3-0", "libssl3*", "systemd"]
        try report.add(
            "Packages", running: "dpkg-query",
            ["--show", "--showformat", "${db:Status-Abbrev} ${Package} ${Version} ${Architecture}\\n"] + packages,
            signals)
        report.addBoard()
        let own = "/proc/self/exe"
        let options = configurationOptions(arguments)
        try report.add(
            "Doctor", running: own, ["doctor", "--json"] + options, within: doctorTime, limit: 1 << 16, isJSON: true,
            signals)
        report.addConfiguration(of: subject)
        try report.add("Service", running: "systemctl", ["show", subject.unit] + properties, signals)
        report.addUsers()
        report.addSensors()
        try report.add("Scan", running: own, ["scan"], within: 30, signals)
        report.add("Files of the configuration", filesOf: FileContents.parts(of: subject.file).directory)
        report.add("Files of the state directory", filesOf: subject.stateDirectory)
        report.addDisk(["/", subject.stateDirectory])
        try report.addClock(signals)
        try addMessages(of: subject, to: &report, signals)
        try report.add(
            "Log", running: "journalctl",
            ["--no-pager", "--output", "short-iso", "--lines", "\(lines)", "--unit", subject.unit]
                + ["--unit", "jostle-upgrade.service"],
            within: 30, limit: 1 << 19, keepsEnd: true, signals)
    }

    /// What to ask systemd. The environment and the command line of the service are not among it: they may contain secrets.
    private static let properties = [
        "LoadState", "ActiveState", "SubState", "Result", "StatusText", "UnitFileState", "FragmentPath", "DropInPaths",
        "NeedDaemonReload", "MainPID", "NRestarts", "ExecMainStatus", "ExecMainCode", "ExecMainStartTimestamp",
        "ActiveEnterTimestamp", "InactiveEnterTimestamp", "WatchdogUSec", "MemoryCurrent", "MemoryMax", "CPUUsageNSec",
        "TasksCurrent", "User", "Group", "SupplementaryGroups",
    ].map { "--property=\($0)" }

    /// What the agent of this board publishes.
    private static func addMessages(
        of subject: SupportSubject, to report: inout SupportReport, _ signals: SignalWaiter
    ) throws {
        guard let settings = subject.settings else {
            report.add("Connection", "Without a valid configuration, it is not known which broker to ask.\n")
            return
        }
        let messages: DeviceMessages
        do {
            messages = try DeviceMessages(of: subject.id, settings, signals)
        } catch {
            let failure = Failure(error)
            guard failure.status != .temporary else { throw failure }
            report.add("Connection", "\(failure)")
            return
        }
        report.add(messages, of: subject.id)
    }

    private static func addDevice(
        _ id: String, to report: inout SupportReport, _ arguments: Arguments, _ signals: SignalWaiter
    ) throws {
        let settings = try Configuration.ofBroker(arguments)
        let messages = try DeviceMessages(of: id, settings, signals)
        guard messages.isConnected else {
            throw Failure(.unavailable, lines: ["the broker was not reached"] + messages.connection)
        }
        guard messages.isKnown else { throw Failure(.unavailable, "the broker knows no device \(id)") }
        report.add("Version of this command, on another machine", "jostle \(version)\n\(versionDetails)")
        report.add(messages, of: id)
        report.add(
            "Log",
            """
            A device does not publish its log. On the board itself, sudo jostle support adds it, and what jostle doctor
            finds.
            """)
    }

    /// The options of this command that the other commands take too.
    private static func configurationOptions(_ arguments: Arguments) -> [String] {
        (arguments.value("config").map { ["--config", $0] } ?? [])
            + arguments.values("set").flatMap { ["--set", $0] }
    }

    // MARK: Writing

    private static func write(_ text: String, to path: String, _ titles: [String]) throws {
        let size = "\((text.utf8.count + 999) / 1000) kB"
        guard path != "-" else {
            Output.text(text)
            Output.warn("a report of \(size). Read it before you send it. \(SupportReport.promise)")
            return
        }
        do {
            try FileContents.create(path, with: Array(text.utf8), mode: 0o600, owner: SudoUser.owner)
        } catch {
            let advice =
                error.code == EEXIST ? "; a report does not replace a file" : "; name another one with --output"
            throw Failure(.cannotCreate, "\(path): \(error)\(advice)")
        }
        Output.line("\(path): \(size), readable only for you")
        Output.line("It has: \(titles.joined(separator: ", ").lowercased()).")
        Output.line(SupportReport.promise)
        Output.line("Read it before you send it\(Project.address.map { " to \($0)" } ?? "").")
    }
}

/// What a report of this board is about: its configuration, as far as it can be read, and where it keeps its state.
final class SupportSubject {
    /// The configuration, and that with everything above it; why it is invalid or cannot be read.
    let configuration: Result<(loaded: LoadedConfiguration, stored: StoredConfiguration), ConfigurationErrors>
    /// The main file of the configuration, also if it does not exist.
    let file: String
    let stateDirectory: String
    /// The unit of the service.
    let unit: String
    let id: String

    init(_ arguments: Arguments) {
        let service = Configuration.variable("JOSTLE_INSTANCE") ?? "jostle"
        unit = InstalledService.unit(service)
        let named = Configuration.file(arguments)
        file = named ?? ConfigurationFile.systemPath
        stateDirectory = arguments.value("state") ?? SupportSubject.stateDirectory(service)
        do {
            let loaded = try JostleSettings.load(
                file: named, overrides: arguments.values("set") + BrokerArgument.overrides(arguments))
            id = loaded.settings.device.id ?? DeviceName.ofThisMachine()
            let stored = StoredConfiguration.read(loaded, id: id, in: StateDirectory(path: stateDirectory))
            configuration = .success((loaded, stored))
        } catch {
            id = DeviceName.ofThisMachine()
            configuration = .failure(error)
        }
    }

    /// That of the service, unless this process has one of its own.
    private static func stateDirectory(_ service: String) -> String {
        if let directory = Configuration.variable("STATE_DIRECTORY") { return directory }
        let directory = InstalledService.stateDirectory(service)
        return DirectoryContents.exists(directory) ? directory : Configuration.stateDirectory
    }

    /// The settings in force.
    var settings: JostleSettings? {
        if case .success(let known) = configuration { known.stored.stack.resolution.settings } else { nil }
    }

    /// The files of the configuration.
    var files: [String] {
        var files = [file]
        if let directory = DropInDirectory(of: file) {
            do { files += try directory.files() } catch {}
        }
        return files
    }

    // MARK: Secrets

    /// Everything that must not be in the report, as far as it is known.
    func secrets(hidesBroker: Bool) -> SecretRemoval {
        var removal = SecretRemoval()
        let publicNames = [id, settings?.mqtt.prefix].compactMap { $0 }
        if case .success(let known) = configuration {
            let secrets = known.loaded.settings.secrets
            for password in secrets.passwords { removal.add(password) }
            for name in secrets.userNames { removal.add(userName: name, publicNames: publicNames) }
        }
        for file in files {
            guard let text = FileContents.text(ofOptional: file, limit: 1 << 20) else { continue }
            removal.add(secretsOf: text, publicNames: publicNames)
            removal.add(webhooksOf: text)
        }
        let parent = FileContents.parts(of: file).directory
        for directory in ["\(parent)/credentials", Configuration.variable("CREDENTIALS_DIRECTORY")].compactMap({ $0 }) {
            for text in SupportSubject.contents(of: directory) { removal.add(text) }
        }
        for value in SupportSubject.secretVariables() { removal.add(value) }
        if hidesBroker, let settings {
            for broker in settings.brokers(embeddedPort: nil) + settings.forCommands.brokers(embeddedPort: nil) {
                removal.hide(broker: broker.host)
            }
        }
        return removal
    }

    /// The texts of the files in a directory; certificates and keys are recognised without them.
    private static func contents(of directory: String) -> [String] {
        DirectoryContents.names(ofOptional: directory).prefix(64)
            .compactMap { FileContents.text(ofOptional: "\(directory)/\($0)", limit: 4096) }
            .filter { !$0.contains(text: "-----BEGIN ") }
    }

    /// The values of the environment variables that are named like a secret: environ(7).
    private static func secretVariables() -> [String] {
        var values: [String] = []
        var next = environ
        while let variable = next.pointee {
            let parts = String(cString: variable).split(separator: "=", maxSplits: 1).map(String.init)
            next += 1
            // The shell's working directories are named like a password.
            guard parts.count == 2, SecretName.isSecret(parts[0]), !["PWD", "OLDPWD"].contains(parts[0])
            else { continue }
            values.append(parts[1])
        }
        return values
    }
}

/// What a device has published, and answers, over MQTT.
private struct DeviceMessages {
    /// Seconds within which there must be a connection, then those within which everything must have arrived, those of
    /// silence after which nothing more is expected, and those within which the device must answer.
    private static let times = (connection: 30.0, reading: 10.0, quiet: 1.0, answer: 5.0)

    /// The most events that are kept.
    private static let mostEvents = 20

    /// The newest message of each topic, by the levels after the device.
    private(set) var latest: [String: [UInt8]] = [:]
    /// The newest events, in order.
    private(set) var events: [String] = []
    /// What happened to the connection.
    private(set) var connection: [String] = []
    private(set) var isConnected = false
    /// The answer to `get-state`; else why there is none.
    private(set) var state: [UInt8]?
    private(set) var silence: String?

    /// Whether the broker knows the device.
    var isKnown: Bool { latest["availability"] != nil || latest["health"] != nil || state != nil }

    /// Reads what the broker holds of a device, and asks the device for its state.
    ///
    /// - Throws: status 75 if a signal arrives, or 78 if the configuration leads to no broker. An unreachable broker is
    ///   not an error.
    init(of id: String, _ settings: JostleSettings, _ signals: SignalWaiter) throws {
        let listener = try BrokerView.watching(id, settings)
        try read(listener, Topics(prefix: settings.mqtt.prefix, id: id).root, signals)
        guard isConnected else { return }
        do {
            let device = try RemoteDevice(id: id, settings: settings)
            state = try device.request("get-state", JSONObject(), within: DeviceMessages.times.answer, signals: signals)
                .payload
        } catch BrokerError.interrupted {
            throw BrokerError.interrupted
        } catch {
            silence = "\(error)"
        }
    }

    private mutating func read(
        _ listener: BrokerView, _ root: String, _ signals: SignalWaiter
    ) throws {
        try listener.start()
        defer { listener.stop() }
        var start = WallClock.monotonic
        var (isListening, lastMessage) = (false, start)
        while true {
            let taken = listener.takeReports()
            for report in taken.reports {
                switch report {
                case .connecting: break
                case .connected(let broker, let version):
                    isConnected = true
                    start = WallClock.monotonic
                    connection.append("connected to \(broker), MQTT \(version)")
                case .failed(let reason, _): connection.append("no connection: \(reason)")
                case .refused(let filter, let reason): connection.append("may not read \(filter): \(reason)")
                case .listening: isListening = true
                case .message(let message):
                    if message.retain { lastMessage = WallClock.monotonic }
                    take(message, root)
                }
            }
            if taken.dropped > 0 { connection.append("\(taken.dropped) messages arrived too fast, or were too long") }
            let now = WallClock.monotonic
            if isListening, now.seconds(since: lastMessage) > DeviceMessages.times.quiet { return }
            if !isConnected, listener.status.isHopeless { return }
            let limit = isConnected ? DeviceMessages.times.reading : DeviceMessages.times.connection
            if now.seconds(since: start) > limit { return }
            if signals.wait(seconds: 0.05) { throw BrokerError.interrupted }
        }
    }

    private mutating func take(_ message: MQTTMessage, _ root: String) {
        guard message.topic.hasPrefix("\(root)/") else { return }
        let topic = String(message.topic.dropFirst(root.count + 1))
        if topic.hasPrefix("event/") {
            events.append("\(topic) \(String(decoding: message.payload, as: UTF8.self))")
            if events.count > DeviceMessages.mostEvents { events.removeFirst() }
        } else {
            latest[topic] = message.payload
        }
    }
}

/// What a device says over MQTT.
extension SupportReport {
    fileprivate mutating func add(_ messages: DeviceMessages, of id: String) {
        let availability = messages.latest["availability"].map { String(decoding: $0, as: UTF8.self) }
        add(
            "Connection",
            (messages.connection + ["device \(id): \(availability ?? "not known to the broker")"])
                .map { $0 + "\n" }.joined())
        guard messages.isConnected else { return }
        for (topic, title) in [
            ("health", "Health"), ("state", "State"), ("config/reported", "Reported configuration"),
            ("attitude", "Attitude"), ("motion", "Motion"),
        ] {
            guard let payload = messages.latest[topic] else {
                if topic != "attitude", topic != "motion" { add(title, "The broker has no message on this topic.\n") }
                continue
            }
            add(title, json: payload, limit: 1 << 16)
        }
        if !messages.events.isEmpty { add("Events while this was made", messages.events.joined(separator: "\n")) }
        if let state = messages.state {
            add("Answer to get-state", json: state)
        } else if let silence = messages.silence {
            add("Answer to get-state", silence)
        }
    }
}
