internal import JostleConfiguration
package import JostleMessages
package import MosquittoClient

/// An agent's answer to a command.
package struct RemoteAnswer: Sendable {
    /// Whether the command was carried out.
    package let isAccepted: Bool

    /// Why the command was refused: a code for programs, and a sentence for people.
    package let error: String?
    package let message: String?

    /// The whole answer, JSON.
    package let payload: [UInt8]

    private let tree: ConfigurationNode

    /// - Throws: `malformed` if it is not an answer.
    package init(_ payload: [UInt8]) throws(RemoteDeviceError) {
        self.payload = payload
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

    /// A field of the answer as text; `nil` if it is absent.
    package func text(_ name: String) -> String? { tree[name]?.text }

    /// A field of the answer as a number; `nil` if it is absent or not a number.
    package func number(_ name: String) -> Double? { tree[name]?.text.flatMap(Double.init) }
}

/// A phase of a gesture, as a device published it.
package struct RemoteEvent: Sendable {
    /// The contract names of the gesture and of its phase.
    package let gesture: String
    package let phase: String

    /// Whether the agent simulated the event.
    package let isSimulated: Bool

    /// The whole message.
    package let json: String

    /// Returns `nil` if the message is not an event.
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

/// Why a remote device could not be reached or did not answer.
package enum RemoteDeviceError: Error, Sendable {
    /// The MQTT client rejected its options.
    case mqtt(MQTTError)
    /// A secret file cannot be used.
    case secretFile(SecretFileError)
    /// The configured broker is embedded in an agent, so that no other program can use it.
    case privateBroker
    /// The broker was not reached in time; with the last failure, if there was one.
    case notConnected(String?)
    /// The broker refused a subscription.
    case notAllowed(filter: String, reason: String)
    /// The device did not answer in time; with its availability at the broker.
    case silent(id: String, availability: String?)
    /// The broker knows no such device, but these.
    case unknown(id: String, known: [String])
    /// The answer cannot be parsed.
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
            return "mqtt.broker is embedded, so every agent has its own broker: name the agent's broker with "
                + "--set mqtt.broker=mqtt://127.0.0.1:PORT"
        case .notConnected(let failure): return "the broker was not reached\(failure.map { ": \($0)" } ?? " in time")"
        case .notAllowed(let filter, let reason): return "may not subscribe to \(filter): \(reason)"
        case .silent(let id, nil): return "no answer: the broker knows no device \(id)"
        case .silent(let id, "offline"): return "no answer: \(id) is offline"
        case .silent(let id, _): return "no answer from \(id), although it is online; may this user send commands?"
        case .unknown(let id, let known): return "no answer: \(RemoteDeviceError.unknownDevice(id, known: known))"
        case .malformed(let reason): return "the answer cannot be parsed: \(reason)"
        case .interrupted: return "interrupted"
        }
    }
}

extension RemoteDeviceError {
    /// That the broker does not know a device, which ones it knows, and which was probably meant.
    package static func unknownDevice(_ id: String, known: [String]) -> String {
        let names = known.prefix(10).joined(separator: ", ")
        let more = known.count > 10 ? " and \(known.count - 10) more" : ""
        let others = known.isEmpty ? "" : "; it knows \(names)\(more)"
        return "the broker knows no device \(id)\(others)\(EditDistance.suggestion(for: id, among: known))"
    }
}
