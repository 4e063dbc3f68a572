internal import MotionCore

/// When something was measured: by the time since the boot, and by the wall clock as it was thought to stand.
///
/// A board without a battery starts with a wrong wall clock and has it set later. Within one boot the time since the boot
/// gives the true time of what was measured before; for an earlier boot the time that was stored last is all there is.
struct EventTime: Equatable, Sendable {
    var boot: String
    var sinceBoot: BootTime
    /// Milliseconds since 1970.
    var wall: Int64
    var isClockSet: Bool

    init(boot: String, sinceBoot: BootTime, wall: Int64, isClockSet: Bool) {
        self.boot = boot
        self.sinceBoot = sinceBoot
        self.wall = wall
        self.isClockSet = isClockSet
    }

    /// The time of a sample's monotonic `timestamp`, given how the clocks stand shortly after.
    init(_ timestamp: Timestamp, _ clocks: ClockReading) {
        self.init(clocks.sinceBoot(at: timestamp), clocks)
    }

    /// The time of an instant of this boot.
    private init(_ instant: BootTime, _ clocks: ClockReading) {
        let age = (clocks.sinceBoot.nanoseconds - instant.nanoseconds) / 1_000_000
        self.init(boot: clocks.boot, sinceBoot: instant, wall: clocks.wall - age, isClockSet: clocks.isSet)
    }

    /// The same time, judged by what the clocks say now: it changes only in the boot in which it was measured, and if the
    /// clock was set since. A clock that is kept right is nudged all the time, which changes nothing: an event that is sent
    /// twice says the same twice.
    func corrected(_ clocks: ClockReading) -> EventTime {
        guard boot == clocks.boot else { return self }
        var corrected = EventTime(sinceBoot, clocks)
        if abs(corrected.wall - wall) < EventTime.nudge { corrected.wall = wall }
        return corrected
    }

    /// Milliseconds by which a clock is not set but nudged.
    private static let nudge: Int64 = 100

    /// Seconds since then; `nil` if nobody can know: the boot is another one, and a wall clock was not set.
    func age(at clocks: ClockReading) -> Double? {
        if boot == clocks.boot { return clocks.sinceBoot.seconds(since: sinceBoot) }
        guard isClockSet, clocks.isSet else { return nil }
        return Double(clocks.wall - wall) / 1000
    }
}

extension EventTime {
    /// Instants that a clock can show, nanoseconds since a boot: a century.
    static let possibleInstants: ClosedRange<Int64> = 0...3_155_760_000_000_000_000

    /// Wall-clock times that a clock can show, milliseconds since 1970: until the year 9999.
    static let possibleWallTimes: ClosedRange<Int64> = 0...253_402_300_799_999

    /// A time read from a file, or `nil` if no clock can have shown it: arithmetic with it could overflow.
    init?(stored boot: String, sinceBoot: Int64, wall: Int64, isClockSet: Bool) {
        guard boot.utf8.count <= 64, EventTime.possibleInstants.contains(sinceBoot),
            EventTime.possibleWallTimes.contains(wall)
        else { return nil }
        self.init(boot: boot, sinceBoot: BootTime(nanoseconds: sinceBoot), wall: wall, isClockSet: isClockSet)
    }
}
