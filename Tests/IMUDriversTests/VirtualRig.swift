import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

@testable import IMUDrivers

/// A driver of any family, as a rig uses it.
protocol PolledDriver: AnyObject {
    var status: IMUStatus { get }
    var info: IMUInfo { get }
    func poll(into batch: inout SampleBatch) -> IMUPoll
    func stop() throws
}

/// A driver of one family.
final class Polled<Part: ChipPart, Bus: RegisterBus, Line: DataReadyLine & ~Copyable>: PolledDriver {
    private var driver: ChipDriver<Part, Bus, ManualClock, Line>

    init(_ part: Part.Type, bus: Bus, clock: ManualClock, settings: IMUSettings, line: consuming Line) {
        driver = ChipDriver(bus: bus, clock: clock, settings: settings, line: line)
    }

    var status: IMUStatus { driver.status }
    var info: IMUInfo { driver.info }
    func poll(into batch: inout SampleBatch) -> IMUPoll { driver.poll(into: &batch) }
    func stop() throws { try driver.stop() }
}

extension ChipPart {
    /// A driver of the family.
    fileprivate static func driver<Bus: RegisterBus, Line: DataReadyLine & ~Copyable>(
        on bus: Bus, clock: ManualClock, settings: IMUSettings, line: consuming Line
    ) -> any PolledDriver {
        Polled(Self.self, bus: bus, clock: clock, settings: settings, line: line)
    }
}

extension VirtualPart {
    /// The driver of the part's family.
    func driver<Bus: RegisterBus, Line: DataReadyLine & ~Copyable>(
        on bus: Bus, clock: ManualClock, settings: IMUSettings, line: consuming Line
    ) -> any PolledDriver {
        family.part.driver(on: bus, clock: clock, settings: settings, line: line)
    }
}

/// Transactions that fail on a bus that works.
final class BusFailures {
    /// The failure of the transaction with this number, if any, and how many bytes of a read the chip has sent before it.
    var next: (Int) -> (error: BusError, sent: Int)? = { _ in nil }
    private var count = 0

    /// How an adapter fails that cannot carry two reads in one transaction, or not if the second one is longer than this, and how
    /// many times it has been asked and has failed.
    var ofJoinedReads: BusError?
    var longestJoined = 0
    private(set) var joinedReads = 0
    private(set) var failedJoins = 0
    /// How many transactions there have been; two reads that are joined are one.
    var transactions: Int { count - joinedReads }
    /// How long such a transaction may pause between the answers, seconds, and whether it may while the chip sends the second
    /// one.
    var pause = 0.0
    var pausesWithinFrames = false
    private var random: UInt64 = 1

    func take() -> (error: BusError, sent: Int)? {
        count += 1
        return next(count)
    }

    func takeJoined(_ bytes: Int) -> BusError? {
        joinedReads += 1
        guard let ofJoinedReads, bytes > longestJoined else { return nil }
        failedJoins += 1
        return ofJoinedReads
    }

    /// A number from 0 to 1.
    func fraction() -> Double {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Double(random >> 11) / 9_007_199_254_740_992
    }
}

/// The bus of a virtual chip, some of whose transactions fail.
struct FailingBus: RegisterBus {
    var bus: VirtualBus<ManualClock>
    let clock: ManualClock
    let failures: BusFailures
    /// Whether it carries two reads in one transaction.
    let joinsReads: Bool

    var maximumReadLength: Int { bus.maximumReadLength }

    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) throws(BusError) {
        guard let failure = failures.take() else { return try bus.read(register, into: buffer) }
        let sent = min(failure.sent, buffer.count)
        if sent > 0 { try bus.read(register, into: UnsafeMutableRawBufferPointer(rebasing: buffer[0..<sent])) }
        throw failure.error
    }

    mutating func read(
        _ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, then second: UInt8,
        into secondBuffer: UnsafeMutableRawBufferPointer
    ) throws(BusError) -> Bool {
        guard joinsReads else { return false }
        if let failure = failures.takeJoined(secondBuffer.count) {
            if failure.kind == .timedOut { clock.advance(bySeconds: 1) }
            throw failure
        }
        try read(register, into: buffer)
        clock.advance(bySeconds: failures.pause * failures.fraction())
        guard failures.pausesWithinFrames else {
            try read(second, into: secondBuffer)
            return true
        }
        let middle = 1 + Int(failures.fraction() * Double(secondBuffer.count - 1))
        try read(second, into: UnsafeMutableRawBufferPointer(rebasing: secondBuffer[..<middle]))
        clock.advance(bySeconds: failures.pause * failures.fraction())
        if middle < secondBuffer.count {
            try bus.read(second, into: UnsafeMutableRawBufferPointer(rebasing: secondBuffer[middle...]))
        }
        return true
    }

    mutating func write(_ register: UInt8, _ value: UInt8) throws(BusError) {
        if let failure = failures.take() { throw failure.error }
        try bus.write(register, value)
    }
}

/// A driver on a virtual chip of any kind, polled by a host that is up to 3 ms late.
final class VirtualRig {
    /// A trajectory with constant readings: what every sample must show, give or take the noise.
    struct Steady: Trajectory {
        static let force = 9.80665 * Vector3(0.5, -0.25, 0.75)
        static let rate = Double.pi / 180 * Vector3(100, -50, 25)
        var duration: Double { .infinity }

        func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
            TrueMotion(attitude: pose, rotationRate: Self.rate, specificForce: Self.force)
        }
    }

    /// The noise of a family's chips, and the allowed deviation of a sample: m/s² and °C.
    private struct Noise {
        var accelerometer = 290e-6
        var gyroscope = 0.007
        var startUp = 0.0
        var force = 0.5
        var temperature = 1.0

        init(of family: IMUFamily) {
            switch family {
            case .mpu6050: (accelerometer, gyroscope, startUp) = (400e-6, 0.005, 0.03)
            case .lsm6ds, .lsm6dso32:
                (accelerometer, gyroscope, startUp) = (90e-6, 0.005, 0.035)
                // Seven times the noise at the highest rate.
                (force, temperature) = (0.25, 0.5)
            case .icm42688, .icm20948: startUp = 0.03
            case .bmi160, .adxl345: break
            // A count is 0.48 m/s². Without some noise in counts, every reading would be the same.
            case .adxl375: (accelerometer, force) = (3.5e-3, 7)
            case .lsm9ds1: startUp = 0.03
            case .lis3dh, .lsm303agr: accelerometer = 220e-6
            // A count is up to 0.61 m/s², or 1.84 at ±16 g.
            case .lis2de12: (accelerometer, force) = (220e-6, 1)
            }
        }
    }

    let clock = ManualClock()
    let chip: VirtualIMUChip
    let driver: any PolledDriver
    let failures = BusFailures()
    /// One in this many polls comes 20 ms late; zero for none.
    var stallEvery: UInt64 = 0
    /// Whether polls are put off as long as the driver permits at rest, and by how much it permits that now, seconds.
    var rests = false
    private(set) var reprieve = 0.0
    /// When the next poll is due.
    var due: Timestamp { next.advanced(bySeconds: rests ? reprieve : 0) }

    /// The samples, the wrong ones among them, and those whose timestamps did not increase.
    private(set) var samples = 0
    private(set) var wrongSamples = 0
    private(set) var reversals = 0
    private(set) var events: [SensorEvent] = []
    private(set) var firstSample: Timestamp?
    private(set) var lastSample: Timestamp?
    /// The largest error on any axis, m/s² and rad/s.
    private(set) var worst = (force: 0.0, rate: 0.0)

    /// The sum of the squared timestamp errors since `measureTimestamps`, s².
    private var squares = 0.0
    private var measured = 0
    private var isMeasuring = false

    private let noise: Noise
    private let lateness: Double
    /// Whether the driver uses this chip's own temperature scale.
    private let checksTemperature: Bool
    private var batch = SampleBatch(capacity: 80)
    private var next: Timestamp
    private var random: UInt64

    init(
        _ part: VirtualPart = .mpu6050, answering identity: UInt8? = nil, settings: IMUSettings = IMUSettings(),
        oscillatorError: Double = 0.03, lateness: Double = 0.003, maximumReadLength: Int = 8192,
        joinsReads: Bool = false,
        seed: UInt64 = 7,
        change: (inout Imperfections) -> Void = { _ in }
    ) {
        noise = Noise(of: part.family)
        var imperfections = Imperfections.ideal
        // Without noise, a working chip could not be distinguished from a frozen one.
        imperfections.accelerometerNoise = noise.accelerometer * 9.80665
        imperfections.gyroscopeNoise = noise.gyroscope * .pi / 180
        imperfections.oscillatorError = oscillatorError * 1e6
        imperfections.gyroscopeStartUp = noise.startUp
        change(&imperfections)
        chip = VirtualIMUChip(part, trajectory: Steady(), imperfections: imperfections, start: clock.now())
        driver = part.driver(
            on: FailingBus(
                bus: VirtualBus(chip, clock: clock, maximumReadLength: maximumReadLength), clock: clock,
                failures: failures, joinsReads: joinsReads),
            clock: clock, settings: settings, line: NoDataReadyLine())
        self.lateness = lateness
        random = seed
        checksTemperature = identity == nil && part.family.hasGyroscope
        next = clock.now()
        if let identity { chip.inject(.wrongIdentity(identity)) }
    }

    var status: IMUStatus { driver.status }

    /// Polls for `seconds`.
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

    /// Expects that an event a second from now is reported, that samples come again within two seconds, and none is wrong.
    func expectRecovery(from event: FaultEvent, sourceLocation: SourceLocation = #_sourceLocation) {
        run(1)
        // While the FIFO contains data.
        chip.inject(event, at: clock.now().advanced(bySeconds: 0.012))
        #expect(run(atMost: 1) { status.lastFault != nil }, sourceLocation: sourceLocation)
        let noticed = clock.now()
        #expect(run(atMost: 2) { (lastSample ?? noticed) > noticed }, sourceLocation: sourceLocation)
        run(1)
        #expect(status.state == .streaming, sourceLocation: sourceLocation)
        #expect(wrongSamples == 0 && reversals == 0, sourceLocation: sourceLocation)
    }

    /// Compares timestamps with the truth from now on.
    func measureTimestamps() { isMeasuring = true }

    /// The root mean square of the timestamp errors, seconds; NaN if none was measured.
    var timestampError: Double { (squares / Double(measured)).squareRoot() }

    private func poll() {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        clock.advance(to: due.advanced(bySeconds: lateness * Double(random >> 11) / 9_007_199_254_740_992))
        if stallEvery > 0, random >> 33 % stallEvery == 0 { clock.advance(bySeconds: 0.02) }
        batch.removeAll()
        let poll = driver.poll(into: &batch)
        next = poll.next
        reprieve = poll.reprieve
        if poll.event != .none { events.append(poll.event) }
        let first = Int(chip.sampleCount) - batch.count
        let hasGyroscope = driver.info.gyroscopeRange > 0
        for index in 0..<batch.count {
            check(batch[index], hasGyroscope)
            guard isMeasuring, let truth = chip.trueSampleTime(UInt64(first + index)) else { continue }
            var error = batch[index].timestamp.seconds(since: truth) + chip.readingDelay.gyroscope
            // With only an accelerometer, a value repeats now and then; the newest samples then wait for the next poll.
            if !hasGyroscope { error -= (error / status.period).rounded() * status.period }
            squares += error * error
            measured += 1
        }
    }

    private func check(_ sample: MotionSample, _ hasGyroscope: Bool) {
        samples += 1
        let force = (sample.acceleration - Steady.force).length
        let rate = (sample.rotationRate - (hasGyroscope ? Steady.rate : .zero)).length
        worst.force = max(worst.force, force)
        worst.rate = max(worst.rate, rate)
        // One degree per second of start-up.
        let isTemperatureRight = abs(sample.temperature - chip.temperature) <= noise.temperature
        if force > noise.force || rate > 0.03 || checksTemperature && !isTemperatureRight
            || hasGyroscope != sample.flags.contains(.rotationRate)
        {
            wrongSamples += 1
        }
        if let lastSample, sample.timestamp <= lastSample { reversals += 1 }
        if firstSample == nil { firstSample = sample.timestamp }
        lastSample = sample.timestamp
    }
}
