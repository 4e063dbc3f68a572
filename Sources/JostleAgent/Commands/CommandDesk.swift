internal import MosquittoClient

/// Takes commands off MQTT, has them carried out and answers them.
///
/// Every command is answered on `…/command/<name>/result`, and on the MQTT 5 response topic where that lies under
/// `<prefix>/_reply/`: nowhere else, so that a requester cannot aim a device's messages.
struct CommandDesk {
    private let topics: Topics
    private let replyPrefix: String
    private let host: CommandHost
    private let log: Log
    private let send: Publisher.Send

    init(topics: Topics, prefix: String, host: CommandHost, log: Log, send: @escaping Publisher.Send) {
        self.topics = topics
        self.host = host
        self.log = log
        self.send = send
        replyPrefix = "\(prefix)/_reply/"
    }

    /// Deals with a message that may be a command.
    func take(_ message: MQTTMessage) {
        guard let name = name(in: message.topic) else { return }
        var answer = JSONObject()
        answer.add("t", WallClock.milliseconds(at: WallClock.monotonic))
        do throws(CommandRefusal) {
            guard !message.retain else {
                throw CommandRefusal(.retained, "commands must not be retained: they would be repeated")
            }
            let details = try RemoteCommands.read(name, message.payload).carryOut(on: host)
            log.info("command \(name)")
            answer.add("ok", true)
            answer.add(contentsOf: details)
        } catch {
            log.warning("command \(name) refused: \(error.message)")
            answer.add("ok", false)
            answer.add("error", error.code.rawValue)
            answer.add("message", error.message)
        }
        reply(answer, to: message, name: name)
    }

    private func name(in topic: String) -> String? {
        let start = topics.command("")
        guard topic.hasPrefix(start) else { return nil }
        let name = topic.dropFirst(start.count)
        return name.isEmpty || name.contains("/") ? nil : String(name)
    }

    private func reply(_ answer: JSONObject, to message: MQTTMessage, name: String) {
        _ = send(
            MQTTMessage(topic: topics.result(of: name), payload: answer.bytes, qos: .atLeastOnce, retain: false), nil)
        guard let topic = message.properties.responseTopic, topic.hasPrefix(replyPrefix) else { return }
        var response = MQTTMessage(topic: topic, payload: answer.bytes, qos: .atLeastOnce, retain: false)
        response.properties.correlationData = message.properties.correlationData
        _ = send(response, nil)
    }
}
