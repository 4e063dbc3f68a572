import IMUDrivers
import MotionCore
import MotionTestSupport
import VirtualIMU

/// A driver on a virtual LSM6DS, polled by a host that is up to 3 ms late.
final class LSM6DSVirtualRig {
    /// Readings that never change: what a sample must be, give or take the noise.
    struct Steady: Trajectory {
        static let force = 9.80665 * Vector3(0.5, -0.25, 0.75)
        static let rate = Double.pi / 180 * Vector3(100, -50, 25)
        var duration: Double { .infinity }

        func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
            TrueMotion(attitude: pose, rotationRate: Self.rate, specificForce: Self.force)
        }
    }

    let clock = ManualClock()
    let chip: VirtualLSM6DS
    var driver: LSM6DS<VirtualBus<ManualClock>, ManualClock>
    let lateness: Double

    /// The samples that were not what the chip went through, and those whose timestamps did not increase.
    private(set) var wrongSamples = 0
    private(set) var reversals = 0
    private(set) var events: [IMUPoll.Event] = []
    private(set) var firstSample: Timestamp?
    private(set) var lastSample: MotionSample?
    /// The largest difference from the truth on any axis, m/s² and rad/s.
    private(set) var worst = (force: 0.0, rate: 0.0)
    /// Squares of the timestamps' errors since `measureTimestamps`, s².
    private var squares = 0.0
    private var measured = 0
    private var isMeasuring = false

    private var batch = SampleBatch(capacity: 80)
    private var next: Timestamp
    private var random: UInt64 = 7

    init(
        _ model: VirtualPart, settings: IMUSettings = IMUSettings(), oscillatorError: Double = 0.03,
        lateness: Double = 0.003, maximumReadLength: Int = 8192, change: (inout Imperfections) -> Void = { _ in }
    ) {
        var imperfections = Imperfections.ideal
        // Without noise a living chip could not be told from a frozen one.
        imperfections.accelerometerNoise = 90e-6 * 9.80665
        imperfections.gyroscopeNoise = 0.005 * .pi / 180
        imperfections.oscillatorError = oscillatorError * 1e6
        imperfections.gyroscopeStartUp = 0.035
        change(&imperfections)
        chip = VirtualLSM6DS(model, trajectory: Steady(), imperfections: imperfections, start: clock.now())
        driver = LSM6DS(
            bus: VirtualBus(chip, clock: clock, maximumReadLength: maximumReadLength), clock: clock,
            settings: settings)
        self.lateness = lateness
        next = clock.now()
    }

    /// Polls for `seconds`.
    func run(_ seconds: Double) {
        let end = clock.now().advanced(bySeconds: seconds)
        while clock.now() < end { poll() }
    }

    /// Polls until `condition` holds; returns whether it did within `seconds`.
    func run(atMost seconds: Double, until condition: () -> Bool) -> Bool {
        let end = clock.now().advanced(bySeconds: seconds)
        while clock.now() < end {
            if condition() { return true }
            poll()
        }
        return condition()
    }

    /// Compares timestamps with the truth from now on.
    func measureTimestamps() {
        isMeasuring = true
    }

    /// The root mean square of the timestamps' errors, seconds; not-a-number where none was measured.
    var timestampError: Double { (squares / Double(measured)).squareRoot() }

    private func poll() {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        clock.advance(to: next.advanced(bySeconds: lateness * Double(random >> 11) / 9_007_199_254_740_992))
        batch.removeAll()
        let poll = driver.poll(into: &batch)
        next = poll.next
        if poll.event != .none { events.append(poll.event) }
        let first = Int(chip.sampleCount) - batch.count
        for index in 0..<batch.count {
            check(batch[index])
            guard isMeasuring, let truth = chip.trueSampleTime(UInt64(first + index)) else { continue }
            let error = batch[index].timestamp.seconds(since: truth) + chip.readingDelay.gyroscope
            squares += error * error
            measured += 1
        }
    }

    private func check(_ sample: MotionSample) {
        let force = (sample.acceleration - Steady.force).length
        let rate = (sample.rotationRate - Steady.rate).length
        worst.force = max(worst.force, force)
        worst.rate = max(worst.rate, rate)
        // Seven times the noise at the highest rate; a degree per second of start-up.
        if force > 0.25 || rate > 0.03 || abs(sample.temperature - chip.temperature) > 0.5 { wrongSamples += 1 }
        if let lastSample, sample.timestamp <= lastSample.timestamp { reversals += 1 }
        if firstSample == nil { firstSample = sample.timestamp }
        lastSample = sample
    }
}
