internal import MosquittoClient
internal import MotionCore

/// The topics to which the broker accepts no messages for now, and when it is asked again: a quota may free, or an
/// access list may be completed.
///
/// A topic is tried with one message at a time, ever later, while the others wait. So their order is kept, and a broker
/// that refuses a thousand messages is asked once.
struct TopicRefusals {
    /// Seconds until the first retry, and the longest time between two.
    static let firstPause = 10.0
    static let longestPause = 600.0

    private struct Refusal {
        var failure: MQTTFailure
        var pause: Double
        var until: Timestamp
        /// Whether a message to the topic is on its way again.
        var isBeingTried = false
    }

    private var refusals: [String: Refusal] = [:]

    var isEmpty: Bool { refusals.isEmpty }

    /// The topics in alphabetical order, with the reason for each.
    var reasons: [(topic: String, failure: MQTTFailure)] {
        refusals.sorted { $0.key < $1.key }.map { ($0.key, $0.value.failure) }
    }

    /// Whether messages to a topic must wait.
    func holds(_ topic: String) -> Bool { refusals[topic] != nil }

    /// When a topic is tried next; `nil` if none is.
    var nextTry: Timestamp? { refusals.values.filter { !$0.isBeingTried }.map(\.until).min() }

    /// The broker refused a message. Returns whether it is the first to its topic.
    mutating func refused(_ topic: String, _ failure: MQTTFailure, at now: Timestamp) -> Bool {
        var refusal = refusals[topic] ?? Refusal(failure: failure, pause: TopicRefusals.firstPause, until: now)
        let isFirst = refusals[topic] == nil
        // Messages that were sent together are refused one after another: they count once.
        if isFirst || refusal.isBeingTried {
            if !isFirst { refusal.pause = min(2 * refusal.pause, TopicRefusals.longestPause) }
            refusal.until = now.advanced(bySeconds: refusal.pause)
        }
        refusal.failure = failure
        refusal.isBeingTried = false
        refusals[topic] = refusal
        return isFirst
    }

    /// The broker accepted a message. Returns whether it had refused messages to the topic.
    mutating func accepted(_ topic: String) -> Bool { refusals.removeValue(forKey: topic) != nil }

    /// Begins to try a topic. Returns whether it is due.
    mutating func tries(_ topic: String, at now: Timestamp) -> Bool {
        guard let refusal = refusals[topic], !refusal.isBeingTried, now >= refusal.until else { return false }
        refusals[topic]?.isBeingTried = true
        return true
    }

    /// A message that was tried came back, and the broker has said nothing.
    mutating func wasNotTried(_ topic: String) { refusals[topic]?.isBeingTried = false }

    /// There is a new connection, maybe to another broker: every topic is due.
    mutating func connected(at now: Timestamp) {
        for topic in refusals.keys {
            refusals[topic]?.isBeingTried = false
            refusals[topic]?.until = now
        }
    }

    /// Forgets topics that are due but were not tried, because no message to them is left. Returns whether there were
    /// any.
    mutating func forgetUntried(at now: Timestamp) -> Bool {
        let before = refusals.count
        refusals = refusals.filter { $0.value.isBeingTried || now < $0.value.until }
        return refusals.count < before
    }
}
