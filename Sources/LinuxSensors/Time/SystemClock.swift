internal import Glibc
internal import LinuxSystem
package import MotionCore

/// The kernel's clock that cannot be set and counts in suspend, too: `CLOCK_BOOTTIME`, which counts from the system's start.
///
/// So a sample that was measured before a suspend keeps its time, and a gap is as long as it was.
package struct SystemClock: MonotonicClock, Sendable, BitwiseCopyable {
    /// Creates the clock. All instances show the same time.
    package init() {}

    /// The current time (`clock_gettime`).
    package func now() -> Timestamp { Timestamp(nanoseconds: KernelClock.boot.nanoseconds) }

    /// Blocks the calling thread until `deadline`, across signals (`clock_nanosleep`, absolute). Returns immediately if
    /// the deadline has passed.
    ///
    /// An absolute deadline keeps a periodic loop from drifting by the duration of its own work.
    package static func sleep(until deadline: Timestamp) {
        var time = timespec()
        time.tv_sec = Int(deadline.nanoseconds / 1_000_000_000)
        time.tv_nsec = Int(deadline.nanoseconds % 1_000_000_000)
        while clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &time, nil) == EINTR {}
    }
}
