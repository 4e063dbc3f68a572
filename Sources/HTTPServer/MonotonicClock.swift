internal import Glibc

/// Time for deadlines: clock_gettime(2).
enum MonotonicClock {
    /// Seconds of CLOCK_MONOTONIC.
    static var seconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
