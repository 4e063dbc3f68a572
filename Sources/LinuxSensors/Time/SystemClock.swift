internal import Glibc
package import MotionCore

/// The kernel's clock that neither jumps nor is set: `CLOCK_MONOTONIC`, which counts from the system's start.
package struct SystemClock: MonotonicClock, Sendable, BitwiseCopyable {
    /// Makes the clock; all of them show the same time.
    package init() {}

    /// The present instant (`clock_gettime`).
    package func now() -> Timestamp {
        var time = timespec()
        // Fails only for a clock that the kernel does not have; this one is in every kernel.
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Timestamp(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Blocks the calling thread until `deadline`, through signals (`clock_nanosleep`, absolute); not at all where
    /// that is past.
    ///
    /// An absolute deadline keeps a periodic loop from drifting by what its own work takes.
    package static func sleep(until deadline: Timestamp) {
        var time = timespec()
        time.tv_sec = Int(deadline.nanoseconds / 1_000_000_000)
        time.tv_nsec = Int(deadline.nanoseconds % 1_000_000_000)
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
    }
}
