internal import IMUDrivers
internal import MotionCore
internal import VirtualIMU

/// The input of the stages: created before the measurement, and the same in every run.
struct Material {
    /// A board at rest.
    let rest: Recording

    /// A board that is turned about its axes and then shaken, six times.
    let movement: Recording

    /// The same with an accelerometer range of ±2 g, which the shakes exceed.
    let clipped: Recording

    /// Creates the recordings.
    init() {
        rest = Recording(of: .rest)
        movement = Recording(of: .demo)
        clipped = Recording(of: .demo, accelerometerRange: 2 * standardGravity)
    }
}

/// The data that a driver read from a virtual chip with typical noise and errors.
struct Recording {
    /// The driver's samples, 200 per second.
    let samples: [MotionSample]

    /// The FIFO data from which the driver made them.
    let frames: [UInt8]

    /// The driver's settings.
    let settings: IMUSettings

    /// The chip's true sample period, seconds: 1.2 % longer than its datasheet says.
    let period: Double

    /// The duration, seconds: six times the demo trajectory's 9.5 s, so that it can be repeated without a jump.
    private static let duration = 57.0

    private static let seed: UInt64 = 20_260_101

    /// Records a trajectory; the accelerometer's range is in m/s².
    init(of trajectory: VirtualTrajectory, accelerometerRange: Double = IMUSettings().accelerometerRange) {
        let clock = ManualClock()
        let imperfections = Imperfections.typical
        var settings = IMUSettings()
        settings.accelerometerRange = accelerometerRange
        let tape = Tape()
        let chip = VirtualIMUChip(
            trajectory: trajectory.trajectory, imperfections: imperfections, seed: Recording.seed, start: clock.now())
        var driver = MPU6050(
            bus: RecordingBus(VirtualBus(chip, clock: clock), tape: tape), clock: clock, settings: settings,
            line: NoDataReadyLine())
        var batch = SampleBatch(capacity: 128)
        var lateness = Lateness()
        var samples: [MotionSample] = []
        let end = clock.now().advanced(bySeconds: Recording.duration)
        while clock.now() < end {
            batch.removeAll()
            let next = driver.poll(into: &batch).next
            for index in 0..<batch.count { samples.append(batch[index]) }
            clock.set(to: Timestamp(nanoseconds: next.nanoseconds + lateness.next()))
        }
        self.samples = samples
        self.settings = settings
        frames = tape.bytes
        period = (1 + imperfections.oscillatorError * 1e-6) / settings.rate
    }
}

/// The bytes read from a bus, in order.
private final class Tape {
    var bytes: [UInt8] = []
}

/// A bus that records the data read from the FIFO.
private struct RecordingBus: RegisterBus {
    private var bus: VirtualBus<ManualClock>
    private let tape: Tape

    var maximumReadLength: Int { bus.maximumReadLength }

    init(_ bus: VirtualBus<ManualClock>, tape: Tape) {
        self.bus = bus
        self.tape = tape
    }

    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) throws(BusError) {
        try bus.read(register, into: buffer)
        if register == ReplayBus.fifoData { tape.bytes.append(contentsOf: buffer) }
    }

    mutating func write(_ register: UInt8, _ value: UInt8) throws(BusError) {
        try bus.write(register, value)
    }
}
