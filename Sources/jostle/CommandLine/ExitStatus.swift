internal import JostleAgent
internal import LinuxSensors
internal import MotionKit

/// How a command ended: the statuses of sysexits.h.
enum ExitStatus: Int32 {
    case success = 0
    /// The command line is wrong (EX_USAGE).
    case usage = 64
    /// An input file is malformed (EX_DATAERR).
    case badData = 65
    /// An input file is not there or cannot be read (EX_NOINPUT).
    case noInput = 66
    /// A device or a service is not available (EX_UNAVAILABLE).
    case unavailable = 69
    /// The system lacks something (EX_OSERR).
    case system = 71
    /// An output file cannot be written (EX_CANTCREAT).
    case cannotCreate = 73
    /// It was broken off and may be tried again (EX_TEMPFAIL).
    case temporary = 75
    /// Not allowed (EX_NOPERM).
    case permission = 77
    /// The configuration is wrong (EX_CONFIG).
    case configuration = 78
}

/// Why a command did not succeed.
struct CommandFailure: Error {
    let status: ExitStatus
    /// What is reported to standard error; one line at least, and a line break within one is spelt out.
    let lines: [String]

    init(_ status: ExitStatus, _ message: String) {
        self.init(status, lines: [message])
    }

    init(_ status: ExitStatus, lines: [String]) {
        self.status = status
        self.lines = lines.isEmpty ? [""] : lines
    }

    /// What the agent says of its start.
    init(_ error: AgentError) {
        let status: ExitStatus =
            switch error {
            case .sensor(let error): CommandFailure(error).status
            case .mqtt, .secretFile: .configuration
            case .embeddedBroker: .unavailable
            }
        self.init(status, "\(error)")
    }

    /// What stands between a program and a sensor.
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
        self.init(status, error.description(in: .agent))
    }

    /// What is wrong with a recording that was to be read.
    init(reading error: RecordingError) {
        switch error {
        case .system: self.init(.noInput, "\(error)")
        case .malformed: self.init(.badData, "\(error)")
        }
    }

    /// What is wrong with a file that was to be written.
    init(writing error: RecordingError) {
        self.init(.cannotCreate, "\(error)")
    }
}
