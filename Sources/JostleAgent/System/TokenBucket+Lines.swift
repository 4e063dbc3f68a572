internal import MotionCore

// Which lines of a kind are logged if they may come thick and fast: a loose wire must not fill a log.
extension TokenBucket {
    /// Seconds after which another line may be logged.
    static let lineInterval = 20.0

    /// A limit for lines: six at once, then one every twenty seconds.
    static var lines: TokenBucket { TokenBucket(capacity: 6, rate: 1 / lineInterval) }

    /// Whether a line is logged at `now`: with how many were left out since the last one, or `nil` if it is left out as well.
    mutating func admit(at now: Timestamp) -> Int? { spend(at: now) ? takeRejected() : nil }
}
