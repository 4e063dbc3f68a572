internal import MotionCore

/// Which group of registers is compared with the table next, and when.
struct HealthCheck: BitwiseCopyable {
    /// The number of the group.
    private(set) var group = 0
    private var due = Timestamp(nanoseconds: 0)

    /// Samples begin to flow: the first group is due an interval from now.
    mutating func begin(at now: Timestamp) {
        group = 0
        due = now.advanced(bySeconds: DriverTiming.healthInterval)
    }

    /// Whether it is time for a look; if so, the next is due an interval on.
    mutating func isDue(at now: Timestamp) -> Bool {
        guard now >= due else { return false }
        due = now.advanced(bySeconds: DriverTiming.healthInterval)
        return true
    }

    /// The group is as it should be: goes on to the next of so many.
    mutating func advance(of groupCount: Int) {
        group = group + 1 < groupCount ? group + 1 : 0
    }
}
