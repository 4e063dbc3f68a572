import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

/// The bus clock, Hz.
private final class BusFrequency {
    var hertz: Double
    init(_ hertz: Double) { self.hertz = hertz }
}

/// A bus whose transactions take realistic time. The chip answers half-way through.
private struct TimedBus: RegisterBus {
    var bus: VirtualBus<ManualClock>
    let clock: ManualClock
    let frequency: BusFrequency

    var maximumReadLength: Int { bus.maximumReadLength }

    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) throws(BusError) {
        let half = Double(30 + 9 * buffer.count) / frequency.hertz / 2
        clock.advance(bySeconds: half)
        try bus.read(register, into: buffer)
        clock.advance(bySeconds: half)
    }

    mutating func write(_ register: UInt8, _ value: UInt8) throws(BusError) {
        clock.advance(bySeconds: 29 / frequency.hertz)
        try bus.write(register, value)
    }
}

/// The chips tested with a data-ready line.
private let wiredParts: [VirtualPart] = [
    .mpu6050, .icm20602, .lsm6ds3trc, .lsm6dso, .ism330dhcx, .bmi160, .icm42688, .icm42605, .adxl345, .icm20948,
]

/// A driver whose polls are up to 3 ms late, and one in fifty 20 ms late.
private final class LineRig {
    /// A trajectory with constant readings.
    struct Steady: Trajectory {
        var duration: Double { .infinity }

        func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
            TrueMotion(
                attitude: pose, rotationRate: Vector3(1.7, -0.9, 0.4), specificForce: Vector3(4.9, -2.4, 7.3))
        }
    }

    let clock: ManualClock
    let wire: VirtualWire
    let driver: any PolledDriver
    let chip: VirtualIMUChip
    private let frequency: BusFrequency
    private(set) var reversals = 0
    /// The timestamps since `measure`.
    private var timestamps: [Timestamp] = []
    private var isMeasuring = false
    private var last: Timestamp?
    private var batch = SampleBatch(capacity: 128)
    private var next: Timestamp
    private var random: UInt64
    /// Whether polls are put off as long as the driver permits at rest.
    var rests = false

    init(
        _ part: VirtualPart = .mpu6050, rate: Double = 200, interval: Double? = nil, oscillatorError: Double = 0.02,
        flaws: VirtualWire.Flaws = VirtualWire.Flaws(), capacity: Int = 1024, frequency: Double = 400_000,
        seed: UInt64 = 1, readsGyroscope: Bool = true
    ) {
        let clock = ManualClock()
        self.clock = clock
        let frequency = BusFrequency(frequency)
        self.frequency = frequency
        let wire = VirtualWire(flaws, capacity: capacity, seed: seed)
        self.wire = wire
        random = seed
        next = clock.now()
        var settings = IMUSettings()
        settings.rate = rate
        settings.batchInterval = interval
        settings.readsGyroscope = readsGyroscope
        var imperfections = Imperfections.ideal
        // Without noise, a working chip could not be distinguished from a frozen one.
        imperfections.accelerometerNoise = 400e-6 * 9.80665
        imperfections.gyroscopeNoise = 0.005 * .pi / 180
        imperfections.oscillatorError = oscillatorError * 1e6
        chip = VirtualIMUChip(
            part, trajectory: Steady(), imperfections: imperfections, seed: seed, start: clock.now())
        chip.connect(wire)
        let bus = TimedBus(bus: VirtualBus(chip, clock: clock), clock: clock, frequency: frequency)
        driver = part.driver(
            on: bus, clock: clock, settings: settings, line: VirtualDataReadyLine(wire, clock: clock))
    }

    var status: DataReadyStatus { driver.status.dataReady }

    private func uniform() -> Double {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Double(random >> 11) / 9_007_199_254_740_992
    }

    func run(_ seconds: Double) {
        let end = clock.now().advanced(bySeconds: seconds)
        while clock.now() < end { turn() }
    }

    func run(atMost seconds: Double, until condition: () -> Bool) -> Bool {
        let end = clock.now().advanced(bySeconds: seconds)
        while clock.now() < end {
            if condition() { return true }
            turn()
        }
        return condition()
    }

    /// Compares timestamps with the truth from now on.
    func measure() {
        isMeasuring = true
        timestamps = []
    }

    /// The errors of the timestamps since `measure`, seconds: the root mean square and the largest.
    ///
    /// Samples are matched to their true times at a moment when the bus is idle and the FIFO has just been emptied. No
    /// sample may have been lost before.
    func errors() -> (rms: Double, worst: Double) {
        frequency.hertz = .infinity
        let count = timestamps.count
        _ = run(atMost: 5) { timestamps.count > count }
        let end = Int(chip.sampleCount)
        isMeasuring = false
        var squares = 0.0
        var worst = 0.0
        for (index, timestamp) in timestamps.enumerated() {
            guard let time = chip.trueSampleTime(UInt64(end - timestamps.count + index)) else { return (.nan, .nan) }
            let error = timestamp.seconds(since: time) + chip.readingDelay.gyroscope
            squares += error * error
            worst = max(worst, abs(error))
        }
        return ((squares / Double(timestamps.count)).squareRoot(), worst)
    }

    private func turn() {
        let lateness = uniform() < 0.02 ? 0.02 : 0.003 * uniform()
        clock.advance(to: next.advanced(bySeconds: lateness))
        batch.removeAll()
        let poll = driver.poll(into: &batch)
        next = poll.next.advanced(bySeconds: rests ? poll.reprieve : 0)
        for index in 0..<batch.count {
            let timestamp = batch[index].timestamp
            if let last, timestamp <= last { reversals += 1 }
            last = timestamp
            if isMeasuring { timestamps.append(timestamp) }
        }
    }
}

/// Requirement: with a data-ready line, a sample's timestamp is the time of its edge. Whatever is wrong with the line,
/// no timestamp is wrong.
@Suite struct DataReadyLineTests {
    @Test(
        "In every family, the time of the edge is the sample's timestamp, also with the pauses at rest",
        arguments: wiredParts, [false, true])
    func families(chip: VirtualPart, rests: Bool) {
        let rig = LineRig(chip)
        rig.rests = rests
        #expect(rig.run(atMost: 1) { rig.status.state == .used })
        rig.run(2)
        rig.measure()
        rig.run(20)
        #expect(rig.status.state == .used && rig.status.failures == 0)
        let errors = rig.errors()
        #expect(errors.rms < 0.000_06)
        #expect(errors.worst < 0.000_3)
        #expect(rig.reversals == 0)
        let timed = Double(rig.status.timedSamples) / Double(rig.driver.status.samples)
        // An ADXL345's pin signals only the first sample of a batch.
        #expect(chip == .adxl345 ? timed > (rests ? 0.1 : 0.15) : timed > 0.97)
        #expect(abs(rig.driver.status.periodDeviation - 20_000) < 20)
    }

    @Test(
        "At the highest rates of acceleration alone, a bus of 400 kHz loses nothing",
        arguments: [.icm42688, .lsm6ds3trc, .lsm6dso] as [VirtualPart])
    func accelerationAlone(chip: VirtualPart) {
        let rig = LineRig(chip, rate: 4000 / (chip == .icm42688 ? 1 : 1.21), readsGyroscope: false)
        #expect(rig.run(atMost: 1) { rig.status.state == .used })
        rig.run(2)
        rig.measure()
        rig.run(10)
        #expect(rig.status.state == .used && rig.driver.status.gaps == 0 && rig.reversals == 0)
        #expect(rig.errors().rms < 0.000_1)
        #expect(rig.driver.status.samples > 36_000)
    }

    @Test(
        "Works with other rates, batch intervals and oscillator errors",
        arguments: [
            (4, 0.02, 0.05), (50, 1, -0.05), (200, 0.1, 0.05), (200, 0.005, -0.05), (500, 0.02, 0.05),
            (1000, 0.02, -0.05), (1000, 0.01, 0.05),
        ] as [(Double, Double, Double)])
    func rates(rate: Double, interval: Double, oscillatorError: Double) {
        for seed: UInt64 in 1...3 {
            // The default bus clock of a Raspberry Pi.
            let frequency = rate > 500 ? 400_000.0 : 100_000
            let rig = LineRig(
                rate: rate, interval: interval, oscillatorError: oscillatorError, frequency: frequency, seed: seed)
            let isUsed = rig.run(atMost: 1 + 20 / rate + 4 * interval) { rig.status.state == .used }
            #expect(isUsed)
            rig.measure()
            rig.run(max(20, 100 / rate))
            #expect(rig.status.state == .used && rig.status.failures == 0)
            let errors = rig.errors()
            #expect(errors.rms < 0.000_1)
            #expect(errors.worst < 0.000_5)
            #expect(rig.reversals == 0)
            #expect(rig.driver.status.gaps == 0)
        }
    }

    @Test("Reports an unconnected line once, and loses nothing")
    func silent() {
        var flaws = VirtualWire.Flaws()
        flaws.isBroken = true
        let rig = LineRig(flaws: flaws)
        #expect(rig.run(atMost: 1.5) { rig.status.state == .unused })
        #expect(rig.status.lastFault == .silent)
        rig.run(2)
        rig.measure()
        rig.run(60)
        let errors = rig.errors()
        #expect(errors.rms < 0.000_2)
        #expect(rig.status.timedSamples == 0)
        // Pauses of 1, 2, 4, … s.
        #expect(rig.status.failures < 9)
        #expect(rig.driver.status.gaps == 0 && rig.reversals == 0)
        rig.wire.set(VirtualWire.Flaws())
        #expect(rig.run(atMost: 70) { rig.status.state == .used })
    }

    @Test(
        "Interrupts that are late (one in a hundred, by up to 2 ms) do not time samples",
        arguments: 1...3 as ClosedRange<UInt64>)
    func late(seed: UInt64) {
        var flaws = VirtualWire.Flaws()
        flaws.lateEvery = 100
        flaws.longestDelay = 0.002
        let rig = LineRig(flaws: flaws, seed: seed)
        rig.run(4)
        rig.measure()
        rig.run(60)
        let errors = rig.errors()
        #expect(errors.rms < 0.000_1)
        #expect(errors.worst < 0.000_4)
        #expect(rig.status.outlierEdges > 50)
        #expect(rig.status.state == .used && rig.status.failures == 0)
    }

    @Test("With interrupts that are 0 to 0.3 ms late, timestamps are as accurate as possible")
    func slowHost() {
        var flaws = VirtualWire.Flaws()
        flaws.latency = 0.000_01...0.000_3
        let rig = LineRig(flaws: flaws)
        rig.run(4)
        rig.measure()
        rig.run(60)
        let errors = rig.errors()
        #expect(errors.rms < 0.000_2)
        #expect(rig.status.state == .used && rig.status.failures == 0)
        #expect(abs(rig.driver.status.periodDeviation - 20_000) < 100)
    }

    @Test(
        "Detects missed and spurious edges before they time a sample",
        arguments: [true, false], [1, 2, 3, 4] as [UInt64])
    func missedAndSpurious(isMissed: Bool, seed: UInt64) {
        for rate in [50.0, 200, 1000] {
            let rig = LineRig(rate: rate, seed: seed)
            rig.run(4)
            rig.measure()
            var flaws = VirtualWire.Flaws()
            if isMissed { flaws.missedEvery = 500 } else { flaws.spuriousEvery = 500 }
            rig.wire.set(flaws)
            rig.run(60)
            #expect(rig.status.failures > 0)
            let errors = rig.errors()
            #expect(errors.worst < 0.000_5)
            #expect(rig.reversals == 0)
            rig.wire.set(VirtualWire.Flaws())
            #expect(rig.run(atMost: 70) { rig.status.state == .used })
        }
    }

    @Test("Edges lost in the host's queue are detected by their numbers, and the match holds")
    func lostInQueue() {
        // Twenty edges per batch.
        let rig = LineRig(interval: 0.1, capacity: 12)
        rig.run(4)
        rig.measure()
        rig.run(30)
        #expect(rig.status.lostEdges > 1000)
        #expect(rig.status.state == .used && rig.status.failures == 0)
        let errors = rig.errors()
        #expect(errors.worst < 0.000_3)
    }

    @Test("After a FIFO reset and after a brown-out the edges are matched again", arguments: [true, false])
    func reset(isOverflow: Bool) {
        let rig = LineRig()
        rig.run(4)
        rig.measure()
        rig.chip.inject(isOverflow ? .fifoOverflow : .brownOut)
        #expect(rig.run(atMost: 1) { rig.status.state == .seeking })
        #expect(rig.run(atMost: 2) { rig.status.state == .used })
        rig.run(5)
        #expect(rig.driver.status.gaps == 1)
        #expect(rig.reversals == 0)
        rig.measure()
        rig.run(10)
        let errors = rig.errors()
        #expect(errors.worst < 0.000_3)
    }

    @Test(
        "Detects and repairs a flipped bit in the pin's registers",
        arguments: [
            (.mpu6050, 0x38, 0), (.mpu6050, 0x37, 7), (.lsm6ds3trc, 0x0D, 1), (.lsm6dso, 0x0B, 7), (.bmi160, 0x51, 4),
            (.bmi160, 0x53, 3), (.bmi160, 0x56, 7), (.icm42688, 0x14, 0), (.icm42688, 0x64, 4), (.icm42688, 0x65, 3),
            (.adxl345, 0x2E, 7), (.adxl345, 0x2F, 7), (.icm20948, 0x0F, 7), (.icm20948, 0x11, 0),
        ] as [(VirtualPart, UInt8, UInt8)])
    func flipped(chip: VirtualPart, register: UInt8, bit: UInt8) {
        let rig = LineRig(chip)
        rig.run(1)
        rig.chip.inject(.bitFlip(register: register, bit: bit))
        #expect(rig.run(atMost: 1) { rig.driver.status.lastFault == .configurationLost(register: register) })
        #expect(rig.run(atMost: 2) { rig.status.state == .used })
    }

    @Test("On a chip that cannot pulse, reports the line as unsupported once and samples without it")
    func withoutPulse() {
        let rig = LineRig(.lsm6ds3)
        rig.run(5)
        let samples = rig.driver.status.samples
        #expect(samples > 900)
        let status = rig.status
        #expect(status.state == .unused && status.lastFault == .unsupported)
        #expect(status.failures == 1 && status.edges == 0)
        #expect(rig.driver.status.gaps == 0 && rig.wire.raised == 0)
    }
}
