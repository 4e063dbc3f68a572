internal import JostleCommandLine
internal import LinuxSystem

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
        var findings: [Finding] = []
        switch activity {
        case "active", "reloading":
            findings.append(
                restarts > 3
                    ? .warning(
                        .service, "\(name) runs, but was started again \(restarts) times\(words)",
                        "journalctl -u \(name) -p warning -n 50")
                    : .ok(.service, "\(name) runs"))
        case "activating":
            // Between two attempts.
            let reason = Self.meaning(ofStatus: exitStatus) ?? result
            findings.append(
                result == "success"
                    ? .ok(.service, "\(name) is starting")
                    : .failed(
                        .service, "\(name) fails, and systemd starts it again and again: \(reason)\(words)",
                        ["journalctl -u \(name) -n 50"]))
        case "failed":
            let reason = Self.meaning(ofStatus: exitStatus) ?? result
            findings.append(
                .failed(
                    .service, "\(name) failed: \(reason)\(words)",
                    ["journalctl -u \(name) -n 50", "When that is mended: sudo systemctl restart \(name)"]))
        default:
            let switchOn = start == "enabled" ? "sudo systemctl start \(name)" : "sudo systemctl enable --now \(name)"
            findings.append(.failed(.service, "\(name) does not run", [switchOn]))
            return findings
        }
        if start == "disabled" {
            findings.append(
                .warning(.service, "\(name) does not start with the board", "sudo systemctl enable \(name)"))
        }
        return findings
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
