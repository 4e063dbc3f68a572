internal import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient

/// Takes commands off MQTT, has them carried out, and sees to it that each is answered. For the main thread.
final class CommandDesk {
    /// Commands that are looked at: ten at once, then two a second; and of those beyond, how many are told so.
    private var budget: CommandBudget
    private var complaints = CommandBudget(capacity: 3, rate: 0.5)

    /// Commands that were neither carried out nor answered since the last call of `takeUnanswered`.
    private(set) var unanswered = 0

    private let topics: Topics
    private let replyPrefix: String
    private let host: CommandHost
    private let send: Publisher.Send

    init(
        topics: Topics, prefix: String, host: CommandHost, budget: CommandBudget = CommandBudget(capacity: 10, rate: 2),
        send: @escaping Publisher.Send
    ) {
        self.budget = budget
        self.topics = topics
        self.host = host
        self.send = send
        replyPrefix = "\(prefix)/_reply/"
    }

    /// Deals with a message that may be a command.
    func take(_ message: MQTTMessage) {
        guard let name = name(in: message.topic) else { return }
        let now = WallClock.monotonic
        let reply = CommandReply(
            to: message, resultTopic: topics.result(of: name), replyPrefix: replyPrefix, send: send)
        guard budget.spend(at: now) else {
            guard complaints.spend(at: now) else {
                unanswered += 1
                return
            }
            refuse(CommandRefusal(.tooMany, "too many commands: ten at once, then two a second"), name, reply)
            return
        }
        do throws(CommandRefusal) {
            guard !message.retain else {
                throw CommandRefusal(.retained, "commands must not be retained: they would be repeated")
            }
            let command = try RemoteCommands.read(name, message.payload, allowed: host.settings.commands.allow)
            let details = try command.carryOut(on: host, reply)
            host.log.info("command \(name)\(CommandDesk.origin(of: message))")
            reply.send(details)
            command.afterAnswer(on: host)
        } catch {
            refuse(error, name, reply)
        }
    }

    /// Begins to count anew.
    func takeUnanswered() -> Int {
        defer { unanswered = 0 }
        return unanswered
    }

    private func refuse(_ refusal: CommandRefusal, _ name: String, _ reply: CommandReply) {
        host.log.warning("command \(String(name.prefix(64))) refused: \(refusal.message)")
        reply.refuse(refusal)
    }

    private func name(in topic: String) -> String? {
        let start = topics.command("")
        guard topic.hasPrefix(start) else { return nil }
        let name = topic.dropFirst(start.count)
        return name.isEmpty || name.contains("/") ? nil : String(name)
    }

    /// Where a command comes from, as far as the broker passes it on: MQTT does not tell who published a message.
    static func origin(of message: MQTTMessage) -> String {
        var parts = message.properties.userProperties.map { "\($0.name.prefix(32))=\($0.value.prefix(64))" }
        if let topic = message.properties.responseTopic { parts.append("reply to \(topic.prefix(96))") }
        if let mark = message.properties.correlationData, !mark.isEmpty {
            let digits = mark.prefix(16).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
            parts.append("mark \(digits.joined())\(mark.count > 16 ? "…" : "")")
        }
        return parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))"
    }
}
