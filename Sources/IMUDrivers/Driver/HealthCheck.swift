internal import MotionCore

/// A register, and the value that it had after the chip's reset.
struct KeptRegister: BitwiseCopyable {
    var register: RegisterAddress
    var value: RegisterValue
}

/// Selects the group of registers to compare with the table next, and schedules the comparison.
struct HealthCheck: BitwiseCopyable {
    /// The number of the next group.
    private(set) var group = 0
    private var due = Timestamp(nanoseconds: 0)

    /// How many groups are checked at a time, so that all have been after six times at most.
    static func groupsAtOnce(of count: Int) -> Int { (count + 5) / 6 }

    /// Starts the schedule: the first group is due one interval from now.
    mutating func begin(at now: Timestamp) {
        group = 0
        due = now.advanced(bySeconds: DriverTiming.healthInterval)
    }

    /// Whether a check is due. If so, schedules the next one.
    mutating func isDue(at now: Timestamp) -> Bool {
        guard now >= due else { return false }
        due = now.advanced(bySeconds: DriverTiming.healthInterval)
        return true
    }

    /// The group was correct: moves on to the next one.
    mutating func advance(of groupCount: Int) {
        group = group + 1 < groupCount ? group + 1 : 0
    }
}
