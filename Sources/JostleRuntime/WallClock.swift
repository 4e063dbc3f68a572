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

extension Timestamp? {
    /// The earlier of two deadlines; `nil` is never.
    package func earlier(_ other: Timestamp?) -> Timestamp? {
        guard let self, let other else { return self ?? other }
        return min(self, other)
    }
}

// In the system's time zone or `TZ`'s. Not thread-safe: calls tzset(3), localtime_r(3), mktime(3).
extension WallClock {
    /// The parts of an instant in milliseconds since 1970; `nil` if its year is beyond a C integer.
    fileprivate static func parts(milliseconds: Int64) -> tm? {
        tzset()
        var instant = time_t(milliseconds / 1000)
        var local = tm()
        return localtime_r(&instant, &local) == nil ? nil : local
    }

    private static func twoDigits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }

    /// The local time of day of an instant in milliseconds since 1970: `17:04:09`.
    package static func timeOfDay(milliseconds: Int64) -> String {
        guard let local = parts(milliseconds: milliseconds) else { return "--:--:--" }
        return [local.tm_hour, local.tm_min, local.tm_sec].map(twoDigits).joined(separator: ":")
    }

    /// The local date and time of an instant in milliseconds since 1970: `2026-11-22 17:04:09`.
    package static func dateAndTime(milliseconds: Int64) -> String {
        guard let local = parts(milliseconds: milliseconds) else { return "-" }
        let date = "\(local.tm_year + 1900)-\(twoDigits(local.tm_mon + 1))-\(twoDigits(local.tm_mday))"
        return "\(date) \(timeOfDay(milliseconds: milliseconds))"
    }

    /// The seconds since local midnight of an instant in milliseconds since 1970, by the clock on the wall.
    package static func secondsSinceMidnight(milliseconds: Int64) -> Double {
        guard let local = parts(milliseconds: milliseconds) else { return 0 }
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
}

extension LocalDay {
    /// The day of an instant in milliseconds since 1970. Not thread-safe, as the functions of the local time.
    package init(milliseconds: Int64) {
        var midnight = milliseconds
        if var local = WallClock.parts(milliseconds: milliseconds) {
            (local.tm_hour, local.tm_min, local.tm_sec) = (0, 0, 0)
            // Whether summer time is in force may differ from now.
            local.tm_isdst = -1
            midnight = min(milliseconds, Int64(mktime(&local)) * 1000)
        }
        self.init(
            date: String(WallClock.dateAndTime(milliseconds: milliseconds).prefix(10)), midnight: midnight)
    }
}
