internal import JostleConfiguration
package import JostleMessages
package import LinuxSensors
package import MosquittoClient
package import MotionKit

/// Why the agent cannot start.
package enum AgentError: Error, Sendable {
    /// The sensor cannot be opened or started.
    case sensor(SensorError)
    /// The MQTT client rejected its options.
    case mqtt(MQTTError)
    /// A file that contains a secret cannot be used.
    case secretFile(SecretFileError)
    /// `mqtt.broker` is `embedded`, and the embedded broker cannot be started.
    case embeddedBroker(EmbeddedBrokerError)
    /// Another agent uses the state directory.
    case stateInUse(directory: String, ChipLock.Holder)
}

extension AgentError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .sensor(let error): error.withSuggestion
        case .mqtt(let error): "\(error)"
        case .secretFile(let error): "\(error)"
        case .embeddedBroker(let error): "\(error)"
        case .stateInUse(let directory, let holder):
            """
            \(holder) uses the state directory \(directory); stop that agent first (the service: sudo systemctl stop \
            jostle), or give this one another directory: STATE_DIRECTORY=DIRECTORY jostle …
            """
        }
    }
}

extension SensorError {
    /// The description in the words of the agent, with the trajectory that was probably meant.
    package var withSuggestion: String {
        guard case .unknownTrajectory(let name, let known) = self else { return description(in: .agent) }
        return description(in: .agent) + EditDistance.suggestion(for: name, among: known)
    }
}
