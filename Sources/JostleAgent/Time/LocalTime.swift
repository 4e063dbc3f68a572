internal import Glibc

/// The local time of day.
enum LocalTime {
    /// The start of 2025, seconds since 1970. An earlier clock was never set: boards without a battery start in the
    /// past.
    static let earliestCredible = 1_735_689_600

    /// Minutes since midnight in the system's time zone, or in that of `TZ`; `nil` if the clock was never set.
    ///
    /// Like a wall clock, it skips an hour when summer time begins and repeats one when it ends. It rereads the time
    /// zone on every call, so only one thread may call it (tzset(3), localtime_r(3)).
    static func minuteOfDay(at seconds: Int = now) -> Int? {
        guard seconds >= earliestCredible else { return nil }
        tzset()
        var instant = time_t(seconds)
        var local = tm()
        guard localtime_r(&instant, &local) != nil else { return nil }
        return Int(local.tm_hour) * 60 + Int(local.tm_min)
    }

    /// Seconds until the next minute begins, plus a margin, because time(2) may lag by a kernel tick.
    static var secondsToNextMinute: Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(60 - time.tv_sec % 60) - Double(time.tv_nsec) * 1e-9 + 0.05
    }

    /// Seconds since 1970.
    static var now: Int { time(nil) }
}
