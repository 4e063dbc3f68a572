internal import MotionCore

/// Says how many of something that comes are dealt with: so many at once, then so many a second. A pure rule: time is what
/// the caller says.
struct CommandBudget {
    private let capacity: Double
    private let rate: Double
    private var tokens: Double
    private var last: Timestamp?

    /// Makes a budget of `capacity` at once and `rate` a second.
    init(capacity: Double, rate: Double) {
        self.capacity = capacity
        self.rate = rate
        tokens = capacity
    }

    /// Whether there is one left at `now`; it is then spent.
    mutating func spend(at now: Timestamp) -> Bool {
        tokens = min(capacity, tokens + rate * max(0, last.map { now.seconds(since: $0) } ?? 0))
        last = now
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }
}
