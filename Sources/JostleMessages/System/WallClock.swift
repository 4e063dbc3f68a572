internal import CLinuxSystem
internal import Glibc
internal import LinuxSystem
package import MotionCore

/// Turns instants of the monotonic clock into wall-clock time.
package enum WallClock {
    /// Milliseconds since 1970 at the monotonic instant `timestamp`, according to the present clock settings.
    package static func milliseconds(at timestamp: Timestamp) -> Int64 { microseconds(at: timestamp) / 1000 }

    /// Microseconds since 1970 at the monotonic instant `timestamp`, according to the present clock settings.
    package static func microseconds(at timestamp: Timestamp) -> Int64 {
        let age = nanoseconds(CLOCK_MONOTONIC) - timestamp.nanoseconds
        return (nanoseconds(CLOCK_REALTIME) - age) / 1000
    }

    /// The current time of the monotonic clock.
    package static var monotonic: Timestamp { Timestamp(nanoseconds: nanoseconds(CLOCK_MONOTONIC)) }

    /// Nanoseconds since boot, including time in suspend: CLOCK_BOOTTIME.
    package static var nanosecondsSinceBoot: Int64 { nanoseconds(CLOCK_BOOTTIME) }

    /// The kernel's boot id, different for every boot of the machine.
    package static let boot: String = {
        let text = FileContents.text(ofOptional: "/proc/sys/kernel/random/boot_id", limit: 64) ?? ""
        return String(text.prefix { $0.isHexDigit || $0 == "-" })
    }()

    /// Whether the system clock is synchronised: adjtimex(2) or, if a sandbox forbids that, timesyncd's marker file.
    ///
    /// `nil` if neither says so. Another program may then keep the time.
    package static var synchronisation: Bool? {
        var state = timex()
        let answer = adjtimex(&state)
        guard answer < 0 else { return answer != TIME_ERROR }
        return access("/run/systemd/timesync/synchronized", F_OK) == 0 ? true : nil
    }

    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

extension Timestamp {
    /// Seconds until this instant; 0 if it has passed. Compares first: the difference to the distant past overflows.
    package func remaining(at now: Timestamp) -> Double { self <= now ? 0 : seconds(since: now) }
}
