public import MotionCore

/// The result of one `poll`.
package struct IMUPoll: Sendable, BitwiseCopyable {
    /// When to poll next.
    package var next: Timestamp

    /// By how many seconds the next poll may be put off as long as nothing moves and nobody waits for samples. 0 if the
    /// sensor cannot wait.
    package var reprieve = 0.0

    /// What changed; `none` if nothing did.
    package var event: SensorEvent

    /// Creates a result.
    @inlinable
    package init(next: Timestamp, event: SensorEvent = .none) {
        self.next = next
        self.event = event
    }
}

/// A change in a sensor's stream of samples.
public enum SensorEvent: Equatable, Sendable, BitwiseCopyable {
    case none
    /// The first samples since the start or since a failure. After a failure, the value is the time without samples, in
    /// seconds.
    case streaming(afterGap: Double)
    /// Samples were lost but the stream continues: the time without samples in seconds, and the cause.
    case gap(Double, IMUFault)
    /// Samples have stopped; the driver keeps retrying.
    case failed(IMUFault)
}

/// A fault in the communication with a chip, or in the chip itself.
public enum IMUFault: Error, Equatable, Sendable, BitwiseCopyable {
    /// A transaction failed, and so did its retries.
    case bus(BusError)
    /// The identity register does not identify a chip that this driver supports.
    case identity(found: UInt8)
    /// A configuration register did not keep what was written.
    case readBack(register: UInt8, wrote: UInt8, read: UInt8)
    /// A bring-up state exceeded its deadline.
    case deadline(IMUState)
    /// The FIFO overflowed before it was read.
    case overflow
    /// The FIFO's content cannot be frames of this chip: framing was lost, or the chip was reset.
    case misaligned
    /// The chip lost its configuration through a reset or a brown-out.
    case configurationLost(register: UInt8)
    /// The chip answers but produces no samples.
    case stalled
    /// A kernel driver that waits for the chip's interrupt never delivered a sample.
    case noTrigger
    /// The samples show what cannot be.
    case measurement(MeasurementFault)
}

/// What a driver is doing. Payloads have the names of the cases.
public enum IMUState: UInt8, Sendable, BitwiseCopyable {
    case asleep
    case identifying
    case resetting
    case waking
    case configuring
    case settling
    case streaming
    /// Waiting before the next bring-up attempt.
    case recovering
}

/// The requested configuration of a chip. For each setting the driver takes the chip's nearest value that is not
/// smaller.
public struct IMUSettings: Equatable, Sendable, BitwiseCopyable {
    /// Sample rate, Hz. Default 200. The lowest is 4 Hz; the highest depends on chip and bus (see `BusLoad`). The
    /// driver takes the chip's next rate that is not lower. A lower rate costs less bus time, CPU and power; a higher
    /// one catches shorter movements.
    public var rate: Double = 200

    /// Full scale of the accelerometer, ±m/s². Default 8 g. A larger range clips less during a shake and only costs
    /// resolution.
    public var accelerometerRange: Double = 8 * standardGravity

    /// Full scale of the gyroscope, ±rad/s. Default 2000 °/s.
    public var gyroscopeRange: Double = 2000 * .pi / 180

    /// Whether samples have a rotation rate. Default `true`. If not, the ICM-42688 and the LSM6DS family switch their gyroscope
    /// off, put twice as many samples into the FIFO, and have faster rates: up to 4 kHz and 3.33 kHz.
    public var readsGyroscope = true

    /// Seconds between FIFO reads, limited to half of the FIFO's capacity. A smaller value reduces latency; a larger
    /// one costs less bus time and CPU. Default `nil`: 0.02 s while the sensor moves, a gesture is under way or samples
    /// are streamed, and up to 0.09 s at rest, as far as the FIFO then still has room for a host that is busy for 0.1 s.
    ///
    /// With 0.02 s, a sample waits 10 ms on average, which is little compared with the 0.4 s that a shake takes. On an
    /// MPU-6050 at 200 Hz, addresses and FIFO counts add 15 % to the bits of the samples; at 5 ms they add 60 %.
    public var batchInterval: Double?

    /// Whether the chip pulses its data-ready pin. Default `false`; a driver that has a line sets it itself.
    public var signalsDataReady = false

    /// Whether an MPU-9250, an MPU-9255 or an ICM-20948 connects the magnetometer in its package with the bus, where it then
    /// has an address of its own; and whether the magnetometer of a kernel driver is read with a kernel driver's sensor.
    /// Default `false`. Other parts ignore it.
    public var connectsMagnetometer = false

    /// Identity of the supported part that a chip with an unknown identity is treated as. Default `nil`: such a chip is
    /// left alone. Meant for clones with an identity of their own.
    public var assumedIdentity: UInt8?

    /// Creates the default settings.
    @inlinable
    public init() {}
}

extension IMUSettings {
    /// Seconds between two reads while the sensor moves.
    package var movingBatch: Double { batchInterval ?? 0.02 }

    /// The longest time between two reads at rest if `batchInterval` is `nil`, seconds. A tenth of a second, the usual
    /// time between two motion states, is longer even for a host that is late: no read brings two of them.
    package static var restingBatch: Double { 0.09 }
}

/// What a chip must reach: settings that were converted from other units may exceed a step by a rounding error.
extension IMUSettings {
    private static var rounding: Double { 1 - 1e-6 }
    var wantedRate: Double { rate * Self.rounding }
    /// The full scales, g and °/s.
    var wantedGravities: Double { accelerometerRange / standardGravity * Self.rounding }
    var wantedDegrees: Double { gyroscopeRange * degreesPerRadian * Self.rounding }
}

/// A chip and its configuration.
public struct IMUInfo: Sendable, BitwiseCopyable {
    /// The part's name as its manufacturer writes it.
    public var name: StaticString

    /// The content of its identity register.
    public var identity: UInt8

    /// The nominal sample rate, Hz: what the chip would produce with a perfect oscillator.
    public var nominalRate: Double

    /// Full scale of the accelerometer, ±m/s²; infinite if unknown.
    public var accelerometerRange: Double

    /// Full scale of the gyroscope, ±rad/s; zero if the part has none, infinite if unknown.
    public var gyroscopeRange: Double

    /// -3 dB bandwidth of the chip's low-pass, Hz; NaN if unknown.
    public var bandwidth: Double

    /// Creates a description.
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

/// A driver's state, and its counters since it was created.
public struct IMUStatus: Sendable, BitwiseCopyable {
    public var state: IMUState = .asleep

    /// Samples delivered.
    public var samples: UInt64 = 0

    /// Interruptions of the stream, and the estimated number of samples lost in them.
    public var gaps: UInt64 = 0
    public var lostSamples: UInt64 = 0

    /// FIFO resets after an overflow, and after content that was not valid frames.
    public var overflows: UInt64 = 0
    public var misalignments: UInt64 = 0

    /// How often the chip was brought up again after a failure.
    public var recoveries: UInt64 = 0

    /// Failed transactions by `BusError.Kind`.
    public var busErrors = BusErrorCounts()

    /// Samples with a clipped axis: of either sensor, of the accelerometer, and of the gyroscope.
    public var clippedSamples: UInt64 = 0
    public var clippedAccelerations: UInt64 = 0
    public var clippedRotationRates: UInt64 = 0

    /// State and counters of the data-ready line.
    public var dataReady = DataReadyStatus()

    /// The chip's sample period measured against the host's clock, seconds; the nominal period until it has been
    /// measured.
    public var period: Double = 0

    /// The measured period's deviation from the nominal one, parts per million.
    public var periodDeviation: Double = 0

    /// Whether the period is being measured well; otherwise it is the nominal one, or an earlier one that the chip has
    /// left: times may then be wrong by a sample.
    public var isPeriodMeasured = false

    /// The latest fault.
    public var lastFault: IMUFault?

    /// Creates the status of a driver that has not started.
    @inlinable
    public init() {}
}

/// Failed transactions by kind.
public struct BusErrorCounts: Equatable, Sendable, BitwiseCopyable {
    public var notAcknowledged: UInt64 = 0
    public var arbitrationLost: UInt64 = 0
    public var timedOut: UInt64 = 0
    public var inputOutput: UInt64 = 0
    public var other: UInt64 = 0

    /// Creates zeroed counters.
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

    /// All failures.
    public var total: UInt64 { notAcknowledged + arbitrationLost + timedOut + inputOutput + other }
}
