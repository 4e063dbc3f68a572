internal import Documents
internal import JostleConfiguration
internal import JostleMessages
package import LinuxSystem
internal import MosquittoClient

/// An agent's answer to a command.
package struct RemoteAnswer: Sendable {
    /// Whether the command was carried out.
    package let isAccepted: Bool

    /// Why the command was refused: a code for programs, and a sentence for people.
    package let error: String?
    package let message: String?

    /// The whole answer, JSON.
    package let payload: [UInt8]

    private let tree: JSONValue

    /// - Throws: `malformed` if it is not an answer.
    package init(_ payload: [UInt8]) throws {
        self.payload = payload
        do {
            tree = try JSONReader.read(payload, source: .message("answer"))
        } catch {
            throw BrokerError.malformed("\(error)")
        }
        switch tree["ok"]?.text {
        case "true": isAccepted = true
        case "false": isAccepted = false
        default: throw BrokerError.malformed(String(decoding: payload, as: UTF8.self))
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
        let tree: JSONValue
        do {
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

extension RemoteAnswer {
    /// The refusal of a command, as a failure.
    package var refusal: Failure {
        let status: ExitStatus =
            switch error {
            case "bad_arguments": .usage
            case "busy", "too_many": .temporary
            case "not_allowed": .permission
            default: .unavailable
            }
        return Failure(status, message ?? "refused: \(error ?? "no reason given")")
    }
}
