public import MotionCore

/// Decides which lines of a kind are written where they may come thick and fast: a loose wire must not fill a log.
///
/// A few may come at once, and then one every so often. The next that is written says how many were not.
public struct LineLimiter: Sendable {
    /// Lines that may come at once.
    public static let burst = 6.0

    /// Seconds after which another may.
    public static let interval = 20.0

    private var allowance = LineLimiter.burst
    private var last: Timestamp?
    private var leftOut = 0

    /// Makes a limiter that has seen no line.
    public init() {}

    /// Whether a line is written at `now`: with how many were left out since the last, or `nil` where it is left out.
    public mutating func admit(at now: Timestamp) -> Int? {
        if let last {
            let earned = max(0, now.seconds(since: last)) / LineLimiter.interval
            allowance = min(LineLimiter.burst, allowance + earned)
        }
        last = now
        guard allowance >= 1 else {
            leftOut += 1
            return nil
        }
        allowance -= 1
        defer { leftOut = 0 }
        return leftOut
    }
}
