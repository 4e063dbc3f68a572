internal import JostleAgent
internal import JostleCommandLine
internal import LinuxSensors
internal import MotionKit

extension CommandFailure {
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
