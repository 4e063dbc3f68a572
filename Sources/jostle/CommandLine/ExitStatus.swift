internal import JostleAgent
internal import LinuxSensors
internal import MotionKit

/// The exit statuses, from sysexits.h.
enum ExitStatus: Int32, CaseIterable {
    case success = 0
    /// The command line is wrong (EX_USAGE).
    case usage = 64
    /// An input file is malformed (EX_DATAERR).
    case badData = 65
    /// An input file does not exist or cannot be read (EX_NOINPUT).
    case noInput = 66
    /// A device or a service is not available (EX_UNAVAILABLE).
    case unavailable = 69
    /// A system resource is exhausted (EX_OSERR).
    case system = 71
    /// An output file cannot be written (EX_CANTCREAT).
    case cannotCreate = 73
    /// The command was interrupted and may be repeated (EX_TEMPFAIL).
    case temporary = 75
    /// Permission denied (EX_NOPERM).
    case permission = 77
    /// The configuration is invalid (EX_CONFIG).
    case configuration = 78

    /// What it means, for the manual.
    var meaning: String {
        switch self {
        case .success: "success"
        case .usage: "the command line is wrong"
        case .badData: "an input file is malformed"
        case .noInput: "an input file does not exist or cannot be read"
        case .unavailable: "a device or the broker is not available"
        case .system: "a resource of the system is exhausted"
        case .cannotCreate: "a file cannot be written"
        case .temporary: "the command was interrupted, and can be repeated"
        case .permission: "permission denied"
        case .configuration: "the configuration is invalid"
        }
    }
}

/// Why a command failed.
struct CommandFailure: Error {
    let status: ExitStatus
    /// The lines for standard error, at least one; a line break within a line is escaped.
    let lines: [String]

    init(_ status: ExitStatus, _ message: String) {
        self.init(status, lines: [message])
    }

    init(_ status: ExitStatus, lines: [String]) {
        self.status = status
        self.lines = lines.isEmpty ? [""] : lines
    }

    /// The failure of an agent's start.
    init(_ error: AgentError) {
        let status: ExitStatus =
            switch error {
            case .sensor(let error): CommandFailure(error).status
            case .mqtt, .secretFile: .configuration
            case .embeddedBroker, .stateInUse: .unavailable
            }
        self.init(status, "\(error)")
    }

    /// The failure of a swarm's start.
    init(_ error: SwarmError) {
        let status: ExitStatus =
            switch error {
            case .privateBroker: .configuration
            case .descriptors, .resources: .system
            }
        self.init(status, "\(error)")
    }

    /// The failure to open or read a sensor.
    init(_ error: SensorError) {
        let status: ExitStatus =
            switch error {
            case .unknownTrajectory, .rate, .noStateDirectory: .configuration
            case .dataReadyLine(let cause) where cause.isConfiguration: .configuration
            case .dataReadyLine: error.isPermission ? .permission : .unavailable
            case .recording(let error): CommandFailure(reading: error).status
            case .resources: .system
            case .notFound, .unavailable, .kernelDevice: error.isPermission ? .permission : .unavailable
            case .stillStopping: .unavailable
            }
        self.init(status, error.withSuggestion)
    }

    /// The failure to read a recording.
    init(reading error: RecordingError) {
        switch error {
        case .system: self.init(.noInput, "\(error)")
        case .malformed: self.init(.badData, "\(error)")
        }
    }

    /// The failure to write a file.
    init(writing error: RecordingError) {
        self.init(.cannotCreate, "\(error)")
    }
}
