internal import CLinuxSystem
internal import Glibc
internal import JostleMessages
package import MotionCore

/// An instant since the boot, suspended time included: CLOCK_BOOTTIME. Ages and expiry go by it.
///
/// A type of its own: CLOCK_MONOTONIC, by which samples are timed, stands still while the machine is suspended.
package struct BootTime: Comparable, Hashable, Sendable {
    package var nanoseconds: Int64

    /// The instant so many nanoseconds after the boot.
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

/// How the clocks stand at one moment.
package struct ClockReading: Equatable, Sendable {
    /// The boot in which the other clocks but the wall clock count.
    package var boot: String

    /// By which samples are timed and the loop's deadlines are set: CLOCK_MONOTONIC.
    package var monotonic: Timestamp

    /// By which ages are counted: CLOCK_BOOTTIME.
    package var sinceBoot: BootTime

    /// Milliseconds since 1970, as far as anybody knows.
    package var wall: Int64

    /// Whether the wall clock can be believed: see `WallClock.isSet`.
    package var isSet: Bool

    /// A reading of clocks of one's own.
    package init(boot: String, monotonic: Timestamp, sinceBoot: BootTime, wall: Int64, isSet: Bool) {
        self.boot = boot
        self.monotonic = monotonic
        self.sinceBoot = sinceBoot
        self.wall = wall
        self.isSet = isSet
    }

    /// The clocks of this machine, now.
    package static func now() -> ClockReading {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        let monotonic = WallClock.monotonic
        return ClockReading(
            boot: WallClock.boot, monotonic: monotonic,
            sinceBoot: BootTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)),
            wall: WallClock.milliseconds(at: monotonic), isSet: WallClock.isSet)
    }

    /// The instant since the boot at which the monotonic clock stood at `timestamp`, a moment ago.
    func sinceBoot(at timestamp: Timestamp) -> BootTime {
        BootTime(nanoseconds: sinceBoot.nanoseconds - (monotonic.nanoseconds - timestamp.nanoseconds))
    }
}
