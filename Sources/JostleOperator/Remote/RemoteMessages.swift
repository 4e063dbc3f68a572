internal import JostleConfiguration
package import JostleMessages
package import MosquittoClient

/// What an agent answered to a command.
package struct RemoteAnswer: Sendable {
    /// Whether the command is carried out.
    package let isAccepted: Bool

    /// Why it is not: for programs, and for people.
    package let error: String?
    package let message: String?

    private let tree: ConfigurationNode

    /// Reads an answer.
    init(_ payload: [UInt8]) throws(RemoteDeviceError) {
        do throws(ConfigurationProblem) {
            tree = try JSONReader.read(payload, source: .message("answer"))
        } catch {
            throw .malformed("\(error)")
        }
        switch tree["ok"]?.text {
        case "true": isAccepted = true
        case "false": isAccepted = false
        default: throw .malformed(String(decoding: payload, as: UTF8.self))
        }
        error = tree["error"]?.text
        message = tree["message"]?.text
    }

    /// A field of the answer as text, where it is there.
    package func text(_ name: String) -> String? { tree[name]?.text }

    /// A field of the answer as a number, where it is one.
    package func number(_ name: String) -> Double? { tree[name]?.text.flatMap(Double.init) }
}

/// A phase of a gesture as a device published it.
package struct RemoteEvent: Sendable {
    /// The words of the gesture and of its phase.
    package let gesture: String
    package let phase: String

    /// Whether it was made up.
    package let isSimulated: Bool

    /// The whole message.
    package let json: String

    /// Reads an event; `nil` where the message is none.
    init?(_ payload: [UInt8]) {
        let tree: ConfigurationNode
        do throws(ConfigurationProblem) {
            tree = try JSONReader.read(payload, source: .message("event"))
        } catch {
            return nil
        }
        guard let gesture = tree["gesture"]?.text, let phase = tree["phase"]?.text else { return nil }
        self.gesture = gesture
        self.phase = phase
        isSimulated = tree["simulated"]?.text == "true"
        json = String(decoding: payload, as: UTF8.self)
    }
}

/// Why there is no answer from a remote device.
package enum RemoteDeviceError: Error, Sendable {
    /// The MQTT client turned its options down.
    case mqtt(MQTTError)
    /// A file with a secret cannot be used.
    case secretFile(SecretFileError)
    /// The configured broker belongs to one agent alone.
    case privateBroker
    /// The broker was not reached in time, and why, where that is known.
    case notConnected(String?)
    /// The broker does not let this user listen.
    case notAllowed(filter: String, reason: String)
    /// The device did not answer in time; what the broker knows of it.
    case silent(id: String, availability: String?)
    /// The answer is none.
    case malformed(String)
    /// A signal ended the wait.
    case interrupted
}

extension RemoteDeviceError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .mqtt(let error): return "\(error)"
        case .secretFile(let error): return "\(error)"
        case .privateBroker:
            return "mqtt.broker is embedded, which is another broker in each agent: name the agent's own, "
                + "--set mqtt.broker=mqtt://127.0.0.1:PORT"
        case .notConnected(let failure): return "the broker was not reached\(failure.map { ": \($0)" } ?? " in time")"
        case .notAllowed(let filter, let reason): return "may not subscribe to \(filter): \(reason)"
        case .silent(let id, nil): return "no answer: the broker knows no device \(id)"
        case .silent(let id, "offline"): return "no answer: \(id) is offline"
        case .silent(let id, _): return "no answer from \(id), although it is online; may this user send commands?"
        case .malformed(let reason): return "the answer makes no sense: \(reason)"
        case .interrupted: return "broken off"
        }
    }
}
