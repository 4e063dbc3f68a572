internal import Glibc

/// The time of day where the device is.
enum LocalTime {
    /// A clock before this second, the beginning of 2025, was never set: boards without a battery start in the past.
    static let earliestCredible = 1_735_689_600

    /// Minutes since midnight in the system's time zone, or that of `TZ`; `nil` where the clock was never set.
    ///
    /// As clocks on the wall show it: where summer time begins an hour is left out, where it ends one comes twice. Reads the
    /// time zone anew where it changed, so only one thread may call it (tzset(3), localtime_r(3)).
    static func minuteOfDay(at seconds: Int = now) -> Int? {
        guard seconds >= earliestCredible else { return nil }
        tzset()
        var instant = time_t(seconds)
        var local = tm()
        guard localtime_r(&instant, &local) != nil else { return nil }
        return Int(local.tm_hour) * 60 + Int(local.tm_min)
    }

    /// Seconds until the next minute begins, and a little more: time(2) may lag behind by a tick of the kernel.
    static var secondsToNextMinute: Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(60 - time.tv_sec % 60) - Double(time.tv_nsec) * 1e-9 + 0.05
    }

    /// Seconds since 1970.
    static var now: Int { time(nil) }
}
