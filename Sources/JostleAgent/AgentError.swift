package import JostleMessages
package import MosquittoClient
package import MotionKit

/// Why the agent cannot start.
package enum AgentError: Error, Sendable {
    /// The sensor cannot be used.
    case sensor(SensorError)
    /// The MQTT client turned its options down.
    case mqtt(MQTTError)
    /// A file with a secret cannot be used.
    case secretFile(SecretFileError)
    /// `mqtt.broker` is `embedded`, and that broker does not run.
    case embeddedBroker(EmbeddedBrokerError)
}

extension AgentError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .sensor(let error): error.description(in: .agent)
        case .mqtt(let error): "\(error)"
        case .secretFile(let error): "\(error)"
        case .embeddedBroker(let error): "\(error)"
        }
    }
}
