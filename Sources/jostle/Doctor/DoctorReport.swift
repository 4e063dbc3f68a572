internal import JostleCommandLine
internal import JostleMessages

/// All findings of `jostle doctor`, for people and for programs.
struct DoctorReport {
    /// The device's id.
    var device: String

    /// What was examined: the service's name, or "this user's agent".
    let subject: String

    private(set) var findings: [Finding] = []

    init(device: String, subject: String) {
        self.device = device
        self.subject = subject
    }

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
        var text = ""
        for finding in ordered {
            let verdict = finding.verdict.rawValue
            let title = finding.examination.title
            let indent = String(repeating: " ", count: titles + 11)
            text += verdict + String(repeating: " ", count: 9 - verdict.count)
            text += title + String(repeating: " ", count: titles + 2 - title.count)
            text += finding.text + "\n"
            for step in finding.steps { text += "\(indent)-> \(step)\n" }
        }
        return text
    }

    /// `2 failed, 1 warning, 15 ok`.
    var summary: String {
        let failed = count(.failed)
        let warnings = count(.warning)
        let unknown = count(.unknown)
        var parts: [String] = []
        if failed > 0 { parts.append("\(failed) failed") }
        if warnings > 0 { parts.append(warnings == 1 ? "1 warning" : "\(warnings) warnings") }
        if unknown > 0 { parts.append("\(unknown) not examined") }
        parts.append("\(count(.ok)) ok")
        return parts.joined(separator: ", ")
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
