public import JostleMessages
public import MosquittoClient
public import MotionKit

/// Why the agent cannot start.
public enum AgentError: Error, Sendable {
    /// The sensor cannot be used.
    case sensor(SensorError)
    /// The MQTT client turned its options down.
    case mqtt(MQTTError)
    /// A file with a secret cannot be used.
    case secretFile(SecretFileError)
    /// `mqtt.broker: embedded` needs a mosquitto, and there is none.
    case noBrokerProgram
    /// The embedded broker cannot be started, and why.
    case embeddedBroker(String)
}

extension AgentError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .sensor(let error): "\(error)"
        case .mqtt(let error): "\(error)"
        case .secretFile(let error): "\(error)"
        case .noBrokerProgram:
            "mqtt.broker is embedded, but there is no mosquitto: sudo apt install mosquitto, or name a broker's URL"
        case .embeddedBroker(let reason): "the embedded broker cannot be started: \(reason)"
        }
    }
}
