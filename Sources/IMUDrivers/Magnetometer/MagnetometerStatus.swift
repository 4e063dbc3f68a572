package import MotionCore

/// The result of one `poll` of a magnetometer.
package struct MagnetometerPoll: Equatable, Sendable, BitwiseCopyable {
    /// When to poll next. An earlier poll has no effect.
    package var next: Timestamp

    /// A reading, along the axes of accelerometer and gyroscope as their driver delivers them; `nil` if there is none.
    package var sample: MagneticSample?
}

/// What a magnetometer's driver is doing. Payloads have the names of the cases.
package enum MagnetometerState: UInt8, Sendable, BitwiseCopyable {
    case asleep
    case identifying
    case starting
    case measuring
    /// Waiting before the next bring-up attempt.
    case recovering
}

/// A fault in the communication with a magnetometer, or in the magnetometer itself.
package enum MagnetometerFault: Error, Equatable, Sendable, BitwiseCopyable {
    /// A transaction failed, and so did its retries.
    case bus(BusError)
    /// An identity register does not identify the part.
    case identity(found: UInt8)
    /// A configuration register did not keep what was written.
    case readBack(register: UInt8, wrote: UInt8, read: UInt8)
    /// A factory value cannot be right.
    case trim(found: UInt8)
    /// A reset did not end in time.
    case deadline
    /// The part lost its configuration through a reset or a brown-out, or another program changed it.
    case configurationLost(register: UInt8)
    /// The part answers but does not measure.
    case stalled
}

extension MagnetometerFault: RegisterFault {}

/// The state of a magnetometer's driver, and its counters since it was created.
package struct MagnetometerStatus: Sendable, BitwiseCopyable {
    package var state: MagnetometerState = .asleep

    /// Readings delivered.
    package var readings: UInt64 = 0

    /// How often readings stopped, or could not begin, and how often they began again after that.
    package var failures: UInt64 = 0
    package var recoveries: UInt64 = 0

    /// Readings that were not delivered because the field was too strong.
    package var overflows: UInt64 = 0

    /// Failed transactions by `BusError.Kind`.
    package var busErrors = BusErrorCounts()

    /// The latest fault.
    package var lastFault: MagnetometerFault?

    /// The status of a driver that has not started.
    package init() {}
}

/// Time limits of the driver that are the same for every magnetometer, in seconds unless stated otherwise.
enum MagnetometerTiming {
    /// Without a new measurement for this long the part counts as stalled.
    static var stalledAfter: Double { 0.25 }
    /// After this many identical readings in a row the part counts as frozen: noise changes some bit in most of them.
    static var mostRepetitions: Int { 10 }
    /// How long the bus may fail before the part is brought up again.
    static var busTimeout: Double { 0.25 }
    /// Pauses between bring-up attempts, doubling from the first to the last.
    static var firstBackoff: Double { 0.05 }
    static var longestBackoff: Double { 1 }
}
