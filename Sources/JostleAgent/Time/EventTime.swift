internal import MotionCore

/// When an event was measured: the time since boot, and the wall-clock time as known then.
///
/// A board without a battery-backed clock starts with a wrong time, which is set later. Within one boot, the time since
/// boot yields the true time of earlier events. For an earlier boot, the last stored time is the best estimate.
struct EventTime: Equatable, Sendable {
    var boot: String
    /// Of CLOCK_BOOTTIME.
    var sinceBoot: Timestamp
    /// Milliseconds since 1970.
    var wall: Int64
    var isClockSet: Bool

    init(boot: String, sinceBoot: Timestamp, wall: Int64, isClockSet: Bool) {
        self.boot = boot
        self.sinceBoot = sinceBoot
        self.wall = wall
        self.isClockSet = isClockSet
    }

    /// The time of an instant in this boot, such as that of a sample.
    init(_ instant: Timestamp, _ clocks: ClockReading) {
        let age = (clocks.monotonic.nanoseconds - instant.nanoseconds) / 1_000_000
        self.init(boot: clocks.boot, sinceBoot: instant, wall: clocks.wall - age, isClockSet: clocks.isSet)
    }

    /// The time as corrected by the current clocks. It changes only within the boot of the measurement, and only if the
    /// clock was set since. Slewing of a synchronised clock is ignored, so that an event that is sent twice has the
    /// same time both times.
    func corrected(_ clocks: ClockReading) -> EventTime {
        guard boot == clocks.boot else { return self }
        var corrected = EventTime(sinceBoot, clocks)
        if abs(corrected.wall - wall) < EventTime.slewLimit { corrected.wall = wall }
        return corrected
    }

    /// The smallest step that counts as setting the clock, ms. Smaller differences are slewing.
    private static let slewLimit: Int64 = 100

    /// The age, s; `nil` if it cannot be known, because the boot is another one and the wall clock was not set in one
    /// of them.
    func age(at clocks: ClockReading) -> Double? {
        if boot == clocks.boot { return clocks.monotonic.seconds(since: sinceBoot) }
        guard isClockSet, clocks.isSet else { return nil }
        return Double(clocks.wall - wall) / 1000
    }
}

extension EventTime {
    /// The plausible times since boot, ns: up to a century.
    private static let possibleInstants: ClosedRange<Int64> = 0...3_155_760_000_000_000_000

    /// The plausible wall-clock times, milliseconds since 1970: up to the year 9999.
    static let possibleWallTimes: ClosedRange<Int64> = 0...253_402_300_799_999

    /// Validates a time read from a file; `nil` if it is implausible, because arithmetic with it could overflow.
    init?(stored boot: String, sinceBoot: Int64, wall: Int64, isClockSet: Bool) {
        guard boot.utf8.count <= 64, EventTime.possibleInstants.contains(sinceBoot),
            EventTime.possibleWallTimes.contains(wall)
        else { return nil }
        self.init(boot: boot, sinceBoot: Timestamp(nanoseconds: sinceBoot), wall: wall, isClockSet: isClockSet)
    }
}
