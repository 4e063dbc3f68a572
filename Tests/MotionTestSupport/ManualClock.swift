package import MotionCore

/// A clock that a test advances.
package final class ManualClock: MonotonicClock {
    private var instant: Timestamp

    /// The clock starts at `seconds`.
    package init(seconds: Double = 100) {
        instant = Timestamp(seconds: seconds)
    }

    /// The current instant.
    package func now() -> Timestamp { instant }

    /// Advances the clock by `seconds`.
    package func advance(bySeconds seconds: Double) {
        instant = instant.advanced(bySeconds: seconds)
    }

    /// Advances the clock to `timestamp`, never back.
    package func advance(to timestamp: Timestamp) {
        instant = max(instant, timestamp)
    }
}
