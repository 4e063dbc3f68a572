internal import Documents
internal import Glibc
internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleRuntime
internal import LinuxSensors
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// `jostle doctor`: examines everything that a working agent needs, and says what to do about what is missing.
enum DoctorCommand {
    static let usage = CommandUsage(
        name: "doctor", summary: "examine sensor, board, broker and service, and say what to do about each problem",
        details: """
            It examines the service, if one reads this configuration, else what `jostle run` of this user would find. If
            the service has the chip, the chip itself is not examined: stop the service for that, and let the board lie
            still. With sudo it sees everything that the service sees.

            At the broker it connects with a client id of its own and publishes empty messages that nobody reads.
            Nothing is changed. The chip is asleep afterwards.

            The exit status is 0 if nothing failed, else that of the first failure: 78 for the configuration, 66 if it
            cannot be read, 77 for permissions, 69 for everything else. A warning is no failure.
            """,
        options: CommandUsage.configurationOptions + [
            Option("json", help: "print JSON"),
            Option("unit", value: "NAME", help: "examine this service of systemd, for example jostle@left.service"),
        ])

    static func run(_ arguments: Arguments) throws {
        let signals = SignalWaiter()
        let file = Configuration.file(arguments)
        let agent = ExaminedAgent(file: file, unitName: arguments.value("unit"))
        var report = DoctorReport(device: DeviceName.ofThisMachine(), subject: agent.subject)
        let settings = loadedSettings(arguments, file, agent, &report)
        if !arguments.has("json") {
            Output.line("Examining \(report.subject) on this board, device \(report.device): some seconds")
            Output.flush()
        }
        try examine(settings ?? JostleSettings(), isKnown: settings != nil, agent, signals, &report)
        if arguments.has("json") {
            Output.json(report.json.description)
        } else {
            Output.text(report.text)
            Output.line(report.summary)
            if let advice = report.advice { Output.line(advice) }
        }
        if report.status != .success {
            throw Failure(report.status, "not everything works: \(report.summary)")
        }
    }

    /// The settings in force, with a finding; `nil` if the files are not valid.
    private static func loadedSettings(
        _ arguments: Arguments, _ file: String?, _ agent: ExaminedAgent, _ report: inout DoctorReport
    ) -> JostleSettings? {
        let loaded: LoadedConfiguration
        do {
            loaded = try Configuration.load(arguments)
        } catch {
            let failure = Failure(error)
            report.add(failure.lines.map { .failed(.configuration, $0, [], status: failure.status) })
            return nil
        }
        let layers = LayersInForce(upon: loaded, file: file, directory: agent.stateDirectory)
        report.device = layers.id
        let resolution = layers.stack.resolution
        let inForce = LoadedConfiguration(
            settings: resolution.settings, provenance: resolution.provenance, files: loaded.files)
        report.add(ConfigurationExamination.findings(inForce, isOfService: agent.unit != nil))
        return inForce.settings
    }

    /// Everything after the configuration. Without a valid one, what the defaults say about the broker is left out.
    private static func examine(
        _ settings: JostleSettings, isKnown: Bool, _ agent: ExaminedAgent, _ signals: SignalWaiter,
        _ report: inout DoctorReport
    ) throws {
        report.add(agent.findings)
        let sensor = SensorExamination(settings, reader: agent.reader)
        report.add(sensor.findings)
        report.add([BoardExamination.clock, BoardExamination.memory])
        let disk = BoardExamination.disk(of: agent.stateDirectory)
        report.add([BoardExamination.finding(disk, of: agent.stateDirectory)])
        report.add([StateExamination.finding(agent.stateDirectory, reader: agent.reader, unit: agent.unit)])
        report.add(RecordingsExamination.findings(agent.stateDirectory))
        if let subject = sensor.subject {
            report.add(
                try SensorMeasurement.findings(
                    subject, settings, stateDirectory: agent.stateDirectory, signals: signals))
        }
        guard isKnown else {
            report.add([.unknown(.broker, "the broker is in the configuration, which cannot be used")])
            return
        }
        let broker = try BrokerExamination(settings, id: report.device, isRunning: agent.isRunning, signals: signals)
        report.add(broker.findings)
        if let device = broker.device {
            let topic = "\(settings.mqtt.prefix)/\(report.device)"
            report.add(
                AgentExamination.findings(
                    device, topic: topic, isService: agent.isServiceRunning, isRetained: broker.retains))
        }
    }
}

/// All findings of `jostle doctor`, for people and for programs.
struct DoctorReport {
    /// The device's id.
    var device: String

    /// What was examined: the service's name, or "this user's agent".
    let subject: String

    private(set) var findings: [Finding] = []

    mutating func add(_ findings: [Finding]) {
        self.findings += findings
    }

    /// The findings in the order of the report.
    private var ordered: [Finding] {
        Examination.allCases.flatMap { examination in findings.filter { $0.examination == examination } }
    }

    private func count(_ verdict: Finding.Verdict) -> Int { findings.count { $0.verdict == verdict } }

    // MARK: Text

    /// One line for each finding, and below it the next steps.
    var text: String {
        let titles = findings.map(\.examination.title.count).max() ?? 0
        let blanks = { (count: Int) in String(repeating: " ", count: count) }
        return ordered.map { finding in
            let (verdict, title) = (finding.verdict.rawValue, finding.examination.title)
            let columns = verdict + blanks(9 - verdict.count) + title + blanks(titles + 2 - title.count)
            return "\(columns)\(finding.text)\n" + finding.steps.map { "\(blanks(titles + 11))-> \($0)\n" }.joined()
        }.joined()
    }

    /// `2 failed, 1 warning, 15 ok`.
    var summary: String {
        let bad: [(Finding.Verdict, String)] = [
            (.failed, "failed"), (.warning, count(.warning) == 1 ? "warning" : "warnings"), (.unknown, "not examined"),
        ]
        let parts = bad.filter { count($0.0) > 0 } + [(.ok, "ok")]
        return parts.map { "\(count($0.0)) \($0.1)" }.joined(separator: ", ")
    }

    /// What to say first: the first failure is most likely the cause of the others.
    var advice: String? {
        let failures = ordered.filter { $0.verdict == .failed }
        guard failures.count > 1, let first = failures.first else { return nil }
        return "Begin with the first failure (\(first.examination.title)): it may be the cause of the others."
    }

    // MARK: JSON

    var json: JSONObject {
        var object = JSONObject()
        object.add("version", version)
        object.add("device", device)
        object.add("subject", subject)
        object.add("verdict", verdict.rawValue)
        object.add("checks", ordered.map(\.json))
        return object
    }

    private var verdict: Finding.Verdict { count(.failed) > 0 ? .failed : count(.warning) > 0 ? .warning : .ok }

    /// The status of the first failure; success if nothing failed.
    var status: ExitStatus { ordered.first { $0.verdict == .failed }?.status ?? .success }
}

/// Examines a configuration that is valid: values without effect, and the files that it names.
enum ConfigurationExamination {
    static func findings(_ loaded: LoadedConfiguration, isOfService: Bool) -> [Finding] {
        let names = loaded.files.isEmpty ? "no file; the built-in defaults" : loaded.files.joined(separator: ", ")
        var findings: [Finding] = loaded.warnings.map {
            .warning(.configuration, "\($0)", "Correct it, then: sudo systemctl reload jostle")
        }
        let files = FileCheck(loaded, isOfService: isOfService)
        findings += files.errors.map { .failed(.secrets, "\($0)", [], status: .configuration) }
        findings += files.warnings.map { .unknown(.secrets, "\($0)") }
        do {
            try loaded.settings.sensorSelection.check(loaded.settings.imu)
        } catch {
            findings.append(.failed(.configuration, error.description(in: .agent), [], status: .configuration))
        }
        if let access = loaded.settings.unsignedAccess {
            findings.append(.warning(.configuration, access, "See docs/fleet.md: signed documents"))
        }
        if !findings.contains(where: { $0.examination == .configuration }) {
            findings.append(.ok(.configuration, names))
        }
        if !findings.contains(where: { $0.examination == .secrets }), loaded.settings.mqtt.namesSecrets {
            findings.append(
                .ok(.secrets, "\(isOfService ? "the service" : "this user") can read the files that it names"))
        }
        return findings
    }
}

extension JostleSettings.MQTT {
    /// Whether it names files of secrets or certificates.
    fileprivate var namesSecrets: Bool {
        [usernameFile, passwordFile, caFile, certificateFile, keyFile].contains { $0 != nil }
    }
}

/// Examines the state directory: whether the agent may write to it, and whether another agent has it.
enum StateExamination {
    static func finding(_ directory: String, reader: FileReader, unit: ServiceUnit?) -> Finding {
        guard DirectoryContents.exists(directory) else {
            guard let unit else { return .ok(.state, "\(directory) will be created at the first start") }
            return .warning(
                .state, "\(directory) is not there; the service creates it when it starts",
                "sudo systemctl restart \(unit.name)")
        }
        switch reader.obstacle(toOpening: directory, isDirectory: true) {
        case .refused(let reason):
            let owner = reader.name.map { "\($0):\($0)" } ?? "$USER"
            return .failed(
                .state, "\(directory): \(reason)",
                ["sudo chown -R \(owner) \(directory)", "sudo chmod u+rwx \(directory)"], status: .permission)
        case .unknown(let reason): return .unknown(.state, "\(directory): \(reason)", "sudo jostle doctor")
        case nil: return finding(of: StateDirectoryLock.holder(of: directory), directory, unit: unit)
        }
    }

    /// Who uses the directory now.
    static func finding(of holder: ChipLock.Holder?, _ directory: String, unit: ServiceUnit?) -> Finding {
        guard let holder else { return .ok(.state, "\(directory) can be written") }
        guard let unit, let process = unit.process, let other = holder.processIdentifier, process != other else {
            return .ok(.state, "\(directory) can be written; \(holder) uses it")
        }
        return .failed(.state, "\(holder) uses \(directory), so that \(unit.name) cannot start", ["sudo kill \(other)"])
    }
}

/// Examines the recordings of the agent: what somebody has said about them is of use to `jostle tune`.
enum RecordingsExamination {
    static func findings(_ state: String) -> [Finding] {
        let directory = RecordingDirectory(stateDirectory: state)
        let labels: [String]
        do { labels = try directory.entries().flatMap(\.labels) } catch { return [] }
        let words = labels.compactMap { label in
            Gesture(
                word: label.hasPrefix(RecordingLabels.negation)
                    ? String(label.dropFirst(RecordingLabels.negation.count)) : label)
        }
        guard let gesture = words.first else { return [] }
        let names = Gesture.allCases.filter(words.contains).map(\.word).joined(separator: ", ")
        return [
            .ok(
                .recordings,
                "\(words.count) labelled recordings (\(names)): sudo jostle tune \(gesture.word) --labelled finds the sensitivity "
                    + "that fits them")
        ]
    }
}

/// Examines the board itself: clock, disk and memory.
enum BoardExamination {
    // MARK: Clock

    /// Whether the clock is right, as far as the board knows.
    static var clock: Finding {
        clock(isSynchronised: WallClock.synchronisation ?? TimeService.isClockSynchronised(), year: year)
    }

    static func clock(isSynchronised: Bool?, year: Int) -> Finding {
        let steps = "sudo timedatectl set-ntp true"
        // This program is newer.
        guard year >= 2024 else {
            return .failed(
                .clock, "the clock says that it is the year \(year): certificates and the times of events are wrong",
                [steps, "Check that the board reaches the internet, or its time server: timedatectl timesync-status"])
        }
        switch isSynchronised {
        case true?: return .ok(.clock, "synchronised")
        case false?:
            return .warning(
                .clock, "nothing keeps the clock synchronised, so that the times of events may be wrong", steps)
        case nil: return .unknown(.clock, "neither the kernel nor systemd says whether the clock is synchronised")
        }
    }

    private static var year: Int {
        var now = time(nil)
        var parts = tm()
        gmtime_r(&now, &parts)
        return Int(parts.tm_year) + 1900
    }

    // MARK: Disk

    /// The file system of a directory, or of the first one above it that exists; `nil` if it cannot be asked.
    static func disk(of directory: String) -> DiskSpace? {
        var path = directory
        while !DirectoryContents.exists(path), path.contains("/"), path != "/" {
            path = FileContents.parts(of: path).directory
        }
        do { return try DiskSpace(of: path) } catch { return nil }
    }

    /// Whether the state can be stored. An outbox of the default size has at most 32 MiB.
    static func finding(_ disk: DiskSpace?, of directory: String) -> Finding {
        guard let disk else { return .unknown(.disk, "the file system of \(directory) cannot be asked") }
        let steps = ["df -h \(directory)", "sudo journalctl --vacuum-size=50M   # frees what old logs take"]
        let free = "\(decimal(disk.free / 1e6, 0)) MB are free"
        if disk.isReadOnly {
            return .failed(
                .disk,
                "the file system of \(directory) is read-only: events survive no power cut, and settings no restart",
                ["dmesg | grep -i 'read-only\\|i/o error'   # a worn SD card?", "sudo mount -o remount,rw /"])
        }
        if let files = disk.freeFiles, files < 100 {
            return .failed(.disk, "no more files can be created where \(directory) is", ["df -i \(directory)"])
        }
        if disk.free < 1e6 { return .failed(.disk, "the disk of \(directory) is full", steps) }
        if disk.free < 100e6 {
            return .warning(.disk, "only \(free) where \(directory) is", steps[0], steps[1])
        }
        return .ok(.disk, free)
    }

    // MARK: Memory

    /// Whether the agent finds the memory that it needs, at most 40 MB.
    static var memory: Finding { memory(MemoryInfo.text) }

    /// The same from the text of /proc/meminfo.
    static func memory(_ text: String) -> Finding {
        let value = MemoryInfo.value(of: "MemAvailable", in: text)?.split(separator: " ").first
        guard let kilobytes = value.flatMap({ Double($0) }) else {
            return .unknown(.memory, "the kernel does not say how much memory is available")
        }
        let text = "\(decimal(kilobytes / 1000, 0)) MB are available"
        guard kilobytes >= 50_000 else {
            return .warning(.memory, "only \(text)", "ps aux --sort -rss | head   # what uses it")
        }
        return .ok(.memory, text)
    }
}
