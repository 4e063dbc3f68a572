internal import Glibc
public import MotionCore

/// Turns instants of the monotonic clock into wall-clock time.
public enum WallClock {
    /// Milliseconds since 1970 at the monotonic instant `timestamp`, as the clocks stand now.
    public static func milliseconds(at timestamp: Timestamp) -> Int64 {
        let age = nanoseconds(CLOCK_MONOTONIC) - timestamp.nanoseconds
        return (nanoseconds(CLOCK_REALTIME) - age) / 1_000_000
    }

    /// The present instant of the monotonic clock.
    public static var monotonic: Timestamp { Timestamp(nanoseconds: nanoseconds(CLOCK_MONOTONIC)) }

    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
