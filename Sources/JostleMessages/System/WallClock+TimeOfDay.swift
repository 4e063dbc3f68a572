internal import Glibc

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
