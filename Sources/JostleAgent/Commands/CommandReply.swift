internal import JostleMessages
internal import MosquittoClient

/// Where a command is answered: `…/command/<name>/result`, and the MQTT 5 response topic if that lies under
/// `<prefix>/_reply/`. Nowhere else, so that a requester cannot aim a device's messages.
struct ReplyAddress: Equatable, Sendable {
    private let topic: String
    private let responseTopic: String?
    private let correlationData: [UInt8]?

    /// Where a message is answered.
    init(to message: MQTTMessage, resultTopic: String, replyPrefix: String) {
        topic = resultTopic
        let wanted = message.properties.responseTopic
        responseTopic = wanted.flatMap { $0.hasPrefix(replyPrefix) && $0.utf8.count <= 256 ? $0 : nil }
        correlationData = message.properties.correlationData
    }

    /// The answer that the command is carried out, or what came of it; `time` is milliseconds since 1970.
    func messages(_ details: JSONObject, at time: Int64) -> [MQTTMessage] {
        var answer = JSONObject()
        answer.add("t", time)
        answer.add("ok", true)
        answer.add(contentsOf: details)
        return messages(answer)
    }

    /// The answer that the command is not carried out, or came to nothing, and why.
    func messages(refusing refusal: CommandRefusal, at time: Int64) -> [MQTTMessage] {
        var answer = JSONObject()
        answer.add("t", time)
        answer.add("ok", false)
        answer.add("error", refusal.code.rawValue)
        answer.add("message", refusal.message)
        return messages(answer)
    }

    private func messages(_ answer: JSONObject) -> [MQTTMessage] {
        var messages = [MQTTMessage(topic: topic, payload: answer.bytes, qos: .atLeastOnce, retain: false)]
        if let responseTopic {
            var response = MQTTMessage(topic: responseTopic, payload: answer.bytes, qos: .atLeastOnce, retain: false)
            response.properties.correlationData = correlationData
            messages.append(response)
        }
        return messages
    }
}

/// Answers a command, at once and as often as something comes of it, from any thread.
struct CommandReply: Sendable {
    /// Hands messages to the agent's loop, which publishes them.
    typealias Post = @Sendable ([MQTTMessage]) -> Void

    private let address: ReplyAddress
    private let post: Post

    init(to address: ReplyAddress, post: @escaping Post) {
        self.address = address
        self.post = post
    }

    /// Says that the command is carried out, or what came of it.
    func send(_ details: JSONObject) { post(address.messages(details, at: CommandReply.now)) }

    /// Says that the command is not carried out, or came to nothing, and why.
    func refuse(_ refusal: CommandRefusal) { post(address.messages(refusing: refusal, at: CommandReply.now)) }

    private static var now: Int64 { WallClock.milliseconds(at: WallClock.monotonic) }
}
