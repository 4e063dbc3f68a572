internal import CLinuxSystem
internal import JostleMessages
package import MotionCore

/// An instant since boot, including time in suspend: CLOCK_BOOTTIME. Ages and expiry times use it, also those that outlast
/// the program.
package struct BootTime: Comparable, Hashable, Sendable {
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package static func < (a: BootTime, b: BootTime) -> Bool { a.nanoseconds < b.nanoseconds }

    /// Seconds from `other` to this instant; negative if this one is earlier.
    package func seconds(since other: BootTime) -> Double {
        let (difference, hasOverflowed) = nanoseconds.subtractingReportingOverflow(other.nanoseconds)
        return hasOverflowed ? Double(nanoseconds) * 1e-9 - Double(other.nanoseconds) * 1e-9 : Double(difference) * 1e-9
    }
}

/// The readings of all clocks at one moment.
package struct ClockReading: Equatable, Sendable {
    /// The boot id, which qualifies `monotonic` and `sinceBoot`.
    package var boot: String

    /// The clock that times the samples and the loop's deadlines.
    package var monotonic: Timestamp

    /// CLOCK_BOOTTIME, for ages.
    package var sinceBoot: BootTime

    /// Milliseconds since 1970, possibly wrong: see `isSet`.
    package var wall: Int64

    /// Whether the wall clock can be trusted: see `ClockTrust`.
    package var isSet: Bool

    /// Creates a reading from given values.
    package init(boot: String, monotonic: Timestamp, sinceBoot: BootTime, wall: Int64, isSet: Bool) {
        self.boot = boot
        self.monotonic = monotonic
        self.sinceBoot = sinceBoot
        self.wall = wall
        self.isSet = isSet
    }

    /// The current reading of this machine's clocks. The wall clock is trusted unless `isSet` is false: see
    /// `MachineClocks.read`.
    package static func now(isSet: Bool = true) -> ClockReading {
        let monotonic = WallClock.monotonic
        return ClockReading(
            boot: WallClock.boot, monotonic: monotonic, sinceBoot: BootTime(nanoseconds: monotonic.nanoseconds),
            wall: WallClock.milliseconds(at: monotonic), isSet: isSet)
    }

    /// Converts a recent instant of the clock of the samples to time since boot.
    func sinceBoot(at timestamp: Timestamp) -> BootTime {
        BootTime(nanoseconds: sinceBoot.nanoseconds - (monotonic.nanoseconds - timestamp.nanoseconds))
    }
}
