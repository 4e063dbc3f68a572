internal import JostleMessages
internal import MosquittoClient

/// Where a command is answered, at once and as often as something comes of it: `…/command/<name>/result`, and the MQTT 5
/// response topic where that lies under `<prefix>/_reply/`. Nowhere else, so that a requester cannot aim a device's messages.
struct CommandReply: Sendable {
    private let topic: String
    private let responseTopic: String?
    private let correlationData: [UInt8]?
    private let send: Publisher.Send

    /// Makes the reply to a message.
    init(to message: MQTTMessage, resultTopic: String, replyPrefix: String, send: @escaping Publisher.Send) {
        topic = resultTopic
        let wanted = message.properties.responseTopic
        responseTopic = wanted.flatMap { $0.hasPrefix(replyPrefix) && $0.utf8.count <= 256 ? $0 : nil }
        correlationData = message.properties.correlationData
        self.send = send
    }

    /// Says that the command is carried out, or what came of it.
    func send(_ details: JSONObject) {
        var answer = JSONObject()
        answer.add("t", WallClock.milliseconds(at: WallClock.monotonic))
        answer.add("ok", true)
        answer.add(contentsOf: details)
        deliver(answer)
    }

    /// Says that the command is not carried out, or came to nothing, and why.
    func refuse(_ refusal: CommandRefusal) {
        var answer = JSONObject()
        answer.add("t", WallClock.milliseconds(at: WallClock.monotonic))
        answer.add("ok", false)
        answer.add("error", refusal.code.rawValue)
        answer.add("message", refusal.message)
        deliver(answer)
    }

    private func deliver(_ answer: JSONObject) {
        _ = send(MQTTMessage(topic: topic, payload: answer.bytes, qos: .atLeastOnce, retain: false), nil)
        guard let responseTopic else { return }
        var response = MQTTMessage(topic: responseTopic, payload: answer.bytes, qos: .atLeastOnce, retain: false)
        response.properties.correlationData = correlationData
        _ = send(response, nil)
    }
}
