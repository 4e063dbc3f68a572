/// Limits how often something is done: so many times at once, then so many a second, and counts what that left out.
///
/// A token bucket as in RFC 2697, section 3. A pure rule: time is what the caller says.
package struct TokenBucket: Equatable, Sendable {
    private let capacity: Double
    private let rate: Double
    private var tokens: Double
    private var last: Timestamp?

    /// How many were left out since the count was last taken.
    package private(set) var leftOut = 0

    /// - Parameters:
    ///   - capacity: how many may be spent at once; a smaller one than 1 lets nothing through.
    ///   - rate: how many come back a second.
    package init(capacity: Double, rate: Double) {
        self.capacity = capacity
        self.rate = rate
        tokens = capacity
    }

    /// Whether there is a token at `now`: it is then spent, else one more was left out.
    package mutating func spend(at now: Timestamp) -> Bool {
        // An instant before the last one earns nothing, now or later.
        let latest = last.map { max($0, now) } ?? now
        if let last { tokens = min(capacity, tokens + rate * latest.seconds(since: last)) }
        last = latest
        guard tokens >= 1 else {
            leftOut += 1
            return false
        }
        tokens -= 1
        return true
    }

    /// How many were left out since the last call, for a line that says so.
    package mutating func takeLeftOut() -> Int {
        defer { leftOut = 0 }
        return leftOut
    }
}
