internal import MotionCore

/// A clock that shows what it was last turned to, at the cost of a load.
final class HandClock: MonotonicClock {
    private let instant: UnsafeMutablePointer<Timestamp>

    /// Makes a clock that shows 100 s.
    init() {
        instant = .allocate(capacity: 1)
        instant.initialize(to: Timestamp(seconds: 100))
    }

    deinit {
        instant.deallocate()
    }

    func now() -> Timestamp { instant.pointee }

    /// Turns it to `timestamp`.
    func turn(to timestamp: Timestamp) {
        instant.pointee = timestamp
    }
}

/// How late a host looks at its chip: 20 to 150 µs, as a quiet Linux wakes a thread, and the same in every run.
struct Lateness {
    private var state: UInt32

    /// Begins anywhere but at zero.
    init(seed: UInt32 = 2_463_534_242) {
        state = seed | 1
    }

    /// The next one, nanoseconds.
    mutating func next() -> Int64 {
        // Marsaglia's xorshift32: cheap enough to stand inside what is measured.
        state ^= state << 13
        state ^= state >> 17
        state ^= state << 5
        return 20_000 + Int64(state % 130_000)
    }
}
