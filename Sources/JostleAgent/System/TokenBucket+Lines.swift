package import MotionCore

// A rate limit for log lines that may come in large numbers, such as those of a loose wire.
extension TokenBucket {
    /// Seconds per line after the burst.
    static let lineInterval = 20.0

    /// A limit of six lines in a burst, then one every twenty seconds.
    package static var lines: TokenBucket { TokenBucket(capacity: 6, rate: 1 / lineInterval) }

    /// Whether a line is logged at `now`: returns the number of lines suppressed since the last one, or `nil` to
    /// suppress this line.
    package mutating func admit(at now: Timestamp) -> Int? { spend(at: now) ? takeRejected() : nil }
}
