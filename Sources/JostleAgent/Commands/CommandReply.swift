internal import JostleMessages
internal import MosquittoClient

/// Where the replies to a command go: to `…/command/<name>/result`, and to the MQTT 5 response topic if that is under
/// `<prefix>/_reply/`. Other response topics are ignored, so that a requester cannot make the device publish to an
/// arbitrary topic.
struct ReplyAddress: Equatable, Sendable {
    private let topic: String
    private let responseTopic: String?
    private let correlationData: [UInt8]?

    /// Takes the response topic and correlation data from `message`.
    init(to message: MQTTMessage, resultTopic: String, replyPrefix: String) {
        topic = resultTopic
        let wanted = message.properties.responseTopic
        responseTopic = wanted.flatMap { $0.hasPrefix(replyPrefix) && $0.utf8.count <= 256 ? $0 : nil }
        correlationData = message.properties.correlationData
    }

    /// The messages of a success reply with `details`; `time` is milliseconds since 1970.
    func messages(_ details: JSONObject, at time: Int64) -> [MQTTMessage] {
        var answer = JSONObject()
        answer.add("t", time)
        answer.add("ok", true)
        answer.add(contentsOf: details)
        return messages(answer)
    }

    /// The messages of a failure reply.
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

/// Sends replies to a command, from any thread, once or several times.
struct CommandReply: Sendable {
    /// Passes messages to the agent's loop, which publishes them.
    typealias Post = @Sendable ([MQTTMessage]) -> Void

    private let address: ReplyAddress
    private let post: Post

    init(to address: ReplyAddress, post: @escaping Post) {
        self.address = address
        self.post = post
    }

    /// Reports success, progress or a result.
    func send(_ details: JSONObject) { post(address.messages(details, at: CommandReply.now)) }

    /// Reports that the command was refused or failed.
    func refuse(_ refusal: CommandRefusal) { post(address.messages(refusing: refusal, at: CommandReply.now)) }

    private static var now: Int64 { WallClock.milliseconds(at: WallClock.monotonic) }
}
