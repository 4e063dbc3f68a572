internal import Documents
internal import LinuxSystem

/// What `jostle doctor` examines; the raw values are the names in its JSON.
///
/// The order is that of the report. A failure often causes those that follow.
enum Examination: String, CaseIterable {
    case configuration
    case secrets
    case service
    case account
    case bus = "i2c_bus"
    case access = "device_access"
    case chip
    case speed = "bus_speed"
    case selfTest = "self_test"
    case rate = "sample_rate"
    case noise
    case calibration
    case clock
    case broker
    case tls
    case login
    case topics
    case homeAssistant = "home_assistant"
    case agent
    case state = "state_directory"
    case recordings
    case disk
    case memory

    /// The name for people.
    var title: String {
        switch self {
        case .secrets: "secret files"
        case .account: "groups"
        case .bus: "I2C bus"
        case .selfTest: "self-test"
        case .tls: "TLS"
        case .homeAssistant: "Home Assistant"
        default: rawValue.replacing("_", with: " ")
        }
    }
}

/// The result of an examination: what was found, and what to do about it.
struct Finding: Equatable {
    enum Verdict: String {
        case ok
        /// It works, but not as well as it could, or not for ever.
        case warning
        /// It does not work.
        case failed
        /// It could not be examined; the text says why.
        case unknown
    }

    let examination: Examination
    let verdict: Verdict

    /// What was found: one sentence without a full stop.
    let text: String

    /// The next steps: commands as they are typed, or sentences.
    let steps: [String]

    /// The exit status if this is the first failure.
    let status: ExitStatus

    private init(
        _ examination: Examination, _ verdict: Verdict, _ text: String, _ steps: [String], _ status: ExitStatus
    ) {
        self.examination = examination
        self.verdict = verdict
        self.text = text
        self.steps = steps
        self.status = status
    }

    static func ok(_ examination: Examination, _ text: String) -> Finding {
        Finding(examination, .ok, text, [], .success)
    }

    static func unknown(_ examination: Examination, _ text: String, _ steps: String...) -> Finding {
        Finding(examination, .unknown, text, steps, .success)
    }

    static func warning(_ examination: Examination, _ text: String, _ steps: String...) -> Finding {
        Finding(examination, .warning, text, steps, .success)
    }

    static func failed(
        _ examination: Examination, _ text: String, _ steps: [String], status: ExitStatus = .unavailable
    ) -> Finding {
        Finding(examination, .failed, text, steps, status)
    }

    /// The same as a warning, if something else makes the failure harmless.
    var asWarning: Finding {
        verdict == .failed ? Finding(examination, .warning, text, steps, .success) : self
    }

    var json: JSONObject {
        var object = JSONObject()
        object.add("check", examination.rawValue)
        object.add("verdict", verdict.rawValue)
        object.add("text", text)
        if !steps.isEmpty { object.add("next", steps) }
        return object
    }
}
