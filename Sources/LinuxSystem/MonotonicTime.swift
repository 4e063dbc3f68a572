/// Time for deadlines: clock_gettime(2).
package enum MonotonicTime {
    /// Seconds of CLOCK_MONOTONIC.
    package static var seconds: Double { Double(KernelClock.monotonic.nanoseconds) / 1e9 }
}
