/// A rate limiter: allows a burst, then a number of actions per second, and counts the actions it rejected.
///
/// A token bucket as in RFC 2697, section 3. It has no clock of its own; the caller passes the time.
package struct TokenBucket: Equatable, Sendable {
    private let capacity: Double
    private let rate: Double
    private var tokens: Double
    private var last: Timestamp?

    /// The number of rejected actions since the count was last taken.
    package private(set) var rejected = 0

    /// - Parameters:
    ///   - capacity: the largest burst; nothing is allowed if it is less than 1.
    ///   - rate: tokens added per second.
    package init(capacity: Double, rate: Double) {
        self.capacity = capacity
        self.rate = rate
        tokens = capacity
    }

    /// Spends a token and returns true if there is one at `now`; otherwise counts a rejection.
    package mutating func spend(at now: Timestamp) -> Bool {
        // An instant before the last one adds no tokens, now or later.
        let latest = last.map { max($0, now) } ?? now
        if let last { tokens = min(capacity, tokens + rate * latest.seconds(since: last)) }
        last = latest
        guard tokens >= 1 else {
            rejected += 1
            return false
        }
        tokens -= 1
        return true
    }

    /// Returns the number of rejections since the last call and resets it.
    package mutating func takeRejected() -> Int {
        defer { rejected = 0 }
        return rejected
    }
}
