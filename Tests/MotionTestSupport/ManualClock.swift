package import MotionCore

/// A clock that stands still until a test turns it.
package final class ManualClock: MonotonicClock {
    private var instant: Timestamp

    /// Makes a clock that shows `seconds`.
    package init(seconds: Double = 100) {
        instant = Timestamp(seconds: seconds)
    }

    /// The instant it was last turned to.
    package func now() -> Timestamp { instant }

    /// Turns it on by `seconds`.
    package func advance(bySeconds seconds: Double) {
        instant = instant.advanced(bySeconds: seconds)
    }

    /// Turns it to `timestamp`, never back.
    package func advance(to timestamp: Timestamp) {
        instant = max(instant, timestamp)
    }
}
