internal import JostleMessages
internal import MosquittoClient
internal import MotionCore

/// Takes away what a device left at the broker under names that it had before: a state machine without thread, clock and
/// connection.
///
/// Retained messages stay until somebody takes them away: a device that was renamed would be there twice for ever, once
/// offline. But a name may be another's by now, who got it or whose memory card was copied: where somebody is online under
/// it nothing is touched. What the broker does not allow is not tried again before the next start.
struct FormerNames {
    /// Seconds from the broker's consent to tell until its retained message has come, and those without an answer.
    private static let reading = 0.3
    private static let patience = 2.0

    /// How the tokens differ from those of events, which do not count so far, and of announcements, which begin later.
    private static let tokens: Range<UInt64> = 1 << 61..<1 << 62

    private enum Phase: Equatable {
        case offline
        /// Whether somebody is online under it is asked.
        case asking(until: Timestamp)
        /// Somebody is.
        case inUse
        case clearing
        case refused
    }

    private struct Name {
        let topics: Topics
        var phase = Phase.offline
        /// What is still to be taken away on this connection, and what is under way.
        var left: [String] = []
        var underWay: Set<MQTTToken> = []
    }

    private var names: [Name]
    private var lastToken = FormerNames.tokens.lowerBound

    /// The names are those that topics begin with: prefix and device.
    init(_ roots: Set<String>) {
        names = roots.sorted().map { Name(topics: Topics(root: $0)) }
    }

    /// The names under which something may still be.
    var roots: Set<String> { Set(names.map(\.topics.root)) }

    /// The devices' names that somebody else has, or may have for all that is known yet.
    var spared: Set<String> {
        Set(
            names.compactMap { name in
                switch name.phase {
                case .offline, .asking, .inUse: name.topics.device
                case .clearing, .refused: nil
                }
            })
    }

    // MARK: What happened

    /// A connection was made.
    ///
    /// - Returns: what to subscribe to.
    mutating func connected(at now: Timestamp) -> [String] {
        disconnected()
        var filters: [String] = []
        for index in names.indices where names[index].phase == .offline {
            names[index].phase = .asking(until: now.advanced(bySeconds: FormerNames.patience))
            filters.append(names[index].topics.availability)
        }
        return filters
    }

    /// The connection is lost, and with it what was under way.
    mutating func disconnected() {
        for index in names.indices where names[index].phase != .refused {
            names[index].phase = .offline
            names[index].left = []
            names[index].underWay = []
        }
    }

    /// The broker agreed, or refused, to tell of a filter.
    mutating func answered(_ filter: String, at now: Timestamp) {
        for index in names.indices where names[index].topics.availability == filter {
            guard case .asking = names[index].phase else { continue }
            names[index].phase = .asking(until: now.advanced(bySeconds: FormerNames.reading))
        }
    }

    /// What a message says about a name.
    enum Finding: Equatable {
        /// It is about none of them.
        case unrelated
        case nothing
        /// Somebody else is online under this name.
        case inUse(String)
    }

    /// Deals with a message that may tell whether somebody is online.
    mutating func take(_ message: MQTTMessage, at now: Timestamp) -> Finding {
        guard let index = names.firstIndex(where: { $0.topics.availability == message.topic }) else {
            return .unrelated
        }
        switch names[index].phase {
        case .asking, .inUse: break
        case .offline, .clearing, .refused: return .nothing
        }
        guard message.payload == Array("online".utf8) else {
            names[index].phase = .asking(until: now)
            return .nothing
        }
        let isNews = names[index].phase != .inUse
        names[index].phase = .inUse
        return isNews ? .inUse(names[index].topics.root) : .nothing
    }

    /// What the broker's word on a message means.
    struct Answer: Equatable {
        /// Whether the message is one of these.
        var isOurs: Bool
        /// The name that is done with by it, cleared or refused.
        var root: String?
    }

    /// The broker has a message: with the last one nothing is left under its name.
    mutating func acknowledged(_ token: MQTTToken) -> Answer {
        guard let index = names.firstIndex(where: { $0.underWay.contains(token) }) else {
            return Answer(isOurs: FormerNames.tokens.contains(token.rawValue))
        }
        names[index].underWay.remove(token)
        guard names[index].phase == .clearing, names[index].left.isEmpty, names[index].underWay.isEmpty else {
            return Answer(isOurs: true)
        }
        return Answer(isOurs: true, root: names.remove(at: index).topics.root)
    }

    /// The broker does not take a message: with the first one its name is given up.
    mutating func rejected(_ token: MQTTToken) -> Answer {
        guard let index = names.firstIndex(where: { $0.underWay.contains(token) }) else {
            return Answer(isOurs: FormerNames.tokens.contains(token.rawValue))
        }
        names[index].underWay.remove(token)
        guard names[index].phase == .clearing else { return Answer(isOurs: true) }
        names[index].phase = .refused
        names[index].left = []
        return Answer(isOurs: true, root: names[index].topics.root)
    }

    // MARK: What to do

    /// What is due.
    struct Work {
        /// What need not be heard any more.
        var unsubscriptions: [String] = []
        var messages: [(message: MQTTMessage, token: MQTTToken)] = []
    }

    /// When there is something to do although nothing more happens; `nil` where there is not.
    var nextWork: Timestamp? {
        names.compactMap { name in
            if case .asking(let end) = name.phase { end } else { nil }
        }.min()
    }

    /// What is due at `now`. Each message is to be handed to `sent` once the client took it; what it did not take is due
    /// again.
    mutating func work(at now: Timestamp) -> Work {
        var work = Work()
        for index in names.indices {
            if case .asking(let end) = names[index].phase, now >= end {
                names[index].phase = .clearing
                names[index].left = names[index].topics.retained
                work.unsubscriptions.append(names[index].topics.availability)
            }
            for topic in names[index].left {
                lastToken += 1
                work.messages.append(
                    (
                        MQTTMessage(topic: topic, text: "", qos: .atLeastOnce, retain: true),
                        MQTTToken(rawValue: lastToken)
                    ))
            }
        }
        return work
    }

    /// A message was taken by the client.
    mutating func sent(_ message: MQTTMessage, _ token: MQTTToken) {
        guard let index = names.firstIndex(where: { $0.left.contains(message.topic) }) else { return }
        names[index].left.removeAll { $0 == message.topic }
        names[index].underWay.insert(token)
    }
}
