internal import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient
internal import MotionCore

/// Takes away what a device left at the broker under names that it had before.
///
/// Retained messages stay until somebody takes them away: a device that was renamed would be there twice for ever, once
/// offline. But a name may be another's by now, who got it or whose memory card was copied: nothing is touched while somebody
/// is online under it. What the broker does not allow is not tried again before the next start.
struct FormerNames: Participant {
    /// A message under way, by a number of its own: one of a former connection counts for nothing.
    struct Token: Hashable, Sendable {
        let number: Int
    }

    typealias Request = Never

    /// Seconds from the broker's consent until its retained message has come, and those without an answer.
    private static let reading = 0.3
    private static let patience = 2.0
    /// Seconds until what the client had no room for is handed to it again.
    private static let retry = 0.2

    private enum Phase: Equatable {
        case offline
        /// Whether somebody is online under it is being asked.
        case asking(until: Timestamp)
        /// Somebody is.
        case inUse
        case clearing(Clearing)
        case refused
    }

    /// What is being taken away.
    private struct Clearing: Equatable {
        /// Topics that are still to be cleared on this connection, and when to try those that did not go.
        var left: [String]
        var due: Timestamp?
        var underWay: [Token: String] = [:]
    }

    private struct Name {
        let topics: Topics
        var phase = Phase.offline
    }

    private var names: [Name]
    private var lastToken = 0
    private let current: String
    private var memory: RememberedTopics

    /// The names that the device had by what is remembered of it and by what it announced, without its present one.
    init(_ settings: JostleSettings, topics: Topics, memory: RememberedTopics, announced: Set<String>) {
        let known = Set(memory.topics.map { Topics(root: $0).device })
        let others = Set(announced.compactMap(DiscoveryMessage.device(ofTopic:))).subtracting(known)
        let former = memory.topics.union(others.map { Topics(prefix: settings.mqtt.prefix, id: $0).root })
        self.init(former.subtracting([topics.root]), current: topics.root, memory: memory)
    }

    init(_ roots: Set<String>, current: String, memory: RememberedTopics) {
        names = roots.sorted().map { Name(topics: Topics(root: $0)) }
        self.current = current
        self.memory = memory
    }

    /// The names under which something may still be.
    var roots: Set<String> { Set(names.map(\.topics.root)) }

    /// The devices' names, but for this one's, that somebody else has, or may have for all that is known yet.
    var spared: Set<String> {
        let others = names.compactMap { name in
            switch name.phase {
            case .offline, .asking, .inUse: name.topics.device
            case .clearing, .refused: nil
            }
        }
        return Set(others).subtracting([Topics(root: current).device])
    }

    // MARK: Events

    mutating func start(at now: ClockReading) -> Effects { remember() }

    mutating func handle(_ event: ParticipantEvent<Token>, at now: ClockReading) -> Effects {
        switch event {
        case .connected: return connected(at: now.monotonic)
        case .disconnected:
            disconnected()
            return []
        case .subscriptionAnswered(let filter):
            for index in names.indices where names[index].topics.availability == filter {
                guard case .asking = names[index].phase else { continue }
                names[index].phase = .asking(until: now.monotonic.advanced(bySeconds: FormerNames.reading))
            }
            return []
        case .message(let message): return hear(message, at: now.monotonic)
        case .acknowledged(let token): return acknowledged(token)
        case .rejected(let token, _, let failure): return rejected(token, failure)
        case .notSent(let tokens):
            notSent(tokens, at: now.monotonic)
            return []
        case .fileWritten(memory.file, let failure?):
            return [.log(.warning, "the device's name cannot be remembered: \(failure)")]
        case .fileWritten: return []
        }
    }

    private mutating func connected(at now: Timestamp) -> Effects {
        disconnected()
        var effects: Effects = []
        for index in names.indices where names[index].phase == .offline {
            names[index].phase = .asking(until: now.advanced(bySeconds: FormerNames.patience))
            effects.append(.subscribe(names[index].topics.availability))
        }
        return effects
    }

    /// The connection is lost, and with it what was under way.
    private mutating func disconnected() {
        for index in names.indices where names[index].phase != .refused { names[index].phase = .offline }
    }

    /// A message may say whether somebody is online.
    private mutating func hear(_ message: MQTTMessage, at now: Timestamp) -> Effects {
        guard let index = names.firstIndex(where: { $0.topics.availability == message.topic }) else { return [] }
        let wasInUse = names[index].phase == .inUse
        switch names[index].phase {
        case .asking, .inUse: break
        case .offline, .clearing, .refused: return []
        }
        guard message.payload == Array("online".utf8) else {
            names[index].phase = .asking(until: now)
            return []
        }
        names[index].phase = .inUse
        guard !wasInUse else { return [] }
        let root = names[index].topics.root
        return [
            .log(.info, "another device is online as \(root), as this one once was: what it says stays at the broker")
        ]
    }

    /// The broker has a message: with the last one nothing is left under its name.
    private mutating func acknowledged(_ token: Token) -> Effects {
        for index in names.indices {
            guard case .clearing(var clearing) = names[index].phase, clearing.underWay.removeValue(forKey: token) != nil
            else { continue }
            names[index].phase = .clearing(clearing)
            guard clearing.left.isEmpty, clearing.underWay.isEmpty else { return [] }
            let root = names.remove(at: index).topics.root
            return [.log(.info, "what was retained under the former name \(root) is taken away")] + remember()
        }
        return []
    }

    /// The broker does not take a message: with the first one its name is given up.
    private mutating func rejected(_ token: Token, _ failure: MQTTFailure) -> Effects {
        for index in names.indices {
            guard case .clearing(let clearing) = names[index].phase, clearing.underWay[token] != nil else { continue }
            names[index].phase = .refused
            let root = names[index].topics.root
            return [
                .log(
                    .warning,
                    "what was retained under the former name \(root) stays at the broker, which does not let this device "
                        + "take it away (\(failure.messageDescription)); who may can do it: mosquitto_pub -r -n -t \(root)/availability, "
                        + "and so on with state, health and config/reported")
            ]
        }
        return []
    }

    private mutating func notSent(_ tokens: [Token], at now: Timestamp) {
        for index in names.indices {
            guard case .clearing(var clearing) = names[index].phase else { continue }
            let back = tokens.compactMap { clearing.underWay.removeValue(forKey: $0) }
            guard !back.isEmpty else { continue }
            clearing.left += back
            clearing.due = now.advanced(bySeconds: FormerNames.retry)
            names[index].phase = .clearing(clearing)
        }
    }

    // MARK: What is due

    var nextDeadline: Timestamp? {
        names.compactMap { name in
            switch name.phase {
            case .asking(let end): end
            case .clearing(let clearing): clearing.due
            case .offline, .inUse, .refused: nil
            }
        }.min()
    }

    mutating func handleDeadline(at now: ClockReading) -> Effects {
        var effects: Effects = []
        for index in names.indices {
            var clearing: Clearing
            switch names[index].phase {
            case .asking(let end) where now.monotonic >= end:
                effects.append(.unsubscribe(names[index].topics.availability))
                clearing = Clearing(left: names[index].topics.retained)
            case .clearing(let present):
                guard let due = present.due, now.monotonic >= due else { continue }
                clearing = present
            case .asking, .offline, .inUse, .refused: continue
            }
            for topic in clearing.left {
                lastToken += 1
                let token = Token(number: lastToken)
                clearing.underWay[token] = topic
                effects.append(.publish(MQTTMessage(topic: topic, text: "", qos: .atLeastOnce, retain: true), token))
            }
            clearing.left = []
            clearing.due = nil
            names[index].phase = .clearing(clearing)
        }
        return effects
    }

    /// Remembers the names under which something is.
    private mutating func remember() -> Effects {
        memory.remember(roots.union([current])).map { [.write(memory.file, $0)] } ?? []
    }
}
