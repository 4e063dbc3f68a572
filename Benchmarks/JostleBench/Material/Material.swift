internal import IMUDrivers
internal import MotionCore
internal import VirtualIMU

/// What the stages are fed with: made before anything is measured, and the same in every run.
struct Material {
    /// A board that lies still.
    let rest: Recording

    /// A board that is turned about its axes and then shaken, six times.
    let movement: Recording

    /// The same by a chip whose accelerometer goes to ±2 g, of which the shakes want more.
    let clipped: Recording

    /// Makes it.
    init() {
        rest = Recording(of: .rest)
        movement = Recording(of: .demo)
        clipped = Recording(of: .demo, accelerometerRange: 2 * standardGravity)
    }
}

/// What a driver read of a virtual chip with the noise and the errors of a usual one.
struct Recording {
    /// The driver's samples, 200 a second.
    let samples: [MotionSample]

    /// The content of the FIFO that the driver made them of.
    let frames: [UInt8]

    /// What the driver was asked for.
    let settings: IMUSettings

    /// The chip's true sample period, seconds: 1.2 % longer than its datasheet says.
    let period: Double

    /// Seconds that are recorded: six times the demonstration's 9.5 s, so that it can be repeated without a jump.
    private static let duration = 57.0

    private static let seed: UInt64 = 20_260_101

    /// Records the movement of a name; the accelerometer's range in m/s².
    init(of trajectory: VirtualTrajectory, accelerometerRange: Double = IMUSettings().accelerometerRange) {
        let clock = HandClock()
        let imperfections = Imperfections.typical
        var settings = IMUSettings()
        settings.accelerometerRange = accelerometerRange
        let tape = Tape()
        let chip = VirtualMPU6050(
            trajectory: trajectory.trajectory, imperfections: imperfections, seed: Recording.seed, start: clock.now())
        var driver = MPU6050(
            bus: RecordingBus(VirtualBus(chip, clock: clock), tape: tape), clock: clock, settings: settings)
        var batch = SampleBatch(capacity: 128)
        var lateness = Lateness()
        var samples: [MotionSample] = []
        let end = clock.now().advanced(bySeconds: Recording.duration)
        while clock.now() < end {
            batch.removeAll()
            let next = driver.poll(into: &batch).next
            for index in 0..<batch.count { samples.append(batch[index]) }
            clock.turn(to: Timestamp(nanoseconds: next.nanoseconds + lateness.next()))
        }
        self.samples = samples
        self.settings = settings
        frames = tape.bytes
        period = (1 + imperfections.oscillatorError * 1e-6) / settings.rate
    }
}

/// The bytes that went over a bus, in their order.
private final class Tape {
    var bytes: [UInt8] = []
}

/// A bus that keeps what is read from the FIFO.
private struct RecordingBus: RegisterBus {
    private var bus: VirtualBus<HandClock>
    private let tape: Tape

    var maximumReadLength: Int { bus.maximumReadLength }

    init(_ bus: VirtualBus<HandClock>, tape: Tape) {
        self.bus = bus
        self.tape = tape
    }

    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) throws(BusError) {
        try bus.read(register, into: buffer)
        if register == TapeBus.fifoData { tape.bytes.append(contentsOf: buffer) }
    }

    mutating func write(_ register: UInt8, _ value: UInt8) throws(BusError) {
        try bus.write(register, value)
    }
}
