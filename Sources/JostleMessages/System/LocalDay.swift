internal import Glibc

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
