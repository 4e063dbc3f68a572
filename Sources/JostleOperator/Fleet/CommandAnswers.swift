internal import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient

/// The answers of many devices to one command.
package struct CommandAnswers: Sendable {
    /// A device's answer.
    package enum Answer: Sendable {
        case answered(RemoteAnswer, json: String)
        /// The answer cannot be parsed, and why.
        case malformed(String)
    }

    /// The answers so far, by device.
    package private(set) var answers: [String: Answer] = [:]

    /// The devices that were asked, by the correlation data of their question and by the topic of their answer.
    private var idsByCorrelation: [[UInt8]: String] = [:]
    private var idsByTopic: [String: String] = [:]
    private let replyTopic: String?

    /// Expects answers on `replyTopic` with the correlation data; without a reply topic, on the devices' result topics.
    init(replyTopic: String?) {
        self.replyTopic = replyTopic
    }

    /// Expects an answer of a device.
    ///
    /// The correlation data must not be guessable by other devices, which read the same reply topic's name.
    mutating func expect(_ id: String, correlation: [UInt8], resultTopic: String) {
        idsByCorrelation[correlation] = id
        idsByTopic[resultTopic] = id
    }

    /// Takes a message; others than answers are ignored.
    mutating func take(_ message: MQTTMessage) {
        let id: String?
        if let replyTopic {
            guard message.topic == replyTopic, let correlation = message.properties.correlationData else { return }
            id = idsByCorrelation[correlation]
        } else {
            id = message.retain ? nil : idsByTopic[message.topic]
        }
        guard let id, answers[id] == nil else { return }
        do throws(RemoteDeviceError) {
            let answer = try RemoteAnswer(message.payload)
            answers[id] = .answered(answer, json: String(decoding: message.payload, as: UTF8.self))
        } catch {
            answers[id] = .malformed(MessageFields.bounded("\(error)"))
        }
    }

    /// Whether every device has answered.
    package var isComplete: Bool { answers.count == idsByCorrelation.count }
}
