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

extension WallClock {
    /// The local time of day of an instant in milliseconds since 1970, in the system's time zone or `TZ`'s: `17:04:09`.
    ///
    /// Not thread-safe: calls tzset(3), then localtime_r(3).
    package static func timeOfDay(milliseconds: Int64) -> String {
        tzset()
        var instant = time_t(milliseconds / 1000)
        var local = tm()
        guard localtime_r(&instant, &local) != nil else { return "--:--:--" }
        return [local.tm_hour, local.tm_min, local.tm_sec].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }

    /// The local date and time of an instant in milliseconds since 1970: `2026-11-22 17:04:09`.
    ///
    /// Not thread-safe: calls tzset(3), then localtime_r(3).
    package static func dateAndTime(milliseconds: Int64) -> String {
        tzset()
        var instant = time_t(milliseconds / 1000)
        var local = tm()
        guard localtime_r(&instant, &local) != nil else { return "-" }
        let date = ["\(local.tm_year + 1900)"] + [local.tm_mon + 1, local.tm_mday].map { $0 < 10 ? "0\($0)" : "\($0)" }
        return "\(date.joined(separator: "-")) \(timeOfDay(milliseconds: milliseconds))"
    }

    /// The seconds since local midnight of an instant in milliseconds since 1970, by the clock on the wall.
    ///
    /// Not thread-safe: calls tzset(3), then localtime_r(3).
    package static func secondsSinceMidnight(milliseconds: Int64) -> Double {
        tzset()
        var instant = time_t(milliseconds / 1000)
        var local = tm()
        guard localtime_r(&instant, &local) != nil else { return 0 }
        let minutes = 60 * Double(local.tm_hour) + Double(local.tm_min)
        return 60 * minutes + Double(local.tm_sec)
    }
}

/// A day of this machine's calendar, in the system's time zone or `TZ`'s.
package struct LocalDay: Equatable, Sendable {
    /// Such as `2026-11-25`: later days have greater texts.
    package var date: String
    /// When it began, milliseconds since 1970.
    package var midnight: Int64

    package init(date: String, midnight: Int64) {
        self.date = date
        self.midnight = midnight
    }

    /// The day of an instant in milliseconds since 1970.
    ///
    /// Not thread-safe: calls tzset(3), localtime_r(3), mktime(3).
    package init(milliseconds: Int64) {
        date = String(WallClock.dateAndTime(milliseconds: milliseconds).prefix(10))
        var instant = time_t(milliseconds / 1000)
        var local = tm()
        guard localtime_r(&instant, &local) != nil else {
            midnight = milliseconds
            return
        }
        (local.tm_hour, local.tm_min, local.tm_sec) = (0, 0, 0)
        // Whether summer time is in force may differ from now.
        local.tm_isdst = -1
        midnight = min(milliseconds, Int64(mktime(&local)) * 1000)
    }
}
