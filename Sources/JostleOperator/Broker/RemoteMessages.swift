package import Documents
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
    package init(_ payload: [UInt8]) throws(BrokerError) {
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

    /// A field of the answer; `nil` if it is absent.
    package func value(_ name: String) -> JSONValue? { tree[name] }

    /// A field of the answer as a number; `nil` if it is absent or not a number.
    package func number(_ name: String) -> Double? { tree[name]?.text.flatMap(Double.init) }
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

/// The answers of devices to one command, on the reply topic or on the command's result topics.
///
/// A device that speaks MQTT 5 puts correlation data into every answer; one of Jostle 0.1.0 not into those on its result
/// topic, so the answer to somebody else who sends the same command at that moment may be taken. A device that speaks 3.1.1
/// gets neither a reply topic nor correlation data from its broker, and answers on its result topic only.
package struct CommandAnswers: Sendable {
    /// The answers so far, by device; or why one cannot be parsed.
    package private(set) var answers: [String: Result<RemoteAnswer, BrokerError>] = [:]
    /// Answers after the first of a device, not taken yet.
    private var later: [Result<RemoteAnswer, BrokerError>] = []
    /// The last answer of each device: it comes on both topics.
    private var last: [String: [UInt8]] = [:]
    private static let mostLater = 1000

    /// The devices that were asked, by the correlation data of their question and by the topic of their answer.
    private var idsByCorrelation: [[UInt8]: String] = [:]
    private var idsByTopic: [String: String] = [:]
    private let replyTopic: String?

    /// Expects answers; `replyTopic` is `nil` if this program speaks MQTT 3.1.1.
    init(replyTopic: String?) {
        self.replyTopic = replyTopic
    }

    /// Expects an answer of a device.
    ///
    /// The correlation data must not be guessable by other devices, which may write to the reply topic.
    mutating func expect(_ id: String, correlation: [UInt8], resultTopic: String) {
        idsByCorrelation[correlation] = id
        idsByTopic[resultTopic] = id
    }

    /// A command to a device, whose answer is expected from now on.
    mutating func command(
        _ name: String, _ arguments: [UInt8], to topics: Topics, lifetime: Double = 10
    ) -> MQTTMessage {
        let correlation = Array(RunName.new().utf8)
        expect(topics.device, correlation: correlation, resultTopic: topics.result(of: name))
        var message = BrokerView.request(topics.command(name), arguments, lifetime: lifetime)
        message.properties.responseTopic = replyTopic
        message.properties.correlationData = correlation
        return message
    }

    /// Takes a message; others than answers are ignored.
    mutating func take(_ message: MQTTMessage) {
        guard !message.retain else { return }
        let id = message.properties.correlationData.map { idsByCorrelation[$0] } ?? idsByTopic[message.topic]
        guard let id, last.updateValue(message.payload, forKey: id) != message.payload else { return }
        guard answers[id] == nil || later.count < CommandAnswers.mostLater else { return }
        let answer = Result { () throws(BrokerError) in try RemoteAnswer(message.payload) }
        if answers[id] == nil { answers[id] = answer } else { later.append(answer) }
    }

    /// Returns and removes the answers that a device has sent after its first one.
    mutating func takeLater() -> [Result<RemoteAnswer, BrokerError>] {
        defer { later = [] }
        return later
    }

    /// Whether every device has answered.
    package var isComplete: Bool { answers.count == idsByCorrelation.count }
}
