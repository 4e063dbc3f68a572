package import MotionCore

/// A chip's driver: a state machine that does what is due whenever it is polled, and never sleeps or waits.
///
/// The sensor thread calls `poll`, hands on the samples, and calls again at the instant it was told.
package protocol IMUDriver: ~Copyable {
    /// The chip and what it was configured to; complete once the first sample is out.
    var info: IMUInfo { get }

    /// What the driver is doing, and what it has counted since it was made.
    var status: IMUStatus { get }

    /// Does what is due at the present instant and appends the samples that are complete to `batch`.
    ///
    /// A driver that was stopped is woken by it.
    mutating func poll(into batch: inout SampleBatch) -> IMUPoll

    /// Puts the chip to sleep; nothing touches the bus until the next `poll`.
    mutating func stop() throws(BusError)
}

/// What came of one `poll`.
package struct IMUPoll: Sendable, BitwiseCopyable {
    /// When to poll next.
    package var next: Timestamp

    /// What changed, if anything did.
    package var event: SensorEvent

    /// Makes a result.
    @inlinable
    package init(next: Timestamp, event: SensorEvent = .none) {
        self.next = next
        self.event = event
    }
}

/// What happens to a sensor's stream of samples.
public enum SensorEvent: Equatable, Sendable, BitwiseCopyable {
    case none
    /// The first samples since the start or since a failure. After a failure: the seconds without a sample.
    case streaming(afterGap: Double)
    /// Samples were lost and the stream goes on: seconds without a sample, and why.
    case gap(Double, IMUFault)
    /// No more samples arrive; the driver keeps trying.
    case failed(IMUFault)
}

/// What went wrong between a driver and its chip.
public enum IMUFault: Error, Equatable, Sendable, BitwiseCopyable {
    /// A transaction failed as often as it may.
    case bus(BusError)
    /// The identity register does not hold what this driver drives.
    case identity(found: UInt8)
    /// A configuration register did not keep what was written.
    case readBack(register: UInt8, wrote: UInt8, read: UInt8)
    /// A state of the bring-up lasted longer than the chip may take.
    case deadline(IMUState)
    /// The FIFO ran over before it was read.
    case overflow
    /// The FIFO's content cannot be frames of this chip: it slipped, or the chip was reset.
    case misaligned
    /// The chip lost its configuration: it was reset or browned out.
    case configurationLost(register: UInt8)
    /// The chip answers but produces no samples.
    case stalled
}

/// What a driver is doing.
public enum IMUState: UInt8, Sendable, BitwiseCopyable {
    case asleep
    case identifying
    case resetting
    case waking
    case configuring
    case settling
    case streaming
    /// Waiting to try again from the start.
    case recovering
}

/// The wanted configuration of a chip. Each part takes the nearest it can do that is not less.
public struct IMUSettings: Equatable, Sendable, BitwiseCopyable {
    /// Samples a second, Hz. Default 200. From 4 Hz to what part and bus allow, which `BusLoad` works out: a part takes the
    /// next rate that is not less. Smaller costs less bus, processor and power; larger catches shorter movements.
    public var rate: Double = 200

    /// Full scale of the accelerometer, ±m/s². Default 8 g: less saturates in a shake, more only costs resolution.
    public var accelerometerRange: Double = 8 * standardGravity

    /// Full scale of the gyroscope, ±rad/s. Default 2000 °/s.
    public var gyroscopeRange: Double = 2000 * .pi / 180

    /// Seconds between two reads of the FIFO, never more than half of it lasts. Smaller is prompter, larger costs less bus and
    /// processor. Default 0.02: a sample waits 10 ms on average, little beside the 0.4 s that a shake takes to be
    /// one, and at 200 Hz addresses and counts add 15 % to the bits of an MPU-6050's samples; at 5 ms they add 60 %.
    public var batchInterval: Double = 0.02

    /// Whether the chip pulses its data-ready pin. Default no: a driver that is given a line sets it itself.
    public var signalsDataReady = false

    /// What a chip is taken for whose own number the driver does not know: the content of that part's identity register.
    /// Default none, such a chip is left alone. For copies with a number of their own.
    public var assumedIdentity: UInt8?

    /// Makes the default settings.
    @inlinable
    public init() {}
}

/// A chip and what it was configured to.
public struct IMUInfo: Sendable, BitwiseCopyable {
    /// The part's name as its maker writes it.
    public var name: StaticString

    /// The content of its identity register.
    public var identity: UInt8

    /// The nominal sample rate, Hz: what the chip would do with a perfect oscillator.
    public var nominalRate: Double

    /// Full scale of the accelerometer, ±m/s²; infinite where nobody tells it.
    public var accelerometerRange: Double

    /// Full scale of the gyroscope, ±rad/s; zero where the part has none, infinite where nobody tells it.
    public var gyroscopeRange: Double

    /// -3 dB bandwidth of the low-pass in the chip, Hz; not-a-number where nobody tells it.
    public var bandwidth: Double

    /// Makes a description.
    @inlinable
    public init(
        name: StaticString, identity: UInt8, nominalRate: Double, accelerometerRange: Double, gyroscopeRange: Double,
        bandwidth: Double
    ) {
        self.name = name
        self.identity = identity
        self.nominalRate = nominalRate
        self.accelerometerRange = accelerometerRange
        self.gyroscopeRange = gyroscopeRange
        self.bandwidth = bandwidth
    }
}

/// A driver's state and its counters since it was made.
public struct IMUStatus: Sendable, BitwiseCopyable {
    public var state: IMUState = .asleep

    /// Samples delivered.
    public var samples: UInt64 = 0

    /// Interruptions of the stream, and an estimate of the samples lost in them.
    public var gaps: UInt64 = 0
    public var lostSamples: UInt64 = 0

    /// FIFO resets because it ran over, and because its content was no frames.
    public var overflows: UInt64 = 0
    public var misalignments: UInt64 = 0

    /// Times the chip was brought up again after a failure.
    public var recoveries: UInt64 = 0

    /// Failed transactions by `BusError.Kind`.
    public var busErrors = BusErrorCounts()

    /// Samples with an axis at the end of its range: of either sensor, and of each.
    public var clippedSamples: UInt64 = 0
    public var clippedAccelerations: UInt64 = 0
    public var clippedRotationRates: UInt64 = 0

    /// What becomes of the data-ready line.
    public var dataReady = DataReadyStatus()

    /// The chip's sample period as measured against the host's clock, seconds; the nominal one until it is known.
    public var period: Double = 0

    /// The measured period's deviation from the nominal one, parts per million.
    public var periodDeviation: Double = 0

    /// The last thing that went wrong.
    public var lastFault: IMUFault?

    /// Makes the status of a driver that has done nothing yet.
    @inlinable
    public init() {}
}

/// Failed transactions, counted by kind.
public struct BusErrorCounts: Equatable, Sendable, BitwiseCopyable {
    public var notAcknowledged: UInt64 = 0
    public var arbitrationLost: UInt64 = 0
    public var timedOut: UInt64 = 0
    public var inputOutput: UInt64 = 0
    public var other: UInt64 = 0

    /// Makes counters at zero.
    @inlinable
    public init() {}

    /// Counts one failure.
    package mutating func count(_ error: BusError) {
        switch error.kind {
        case .notAcknowledged: notAcknowledged += 1
        case .arbitrationLost: arbitrationLost += 1
        case .timedOut: timedOut += 1
        case .inputOutput: inputOutput += 1
        default: other += 1
        }
    }

    /// All of them.
    public var total: UInt64 { notAcknowledged + arbitrationLost + timedOut + inputOutput + other }
}
