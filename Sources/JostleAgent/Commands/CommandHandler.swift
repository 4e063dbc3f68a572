internal import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient
internal import MotionCore

/// Receives commands on `…/command/<name>`: refuses a command with a reason, or passes it to the loop to be carried
/// out.
struct CommandHandler: Participant {
    typealias Token = Never

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

    mutating func handle(_ event: ParticipantEvent<Never>, at now: ClockReading) -> Effects {
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
        do throws(CommandRefusal) {
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
            return CommandHandler.refuse(error, name, address, message, at: now)
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
struct CommandRequest: Sendable {
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
