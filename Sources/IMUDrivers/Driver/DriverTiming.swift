internal import MotionCore

/// Time limits and intervals of the driver that are the same for every chip, in seconds unless stated otherwise.
enum DriverTiming {
    /// How long after its reset a chip may reject writes: an MPU-6050's registers take 100 ms from power-up
    /// (PS-MPU-6000A-00 r3.4, 6.3).
    static var registerTimeout: Double { 0.15 }
    /// Interval between checks of the configuration registers, one group per check.
    static var healthInterval: Double { 0.1 }
    /// Interval between temperature reads, if the FIFO does not carry the temperature.
    static var temperatureInterval: Double { 1 }
    /// Without a sample for this many periods, and for at least `shortestStall`, the chip counts as stalled.
    static var stalledPeriods: Double { 5 }
    static var shortestStall: Double { 0.05 }
    /// After identical frames for this long the chip counts as frozen: noise alone changes some bit in every frame.
    static var frozenAfter: Double { 0.5 }
    /// The same limit for high rates, in frames. At most this many frames are held back.
    static var mostFrozen: Double { 64 }
    /// This many frames beyond what chance can repeat prove that the chip is frozen.
    static var certainlyFrozen: Double { 4 }
    /// How long the bus may fail before the chip is brought up again, provided that the FIFO can still hold the data.
    static var busTimeout: Double { 0.25 }
    static var shortestBusTimeout: Double { 0.06 }
    /// How long the host or the bus may be busy after a pause at rest without a loss, seconds: 0.1 s, as in motion, and the
    /// time to read the FIFO.
    static var restingReserve: Double { 0.12 }
    /// Pauses between bring-up attempts, doubling from the first to the last. A probe of a bus that does not answer
    /// takes less than a millisecond, so a chip that is plugged in again need not wait longer.
    static var firstBackoff: Double { 0.025 }
    static var longestBackoff: Double { 0.2 }
    /// The operating range of such chips plus a margin, °C. Temperatures read from misaligned frames mostly fall
    /// outside it.
    static var plausibleTemperatures: ClosedRange<Double> { -45...90 }
    /// The largest temperature change between consecutive frames, °C. ArduPilot uses the same 800 counts.
    static var temperatureJump: Double { 800.0 / 340 }
}

/// A register, and the value that it had after the chip's reset.
struct KeptRegister: BitwiseCopyable {
    var register: RegisterAddress
    var value: RegisterValue
}

/// Selects the group of registers to compare with the table next, and schedules the comparison.
struct HealthCheck: BitwiseCopyable {
    /// The number of the next group.
    private(set) var group = 0
    private var last = Timestamp(nanoseconds: 0)
    /// When the last poll asked whether a check is due.
    private var asked = Timestamp(nanoseconds: 0)

    /// How many groups are checked in an interval, so that all have been after six at most.
    static func groupsAtOnce(of count: Int) -> Int { (count + 5) / 6 }

    /// Starts the schedule: the first group is due one interval from now.
    mutating func begin(at now: Timestamp) {
        group = 0
        last = now
        asked = now
    }

    /// Whether a check is due. If polls are as far apart as at rest, it is with the poll that is nearest to the end of the
    /// interval: otherwise there would be half as many, of twice as many groups, and only one travels with the count.
    mutating func isDue(at now: Timestamp) -> Bool {
        let pause = now.seconds(since: asked)
        asked = now
        let interval = DriverTiming.healthInterval
        return now >= last.advanced(bySeconds: pause > interval / 2 ? interval - pause / 2 : interval)
    }

    /// How many of `count` groups are to be checked now, when a check is due: more if the last check was longer ago, so that
    /// no group goes unchecked for much more than half a second.
    mutating func takeDue(at now: Timestamp, of count: Int) -> Int {
        let intervals = min(6, now.seconds(since: last) / DriverTiming.healthInterval)
        last = now
        return min(Int(intervals.rounded()) * HealthCheck.groupsAtOnce(of: count), count)
    }

    /// The group was correct: moves on to the next one.
    mutating func advance(of groupCount: Int) {
        group = group + 1 < groupCount ? group + 1 : 0
    }
}
