internal import Glibc

/// Time for deadlines: clock_gettime(2).
package enum MonotonicTime {
    /// Seconds of CLOCK_MONOTONIC.
    package static var seconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
