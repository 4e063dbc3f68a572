internal import Documents
internal import JostleConfiguration
internal import JostleMessages
internal import JostleRuntime
internal import MosquittoClient
internal import MotionCore

/// Receives commands on `…/command/<name>`: refuses a command with a reason, or passes it to the loop to be carried
/// out.
struct CommandHandler: Participant {
    static let owner = Owner.commands

    enum Request: Sendable {
        /// Carry out a command and reply to it.
        case carryOut(CommandRequest)
    }

    /// Limits the commands that are handled: a burst of ten, then two a second.
    private var budget: TokenBucket
    /// Limits the refusals that are sent for commands beyond `budget`.
    private var refusalBudget = TokenBucket(capacity: 3, rate: 0.5)

    /// Commands that were neither carried out nor answered since the last call of `takeUnanswered`.
    private(set) var unanswered = 0

    private let topics: Topics
    private let replyPrefix: String
    private let allowed: [JostleSettings.Command]

    init(
        topics: Topics, prefix: String, allowed: [JostleSettings.Command],
        budget: TokenBucket = TokenBucket(capacity: 10, rate: 2)
    ) {
        self.budget = budget
        self.topics = topics
        self.allowed = allowed
        replyPrefix = "\(prefix)/_reply/"
    }

    mutating func start(at now: ClockReading) -> Effects {
        // With the retain flag, a command that was retained by mistake is refused when it is published, not only when
        // it is delivered again after a reconnection. The empty message that clears it is not a command.
        [.subscribe(topics.command("+"), keepsRetainFlag: true)]
    }

    mutating func handle(_ event: ParticipantEvent, at now: ClockReading) -> Effects {
        guard case .message(let message) = event, let name = name(in: message.topic) else { return [] }
        let address = ReplyAddress(to: message, resultTopic: topics.result(of: name), replyPrefix: replyPrefix)
        guard budget.spend(at: now.monotonic) else {
            guard refusalBudget.spend(at: now.monotonic) else {
                unanswered += 1
                return []
            }
            let refusal = CommandRefusal(.tooMany, "too many commands: ten at once, then two a second")
            return CommandHandler.refuse(refusal, name, address, message, at: now)
        }
        do {
            guard !message.retain else {
                throw CommandRefusal(
                    .retained, "commands must not be retained: they would be repeated at every connection")
            }
            let command = try RemoteCommands.read(name, message.payload, allowed: allowed)
            return [
                .request(
                    .carryOut(
                        CommandRequest(
                            name: name, command: command, address: address, origin: CommandHandler.origin(of: message)))
                )
            ]
        } catch {
            return CommandHandler.refuse(CommandRefusal(error), name, address, message, at: now)
        }
    }

    /// Returns the number of unanswered commands and resets it.
    mutating func takeUnanswered() -> Int {
        defer { unanswered = 0 }
        return unanswered
    }

    private static func refuse(
        _ refusal: CommandRefusal, _ name: String, _ address: ReplyAddress, _ message: MQTTMessage,
        at now: ClockReading
    ) -> Effects {
        [.log(.warning, refusal.line(for: name) + origin(of: message))]
            + address.messages(refusing: refusal, at: now.wall).map { .publish($0) }
    }

    private func name(in topic: String) -> String? {
        let start = topics.command("")
        guard topic.hasPrefix(start) else { return nil }
        let name = topic.dropFirst(start.count)
        return name.isEmpty || name.contains("/") ? nil : String(name)
    }

    /// A description of a command's sender from the properties that the broker passes on. MQTT does not identify
    /// publishers.
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

/// A parsed command and its reply address.
package struct CommandRequest: Sendable {
    var name: String
    var command: any RemoteCommand
    var address: ReplyAddress
    /// The sender, for the log; see `CommandHandler.origin`.
    var origin: String
}

extension CommandRefusal {
    /// The log line for the refusal.
    func line(for name: String) -> String { "command \(String(name.prefix(64))) refused: \(message)" }
}

/// Where the replies to a command go: to `…/command/<name>/result`, and to the MQTT 5 response topic if that is under
/// `<prefix>/_reply/`. Other response topics are ignored, so that a requester cannot make the device publish to an
/// arbitrary topic.
///
/// All of them have the correlation data of the command. If it has none, that of the replies is empty: only a device that
/// speaks MQTT 3.1.1 replies without it, and then its result topic is all that a requester can go by.
struct ReplyAddress: Equatable, Sendable {
    private var topic: String?
    private let responseTopic: String?
    private let correlationData: [UInt8]

    /// The address without the result topic, which every client of the broker may read; `nil` without a response topic.
    var onResponseTopicOnly: ReplyAddress? {
        guard responseTopic != nil else { return nil }
        var address = self
        address.topic = nil
        return address
    }

    /// Takes the response topic and correlation data from `message`.
    init(to message: MQTTMessage, resultTopic: String, replyPrefix: String) {
        topic = resultTopic
        let wanted = message.properties.responseTopic
        responseTopic = wanted.flatMap { $0.hasPrefix(replyPrefix) && $0.utf8.count <= 256 ? $0 : nil }
        correlationData = message.properties.correlationData ?? []
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
        [topic, responseTopic].compactMap { $0 }.map { topic in
            MQTTMessage(
                topic: topic, payload: answer.bytes, qos: .atLeastOnce, retain: false,
                properties: .init(correlationData: correlationData))
        }
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

    /// Replies to the response topic only; `nil` without one.
    var onResponseTopicOnly: CommandReply? {
        address.onResponseTopicOnly.map { CommandReply(to: $0, post: post) }
    }

    /// Reports success, progress or a result.
    func send(_ details: JSONObject) { post(address.messages(details, at: CommandReply.now)) }

    /// Has the loop look at what its jobs have for it.
    func wake() { post([]) }

    /// Reports that the command was refused or failed.
    func refuse(_ refusal: CommandRefusal) { post(address.messages(refusing: refusal, at: CommandReply.now)) }

    private static var now: Int64 { WallClock.milliseconds(at: WallClock.monotonic) }
}
