internal import JostleMessages
public import MotionCore

/// How the clocks stand at one moment.
public struct ClockReading: Equatable, Sendable {
    /// The boot in which the monotonic clock counts.
    public var boot: String

    public var monotonic: Timestamp

    /// Milliseconds since 1970, as far as anybody knows.
    public var wall: Int64

    /// Whether the wall clock can be believed: see `WallClock.isSet`.
    public var isSet: Bool

    /// Makes a reading.
    public init(boot: String, monotonic: Timestamp, wall: Int64, isSet: Bool) {
        self.boot = boot
        self.monotonic = monotonic
        self.wall = wall
        self.isSet = isSet
    }

    /// The clocks of this machine, now.
    public static func now() -> ClockReading {
        let monotonic = WallClock.monotonic
        return ClockReading(
            boot: WallClock.boot, monotonic: monotonic, wall: WallClock.milliseconds(at: monotonic),
            isSet: WallClock.isSet)
    }
}

/// When something was measured: by the monotonic clock of its boot, and by the wall clock as it was thought to stand.
///
/// A board without a battery starts with a wrong wall clock and has it set later. Within one boot the monotonic clock
/// tells the true time of what was measured before; of an earlier boot, the time that was written down last is all there is.
struct EventTime: Equatable, Sendable {
    var boot: String
    var monotonic: Timestamp
    var wall: Int64
    var isClockSet: Bool

    init(boot: String, monotonic: Timestamp, wall: Int64, isClockSet: Bool) {
        self.boot = boot
        self.monotonic = monotonic
        self.wall = wall
        self.isClockSet = isClockSet
    }

    /// The time of the monotonic instant `timestamp`, told with the clocks as they stand.
    init(_ timestamp: Timestamp, _ clocks: ClockReading) {
        let age = (clocks.monotonic.nanoseconds - timestamp.nanoseconds) / 1_000_000
        self.init(boot: clocks.boot, monotonic: timestamp, wall: clocks.wall - age, isClockSet: clocks.isSet)
    }

    /// The same time, told with what the clocks say now: another one only in the boot in which it was measured, and where
    /// the clock was set since. What a clock that is kept right is nudged by changes nothing: an event that is sent
    /// twice says the same twice.
    func corrected(_ clocks: ClockReading) -> EventTime {
        guard boot == clocks.boot else { return self }
        var corrected = EventTime(monotonic, clocks)
        if abs(corrected.wall - wall) < EventTime.nudge { corrected.wall = wall }
        return corrected
    }

    /// Milliseconds by which a clock is not set but nudged.
    private static let nudge: Int64 = 100

    /// Seconds since then; `nil` where nobody can know: the boot is another one, and a wall clock was not set.
    func age(at clocks: ClockReading) -> Double? {
        if boot == clocks.boot { return clocks.monotonic.seconds(since: monotonic) }
        guard isClockSet, clocks.isSet else { return nil }
        return Double(clocks.wall - wall) / 1000
    }
}
