internal import Glibc
package import MotionCore

/// The kernel's clock that neither jumps nor can be set: `CLOCK_MONOTONIC`, which counts from the system's start.
package struct SystemClock: MonotonicClock, Sendable, BitwiseCopyable {
    /// Creates the clock. All instances show the same time.
    package init() {}

    /// The current time (`clock_gettime`).
    package func now() -> Timestamp {
        var time = timespec()
        // Fails only for a clock that the kernel does not have; every kernel has this one.
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Timestamp(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Blocks the calling thread until `deadline`, across signals (`clock_nanosleep`, absolute). Returns immediately if
    /// the deadline has passed.
    ///
    /// An absolute deadline keeps a periodic loop from drifting by the duration of its own work.
    package static func sleep(until deadline: Timestamp) {
        var time = timespec()
        time.tv_sec = Int(deadline.nanoseconds / 1_000_000_000)
        time.tv_nsec = Int(deadline.nanoseconds % 1_000_000_000)
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
    }
}
