internal import CLinuxSystem
internal import Glibc
internal import LinuxSystem
package import MotionCore

/// Turns instants of the monotonic clock into wall-clock time.
package enum WallClock {
    /// Milliseconds since 1970 at the monotonic instant `timestamp`, as the clocks stand now.
    package static func milliseconds(at timestamp: Timestamp) -> Int64 { microseconds(at: timestamp) / 1000 }

    /// Microseconds since 1970 at the monotonic instant `timestamp`, as the clocks stand now.
    package static func microseconds(at timestamp: Timestamp) -> Int64 {
        let age = nanoseconds(CLOCK_MONOTONIC) - timestamp.nanoseconds
        return (nanoseconds(CLOCK_REALTIME) - age) / 1000
    }

    /// The present instant of the monotonic clock.
    package static var monotonic: Timestamp { Timestamp(nanoseconds: nanoseconds(CLOCK_MONOTONIC)) }

    /// Nanoseconds since boot, including time in suspend: CLOCK_BOOTTIME.
    package static var nanosecondsSinceBoot: Int64 { nanoseconds(CLOCK_BOOTTIME) }

    /// What tells this boot of the machine from every other.
    package static let boot: String = {
        let text = FileContents.text(ofOptional: "/proc/sys/kernel/random/boot_id", limit: 64) ?? ""
        return String(text.prefix { $0.isHexDigit || $0 == "-" })
    }()

    /// Whether the wall clock can be believed: somebody keeps it right, or at least it has not lost the time.
    ///
    /// A board without a battery for its clock takes up the time at which it was switched off, which looks like any
    /// other: there nothing but a synchronised clock counts.
    package static var isSet: Bool {
        isSynchronised
            || keepsTime && nanoseconds(CLOCK_REALTIME) > earliest
    }

    /// Whether somebody keeps the system's clock right: adjtimex(2), or where a sandbox forbids that, timesyncd's mark.
    package static var isSynchronised: Bool {
        var state = timex()
        let answer = adjtimex(&state)
        guard answer < 0 else { return answer != TIME_ERROR }
        return access("/run/systemd/timesync/synchronized", F_OK) == 0
    }

    /// 2026-01-01: before that, this program was not written.
    private static let earliest: Int64 = 1_767_225_600_000_000_000

    /// Whether the clock goes on while the machine is off: it has one that does, or is none of those that rarely have.
    private static let keepsTime =
        access("/sys/class/rtc/rtc0", F_OK) == 0 || access("/proc/device-tree", F_OK) != 0

    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

extension Timestamp {
    /// Seconds that are left at `now`; none where it is past, be it since ever: a difference to that does not exist.
    package func remaining(at now: Timestamp) -> Double { self <= now ? 0 : seconds(since: now) }
}
