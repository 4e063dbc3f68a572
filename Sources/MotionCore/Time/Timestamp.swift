/// An instant of a monotonic clock, in nanoseconds since an origin that is fixed while a program runs.
public struct Timestamp: Comparable, Hashable, Sendable, BitwiseCopyable {
    public var nanoseconds: Int64

    /// The instant `nanoseconds` after the origin.
    @inlinable
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The instant `seconds` after the origin, to the nearest nanosecond.
    @inlinable
    public init(seconds: Double) {
        // Halves to even, as processors round: away from zero is a call of some 20 instructions.
        nanoseconds = Int64((seconds * 1e9).rounded(.toNearestOrEven))
    }

    /// Seconds since the origin.
    @inlinable
    public var seconds: Double { Double(nanoseconds) * 1e-9 }

    /// The instant `seconds` later, or earlier if negative.
    @inlinable
    public func advanced(bySeconds seconds: Double) -> Timestamp {
        Timestamp(nanoseconds: nanoseconds + Int64((seconds * 1e9).rounded(.toNearestOrEven)))
    }

    /// Seconds from `other` to this instant.
    @inlinable
    public func seconds(since other: Timestamp) -> Double {
        Double(nanoseconds - other.nanoseconds) * 1e-9
    }

    @inlinable
    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.nanoseconds < b.nanoseconds }
}

/// A monotonic clock. It is passed to drivers, so that tests can control time.
public protocol MonotonicClock {
    /// The current instant.
    func now() -> Timestamp
}
