internal import CLinuxSystem
internal import Glibc
internal import LinuxSystem
package import MotionCore

/// Turns instants of the clock that times the samples into wall-clock time.
package enum WallClock {
    /// Milliseconds since 1970 at the instant `timestamp`, according to the present clock settings.
    package static func milliseconds(at timestamp: Timestamp) -> Int64 { microseconds(at: timestamp) / 1000 }

    /// Microseconds since 1970 at the instant `timestamp`, according to the present clock settings.
    package static func microseconds(at timestamp: Timestamp) -> Int64 {
        (timestamp.nanoseconds + KernelClock.wall.offset(from: .boot)) / 1000
    }

    /// The present time on the clock that times the samples, which counts in suspend.
    package static var monotonic: Timestamp { Timestamp(nanoseconds: KernelClock.boot.nanoseconds) }

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
}

extension Timestamp {
    /// Seconds until this instant; 0 if it has passed. Compares first: the difference to the distant past overflows.
    package func remaining(at now: Timestamp) -> Double { self <= now ? 0 : seconds(since: now) }
}
