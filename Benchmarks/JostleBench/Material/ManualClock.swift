internal import MotionCore

/// A manual clock, which costs only a load to read.
final class ManualClock: MonotonicClock {
    private let instant: UnsafeMutablePointer<Timestamp>

    /// Creates a clock that shows 100 s.
    init() {
        instant = .allocate(capacity: 1)
        instant.initialize(to: Timestamp(seconds: 100))
    }

    deinit {
        instant.deallocate()
    }

    func now() -> Timestamp { instant.pointee }

    /// Sets it to `timestamp`.
    func set(to timestamp: Timestamp) {
        instant.pointee = timestamp
    }
}

/// How late a host reads its chip: 20 to 150 µs, as a thread wakes on an idle Linux; the same in every run.
struct Lateness {
    private var state: UInt32

    /// Any seed but zero works.
    init(seed: UInt32 = 2_463_534_242) {
        state = seed | 1
    }

    /// The next lateness, nanoseconds.
    mutating func next() -> Int64 {
        // Marsaglia's xorshift32: cheap enough to be part of the measured code.
        state ^= state << 13
        state ^= state >> 17
        state ^= state << 5
        return 20_000 + Int64(state % 130_000)
    }
}
