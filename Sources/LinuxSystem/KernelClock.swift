internal import Glibc

/// A clock of the kernel: clock_gettime(2).
package enum KernelClock: Sendable {
    /// Counts from the start of the system, also in suspend: CLOCK_BOOTTIME.
    case boot
    /// The same without suspends: CLOCK_MONOTONIC.
    case monotonic
    /// Since 1970, and can be set: CLOCK_REALTIME.
    case wall

    /// The present reading, ns.
    package var nanoseconds: Int64 {
        let number =
            switch self {
            case .boot: CLOCK_BOOTTIME
            case .monotonic: CLOCK_MONOTONIC
            case .wall: CLOCK_REALTIME
            }
        var time = timespec()
        // Fails only for a clock that the kernel does not have.
        clock_gettime(number, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// How far this clock is ahead of `base`, ns.
    package func offset(from base: KernelClock) -> Int64 {
        Self.offset(of: { nanoseconds }, from: { base.nanoseconds })
    }

    /// How far a clock is ahead of `base`, ns. It is read between two readings of `base`. The thread may be preempted between
    /// them, for half a second on a starved processor, so that they are repeated until they are close together.
    package static func offset(of clock: () -> Int64, from base: () -> Int64) -> Int64 {
        var offset: Int64 = 0
        var narrowest = Int64.max
        for _ in 0..<mostAttempts where narrowest > closeTogether {
            let before = base()
            let reading = clock()
            let width = base() - before
            guard width < narrowest else { continue }
            narrowest = width
            offset = reading - before - width / 2
        }
        return offset
    }

    /// Readings within 20 µs are close together: an interrupt may come between them, but no other thread.
    private static var closeTogether: Int64 { 20_000 }
    private static var mostAttempts: Int { 20 }
}

/// Time for deadlines: clock_gettime(2).
package enum MonotonicTime {
    /// Seconds of CLOCK_MONOTONIC.
    package static var seconds: Double { Double(KernelClock.monotonic.nanoseconds) / 1e9 }
}
