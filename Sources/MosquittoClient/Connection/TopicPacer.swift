/// Says when the next message of a topic may be sent, where topics are kept at intervals.
struct TopicPacer {
    typealias Instant = ContinuousClock.Instant

    private let spacing: MQTTSpacing?
    private var next: [String: Instant] = [:]

    init(_ spacing: MQTTSpacing?) {
        self.spacing = spacing
    }

    /// When a message of a topic may be sent; `nil` where that is now, which is then noted as done.
    mutating func delay(of topic: String, at now: Instant) -> Instant? {
        guard let spacing, topic.hasPrefix(spacing.prefix) else { return nil }
        if let due = next[topic], due > now { return due }
        // Only what a message still has to wait for is worth remembering.
        next = next.filter { $0.value > now }
        next[topic] = now + spacing.interval
        return nil
    }
}
