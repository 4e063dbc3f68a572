import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

/// A magnetometer's driver on a scripted bus, polled when it is due.
final class ScriptedMagnetometerRig<Part: MagnetometerPart> {
    let clock = ManualClock()
    let script: BusScript
    var driver: MagnetometerDriver<Part, ScriptedBus, ManualClock>
    var next: Timestamp
    var sample: MagneticSample?

    init() {
        script = BusScript(clock: clock)
        next = clock.now()
        driver = MagnetometerDriver(bus: ScriptedBus(script), clock: clock)
    }

    /// Polls when the driver is due. Returns how long it had waited for that, seconds.
    @discardableResult
    func poll() -> Double {
        let pause = next.seconds(since: clock.now())
        clock.advance(to: next)
        let poll = driver.poll()
        next = poll.next
        sample = poll.sample
        return pause
    }

    /// Expects the registers to be written and read back.
    func expect(_ registers: [(UInt8, UInt8)]) {
        for (register, value) in registers {
            script.write(register, value)
            script.read(register, value)
        }
    }

    var status: MagnetometerStatus { driver.status }
}

/// A magnetometer's driver of any kind.
protocol PolledMagnetometer: AnyObject {
    var status: MagnetometerStatus { get }
    func poll() -> MagnetometerPoll
    func stop() throws
}

private final class PolledMagnetometerDriver<Part: MagnetometerPart>: PolledMagnetometer {
    private var driver: MagnetometerDriver<Part, VirtualBus<ManualClock>, ManualClock>

    init(_ part: Part.Type, bus: VirtualBus<ManualClock>, clock: ManualClock) {
        driver = MagnetometerDriver(bus: bus, clock: clock)
    }

    var status: MagnetometerStatus { driver.status }
    func poll() -> MagnetometerPoll { driver.poll() }
    func stop() throws { try driver.stop() }
}

extension VirtualMagnetometerPart {
    /// The part's driver.
    func driver(on bus: VirtualBus<ManualClock>, clock: ManualClock) -> any PolledMagnetometer {
        switch self {
        case .ak8963: PolledMagnetometerDriver(AK8963.self, bus: bus, clock: clock)
        case .ak09916: PolledMagnetometerDriver(AK09916.self, bus: bus, clock: clock)
        case .lsm9ds1: PolledMagnetometerDriver(LSM9DS1Magnetometer.self, bus: bus, clock: clock)
        }
    }

    /// The motion chip that the magnetometer is in or beside.
    var host: VirtualPart {
        switch self {
        case .ak8963: .mpu9250
        case .ak09916: .icm20948
        case .lsm9ds1: .lsm9ds1
        }
    }
}

/// A board with a motion chip and its magnetometer, which tumbles, and both drivers, polled by a host that is up to 3 ms late.
final class MagnetometerRig {
    /// Turns about an axis that is askew to all others, at 60 °/s.
    struct Tumble: Trajectory {
        static let rate = Vector3(0.5, -0.7, 0.6)
        var duration: Double { .infinity }

        func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
            TrueMotion(
                attitude: pose * Quaternion(rotationVector: Self.rate * time), rotationRate: Self.rate, position: .zero,
                acceleration: .zero)
        }
    }

    let clock = ManualClock()
    let host: VirtualIMUChip
    let chip: VirtualMagnetometer
    let surroundings: MagneticSurroundings
    private let hostDriver: any PolledDriver
    let driver: any PolledMagnetometer
    private let start: Timestamp
    private let period: Double

    private(set) var readings = 0
    /// Readings that differ by more than 5 µT from the field at their time.
    private(set) var wrongReadings = 0
    private(set) var reversals = 0
    private(set) var lastReading: Timestamp?
    /// The largest difference between the field and what was delivered, both at the time of the measurement, µT.
    private(set) var worstField = 0.0
    /// The range of the errors of the time stamps, seconds.
    private(set) var timeErrors = (least: Double.infinity, most: -Double.infinity)

    private var next: Timestamp
    private var nextOfHost: Timestamp
    private var batch = SampleBatch(capacity: 80)
    private var random: UInt64 = 7

    init(
        _ part: VirtualMagnetometerPart, surroundings: MagneticSurroundings = MagneticSurroundings(),
        imperfections: MagnetometerImperfections = .typical, connectsMagnetometer: Bool = true
    ) {
        start = clock.now()
        next = start
        nextOfHost = start
        self.surroundings = surroundings
        period = part == .lsm9ds1 ? 0.0125 : 0.01
        var motion = Imperfections.ideal
        motion.accelerometerNoise = 0.003
        motion.gyroscopeNoise = 0.0001
        host = VirtualIMUChip(part.host, trajectory: Tumble(), imperfections: motion, start: start)
        chip = VirtualMagnetometer(
            part, trajectory: Tumble(), surroundings: surroundings, imperfections: imperfections, start: start)
        if part != .lsm9ds1 { chip.connect(behind: host) }
        var settings = IMUSettings()
        settings.connectsMagnetometer = connectsMagnetometer
        hostDriver = part.host.driver(
            on: VirtualBus(host, clock: clock), clock: clock, settings: settings, line: NoDataReadyLine())
        driver = part.driver(on: VirtualBus(chip, clock: clock), clock: clock)
    }

    var status: MagnetometerStatus { driver.status }
    var hostStatus: IMUStatus { hostDriver.status }

    /// Polls both drivers for `seconds`.
    func run(_ seconds: Double) {
        let end = clock.now().advanced(bySeconds: seconds)
        while clock.now() < end { poll() }
    }

    /// Polls until `condition` holds. Returns whether it did within `seconds`.
    func run(atMost seconds: Double, until condition: () -> Bool) -> Bool {
        let end = clock.now().advanced(bySeconds: seconds)
        while clock.now() < end {
            if condition() { return true }
            poll()
        }
        return condition()
    }

    private func poll() {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let lateness = 0.003 * Double(random >> 11) / 9_007_199_254_740_992
        clock.advance(to: min(next, nextOfHost).advanced(bySeconds: lateness))
        if clock.now() >= nextOfHost {
            batch.removeAll()
            nextOfHost = hostDriver.poll(into: &batch).next
        }
        guard clock.now() >= next else { return }
        let poll = driver.poll()
        next = poll.next
        if let sample = poll.sample { check(sample) }
    }

    private func check(_ sample: MagneticSample) {
        readings += 1
        if (sample.field - field(at: sample.timestamp)).length > 5 { wrongReadings += 1 }
        if let lastReading, sample.timestamp <= lastReading { reversals += 1 }
        lastReading = sample.timestamp
        guard let truth = chip.measurementTime else { return }
        worstField = max(worstField, (sample.field - field(at: truth)).length)
        let error = sample.timestamp.seconds(since: truth)
        timeErrors = (min(timeErrors.least, error), max(timeErrors.most, error))
    }

    /// The field along the axes of accelerometer and gyroscope, µT: the earth's, unless the board has iron.
    private func field(at instant: Timestamp) -> Vector3 {
        surroundings.field(at: Tumble().motion(at: instant.seconds(since: start)).attitude)
    }

    /// The largest possible error of a time stamp, s.
    var longestTimeError: Double { period / 2 * 1.05 }
}
