/// Determines when the next message on a topic may be sent, for topics whose messages are spaced in time.
struct TopicPacer {
    typealias Instant = ContinuousClock.Instant

    private let spacing: MQTTSpacing?
    private var next: [String: Instant] = [:]

    init(_ spacing: MQTTSpacing?) {
        self.spacing = spacing
    }

    /// When a message on a topic may be sent. `nil` means now; the message is then recorded as sent.
    mutating func delay(of topic: String, at now: Instant) -> Instant? {
        guard let spacing, topic.hasPrefix(spacing.prefix) else { return nil }
        if let due = next[topic], due > now { return due }
        // Expired entries are of no further use.
        next = next.filter { $0.value > now }
        next[topic] = now + spacing.interval
        return nil
    }
}
