public import MotionCore

/// A clock that stands still until a test turns it.
public final class ManualClock: MonotonicClock {
    private var instant: Timestamp

    /// Makes a clock that shows `seconds`.
    public init(seconds: Double = 100) {
        instant = Timestamp(seconds: seconds)
    }

    /// The instant it was last turned to.
    public func now() -> Timestamp { instant }

    /// Turns it on by `seconds`.
    public func advance(bySeconds seconds: Double) {
        instant = instant.advanced(bySeconds: seconds)
    }

    /// Turns it to `timestamp`, never back.
    public func advance(to timestamp: Timestamp) {
        instant = max(instant, timestamp)
    }
}
