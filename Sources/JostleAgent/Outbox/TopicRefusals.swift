internal import MosquittoClient
internal import MotionCore

/// The topics to which the broker accepts no messages for now, and when it is asked again: a quota may free, or an
/// access list may be completed.
///
/// A topic is tried with one message at a time, ever later, while the others wait. So their order is kept, and a broker
/// that refuses a thousand messages is asked once. After the broker has accepted a message, the others follow one by
/// one for a while, because a quota may be used up again soon.
struct TopicRefusals {
    /// Seconds until the first retry, and the longest time between two.
    static let firstPause = 10.0
    static let longestPause = 600.0
    /// Seconds after the broker accepted messages again until it is trusted to accept several at once.
    private static let cautionTime = 60.0

    private struct Refusal {
        var failure: MQTTFailure
        var pause: Double
        var until: Timestamp
        /// The message to the topic that is on its way again. It may have left the queue meanwhile.
        var tried: DeliveryToken?
        /// When the broker accepted messages again; `nil` while it refuses them.
        var accepted: Timestamp?
        /// How often the broker began to refuse messages.
        var count = 1
    }

    private var refusals: [String: Refusal] = [:]

    /// Whether messages to no topic must wait.
    var isEmpty: Bool { refusals.isEmpty }

    /// The topics in alphabetical order, with the reason for each.
    var reasons: [(topic: String, failure: MQTTFailure)] {
        refusals.filter { $0.value.accepted == nil }.sorted { $0.key < $1.key }.map { ($0.key, $0.value.failure) }
    }

    /// Whether messages to a topic are sent one at a time, or not at all.
    func holds(_ topic: String) -> Bool { refusals[topic] != nil }

    /// Whether the broker accepts no messages to a topic.
    func refuses(_ topic: String) -> Bool { refusals[topic].map { $0.accepted == nil } ?? false }

    /// Whether the broker ended connections because of messages to a topic.
    func endsConnections(_ topic: String) -> Bool { refusals[topic].map { !$0.failure.concernsMessage } ?? false }

    /// When a topic is tried next; `nil` if none is.
    var nextTry: Timestamp? {
        refusals.values.filter { $0.tried == nil && $0.accepted == nil }.map(\.until).min()
    }

    /// Begins to try a topic with a message. Returns whether it is due.
    mutating func tries(_ topic: String, with token: DeliveryToken, at now: Timestamp) -> Bool {
        guard let refusal = refusals[topic], refusal.tried == nil, now >= refusal.until else { return false }
        refusals[topic]?.tried = token
        return true
    }

    /// A message is no longer on its way. Returns its topic if it was one that was tried.
    @discardableResult
    mutating func endTry(_ token: DeliveryToken) -> String? {
        guard let topic = refusals.first(where: { $0.value.tried == token })?.key else { return nil }
        refusals[topic]?.tried = nil
        return topic
    }

    /// The broker refused a message, which `wasTried` or was sent before the others had to wait.
    ///
    /// - Returns: how often the broker has begun to refuse messages to the topic, if it begins now; otherwise `nil`.
    mutating func refused(_ topic: String, _ failure: MQTTFailure, wasTried: Bool, at now: Timestamp) -> Int? {
        guard var refusal = refusals[topic] else {
            refusals[topic] = Refusal(
                failure: failure, pause: TopicRefusals.firstPause,
                until: now.advanced(bySeconds: TopicRefusals.firstPause))
            return 1
        }
        defer { refusals[topic] = refusal }
        refusal.failure = failure
        if refusal.accepted != nil {
            refusal.accepted = nil
            refusal.count += 1
            refusal.until = now.advanced(bySeconds: refusal.pause)
            return refusal.count
        }
        // Messages that were sent together are refused one after another: they count once.
        if wasTried {
            refusal.pause = min(2 * refusal.pause, TopicRefusals.longestPause)
            refusal.until = now.advanced(bySeconds: refusal.pause)
        }
        return nil
    }

    /// The broker accepted a message.
    ///
    /// - Returns: how often the broker has refused messages to the topic before, if it accepts them again from now on;
    ///   otherwise `nil`.
    mutating func accepted(_ topic: String, at now: Timestamp) -> Int? {
        guard let refusal = refusals[topic] else { return nil }
        guard let accepted = refusal.accepted else {
            refusals[topic]?.accepted = now
            refusals[topic]?.until = now
            return refusal.count
        }
        if now.seconds(since: accepted) >= TopicRefusals.cautionTime, refusal.tried == nil { refusals[topic] = nil }
        return nil
    }

    /// There is a new connection, maybe to another broker: every topic is due, except those because of which the broker
    /// ended a connection.
    mutating func connected(at now: Timestamp) {
        for (topic, refusal) in refusals {
            refusals[topic]?.tried = nil
            if refusal.failure.concernsMessage { refusals[topic]?.until = now }
        }
    }

    /// Forgets topics that are due but were not tried, because no message to them is left. Returns whether the broker
    /// refused messages to one of them.
    mutating func forgetUntried(at now: Timestamp) -> Bool {
        var hasForgotten = false
        refusals = refusals.filter { _, refusal in
            if refusal.tried != nil || now < refusal.until { return true }
            if let accepted = refusal.accepted { return now.seconds(since: accepted) < TopicRefusals.cautionTime }
            hasForgotten = true
            return false
        }
        return hasForgotten
    }
}
