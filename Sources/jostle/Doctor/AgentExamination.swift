internal import Glibc
internal import JostleAgent
internal import JostleCommandLine
internal import JostleOperator
internal import LinuxSystem

/// Examines what the agent itself reports at the broker.
enum AgentExamination {
    /// The findings about a device. `isService` says that the service runs, so that the device must be online; `isRetained`
    /// that the broker retains what it has published.
    static func findings(
        _ device: FleetBoard, topic: String, isService: Bool, isRetained: Bool = true
    ) -> [Finding] {
        guard device.isOnline == true, let health = device.health else {
            if !isRetained {
                return [.unknown(.agent, "the broker retains no messages, so it has nothing that the agent published")]
            }
            return [silence(of: device, topic: topic, isService: isService)]
        }
        let facts = [
            "online", health.version.map { "version \($0)" }, health.sensor, health.rate.map { "\(decimal($0, 1)) Hz" },
            device.isStopped ? "sensing is stopped" : nil,
        ]
        let summary = facts.compactMap { $0 }.joined(separator: ", ")
        guard !health.problems.isEmpty else {
            if device.isStopped { return [.warning(.agent, summary, "jostle start")] }
            return [.ok(.agent, summary)]
        }
        return health.problems.map { problem in
            let (meaning, step) = meaning(of: problem, health)
            return .warning(.agent, "\(summary); problem: \(problem), \(meaning)", step)
        }
    }

    /// A device without a health report.
    private static func silence(of device: FleetBoard, topic: String, isService: Bool) -> Finding {
        switch device.isOnline {
        case true?:
            .warning(
                .agent, "it is online, but has published no health report",
                "Unless publish.health.interval is 0: journalctl -u jostle -n 50")
        case false? where isService:
            .failed(.agent, "the service runs, but it is offline at this broker", ["journalctl -u jostle -n 50"])
        case nil where isService:
            .failed(
                .agent, "the service runs, but nothing is published under \(topic)",
                ["journalctl -u jostle -n 50   # the connection", "jostle config show --origin device.id mqtt.prefix"])
        case false?: .ok(.agent, "it is offline")
        case nil: .ok(.agent, "no agent has published under \(topic) yet")
        }
    }

    /// What a problem of the health report means, and where to look.
    private static func meaning(of problem: String, _ health: FleetBoard.Health) -> (String, String) {
        let log = "journalctl -u jostle -p warning -n 50"
        switch problem {
        case "sensor": return ("it does not measure" + (health.sensorFault.map { ": \($0)" } ?? ""), log)
        case "chip":
            return ("the sensor is probably another chip than it says, and its accelerations are wrong", log)
        case "sensor_scale":
            return ("at rest it does not measure gravity" + (health.sensorAdvice.map { ": \($0)" } ?? ""), log)
        case "clock": return ("its time may be wrong", "timedatectl")
        case "outbox": return ("events were lost or cannot be stored", log)
        case "storage": return ("a file could not be written", log)
        case "duplicate_id":
            return ("another device has the same id", "Give each device its own: device.id in the configuration")
        case "upgrade": return ("an upgrade failed", "journalctl -u jostle-upgrade -n 50")
        case "actions":
            let faults = health.actionFaults.isEmpty ? "" : ": \(health.actionFaults.joined(separator: "; "))"
            return ("a program or a webhook of a rule failed\(faults)", log)
        case "mqtt": return ("the broker refuses messages", log)
        default: return ("which this version does not know", log)
        }
    }
}

/// Whose agent is examined: the service, if one reads this configuration, else this user's.
struct ExaminedAgent {
    /// The service; `nil` if systemd does not know it, or does not answer.
    let unit: ServiceUnit?

    /// The name of the service that reads the configuration file; `nil` if none does.
    let unitName: String?

    /// The user that opens the agent's files and devices.
    let reader: FileReader

    let stateDirectory: String

    /// Finds it by the configuration file, or by the name of a unit.
    init(file: String?, unitName name: String?) {
        let name =
            name
            ?? file.flatMap(InstalledService.name(reading:)).map(InstalledService.unit)
            ?? (file == nil ? InstalledService.unit("jostle") : nil)
        let unit = name.flatMap(ServiceUnit.ask).flatMap { $0.isInstalled ? $0 : nil }
        self.unit = unit
        unitName = name
        if let user = unit?.user {
            reader = FileReader.of(user: user, groups: unit?.supplementaryGroups ?? []) ?? .ownProcess
        } else {
            reader = .ownProcess
        }
        stateDirectory =
            Configuration.variable("STATE_DIRECTORY") ?? unit?.stateDirectory ?? Configuration.stateDirectory
    }

    /// For the report's title.
    var subject: String { unit?.name ?? "this user's agent" }

    /// Whether an agent runs: as the service, or with the same state directory.
    var isRunning: Bool { isServiceRunning || StateDirectoryLock.holder(of: stateDirectory) != nil }

    var isServiceRunning: Bool { unit?.activity == "active" }

    // MARK: Findings

    var findings: [Finding] {
        guard let unitName else { return [] }
        guard let unit else {
            return [
                ExaminedAgent.absence(
                    of: unitName, hasSystemd: DirectoryContents.exists("/run/systemd/system"),
                    isInstalled: InstalledService.unitFiles(unitName).contains { access($0, F_OK) == 0 })
            ]
        }
        let isSound = unit.activity == "active" && unit.restarts == 0
        var findings = unit.findings(lastError: isSound ? nil : ServiceUnit.lastError(of: unit.name))
        if let user = unit.user, !FileReader.exists(user: user) {
            findings.append(
                .failed(
                    .account, "the service's user \(user) does not exist",
                    ["sudo systemd-sysusers", "Or install the package again: sudo apt reinstall jostle"]))
        }
        return findings
    }
}

extension ExaminedAgent {
    /// What to say of a service that systemd does not know: perhaps it does not run here, as in a container.
    static func absence(of unitName: String, hasSystemd: Bool, isInstalled: Bool) -> Finding {
        if isInstalled, !hasSystemd {
            return .warning(
                .service, "\(unitName) is installed, but systemd does not run here, so that nothing starts Jostle",
                "Start it in another way: sudo runuser -u jostle -- env STATE_DIRECTORY=/var/lib/jostle jostle run")
        }
        if isInstalled { return .unknown(.service, "\(unitName) is installed, but systemd does not answer") }
        return .warning(
            .service, "\(unitName) is not installed, so that nothing starts Jostle with the board",
            "sudo apt install ./jostle_….deb   # or, in the sources: sudo make install")
    }
}

/// The service as systemd knows it: `systemctl show`.
struct ServiceUnit: Equatable {
    /// `jostle.service`, or `jostle@left.service`.
    let name: String

    /// `loaded`, `not-found`, `masked`, `bad-setting`.
    let load: String
    /// `active`, `inactive`, `failed`, `activating`.
    let activity: String
    /// `enabled`, `disabled`.
    let start: String
    /// `success`, `exit-code`, `watchdog`, `oom-kill`.
    let result: String
    let exitStatus: Int32?
    let restarts: Int
    let process: Int32?
    let user: String?
    let supplementaryGroups: [String]
    /// The path of its state directory.
    let stateDirectory: String?

    private static let properties = [
        "LoadState", "ActiveState", "UnitFileState", "Result", "ExecMainStatus", "NRestarts", "MainPID", "User",
        "SupplementaryGroups", "StateDirectory",
    ]

    /// Asks systemd; `nil` if this machine is not run by systemd, or if it does not answer.
    static func ask(_ name: String) -> ServiceUnit? {
        let words = ["show", name, "--no-pager", "--property=\(properties.joined(separator: ","))"]
        return ChildProgram("systemctl", words).output(within: 10).flatMap { ServiceUnit(name, properties: $0) }
    }

    /// Reads the lines `Name=Value`; `nil` if there is no state among them.
    init?(_ name: String, properties text: String) {
        var values: [String: String] = [:]
        for line in text.split(separator: "\n") {
            guard let equals = line.firstIndex(of: "=") else { continue }
            values[String(line[..<equals])] = String(line[line.index(after: equals)...])
        }
        guard let load = values["LoadState"], !load.isEmpty else { return nil }
        let words = { (key: String) in (values[key] ?? "").split(separator: " ").map(String.init) }
        self.name = name
        self.load = load
        activity = values["ActiveState"] ?? ""
        start = values["UnitFileState"] ?? ""
        result = values["Result"] ?? ""
        exitStatus = values["ExecMainStatus"].flatMap { Int32($0) }
        restarts = values["NRestarts"].flatMap { Int($0) } ?? 0
        process = values["MainPID"].flatMap { Int32($0) }.flatMap { $0 > 0 ? $0 : nil }
        user = values["User"].flatMap { $0.isEmpty ? nil : $0 }
        supplementaryGroups = words("SupplementaryGroups")
        stateDirectory = words("StateDirectory").first.map { "/var/lib/\($0)" }
    }

    var isInstalled: Bool { load != "not-found" }

    // MARK: Findings

    /// What the service does. `lastError` is the last one in its journal.
    func findings(lastError: String?) -> [Finding] {
        switch load {
        case "loaded": break
        case "masked":
            return [
                .failed(.service, "\(name) is masked, so that nothing can start it", ["sudo systemctl unmask \(name)"])
            ]
        default:
            return [.failed(.service, "\(name) cannot be loaded: \(load)", ["systemctl status \(name)"])]
        }
        let words = lastError.map { "; its last error: \($0)" } ?? ""
        let reason = Self.meaning(ofStatus: exitStatus) ?? result
        let finding: Finding
        switch activity {
        case "active", "reloading":
            finding =
                restarts > 3
                ? .warning(
                    .service, "\(name) runs, but was started again \(restarts) times\(words)",
                    "journalctl -u \(name) -p warning -n 50")
                : .ok(.service, "\(name) runs")
        case "activating" where result == "success": finding = .ok(.service, "\(name) is starting")
        case "activating":
            // Between two attempts.
            finding = .failed(
                .service, "\(name) fails, and systemd starts it again and again: \(reason)\(words)",
                ["journalctl -u \(name) -n 50"])
        case "failed":
            finding = .failed(
                .service, "\(name) failed: \(reason)\(words)",
                ["journalctl -u \(name) -n 50", "When that is mended: sudo systemctl restart \(name)"])
        default:
            let switchOn = start == "enabled" ? "sudo systemctl start \(name)" : "sudo systemctl enable --now \(name)"
            return [.failed(.service, "\(name) does not run", [switchOn])]
        }
        guard start == "disabled" else { return [finding] }
        return [finding, .warning(.service, "\(name) does not start with the board", "sudo systemctl enable \(name)")]
    }

    /// What an exit status of the agent, or one of systemd's own (systemd.exec(5)), means.
    private static func meaning(ofStatus status: Int32?) -> String? {
        guard let status, status > 0 else { return nil }
        let meaning: String? =
            switch status {
            case 200: "its working directory is not there"
            case 203: "the program cannot be executed"
            case 216: "its group does not exist"
            case 217: "its user does not exist"
            case 226: "its sandbox cannot be set up"
            case 238: "its state directory cannot be set up"
            case 243: "its credentials cannot be set up"
            default: ExitStatus(rawValue: status)?.meaning
            }
        return "status \(status)" + (meaning.map { ", \($0)" } ?? "")
    }

    /// The last message of the journal that is an error.
    static func lastError(of name: String) -> String? {
        let words = ["--unit", name, "--priority", "err", "--lines", "1", "--output", "cat", "--no-pager", "--quiet"]
        return ChildProgram("journalctl", words).output(within: 10)?.split(separator: "\n").last.map {
            ForeignText.excerpt(String($0), limit: 300)
        }
    }
}
