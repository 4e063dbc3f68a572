import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

/// Requirement: the driver works with a model of the chip that was written independently from the datasheet.
@Suite struct MPU6050OnVirtualChipTests {
    @Test("Delivers the first sample within 300 ms of power-on, and no wrong one")
    func start() {
        let rig = VirtualRig()
        let start = rig.clock.now()
        #expect(rig.run(atMost: 0.3) { rig.firstSample != nil })
        #expect(rig.clock.now().seconds(since: start) < 0.3)
        rig.run(1)
        #expect(rig.wrongSamples == 0)
        #expect(rig.events == [.streaming(afterGap: 0)])
    }

    @Test(
        "Polls up to 3 ms late, one in fifty 20 ms: 0.2 ms RMS, period known within 2 s and to 100 ppm in a minute",
        arguments: [-0.05, -0.02, 0.0003, 0.05], [1, 2, 3] as [UInt64])
    func stalls(oscillatorError: Double, seed: UInt64) {
        let rig = VirtualRig(oscillatorError: oscillatorError, seed: seed)
        rig.stallEvery = 50
        #expect(rig.run(atMost: 0.3) { rig.firstSample != nil })
        rig.run(2)
        // The period is published once it has been measured. A nominal one has no deviation.
        #expect(rig.driver.status.periodDeviation != 0)
        #expect(abs(rig.driver.status.periodDeviation - oscillatorError * 1e6) < 5000)
        rig.measureTimestamps()
        rig.run(60)
        #expect(rig.timestampError < 0.0002)
        #expect(abs(rig.driver.status.periodDeviation - oscillatorError * 1e6) < 100)
        #expect(rig.reversals == 0)
        #expect(rig.driver.status.gaps == 0)
    }

    @Test(
        "Timestamps are within 0.2 ms RMS and the period within 100 ppm, at every oscillator error",
        arguments: [-0.05, -0.011, 0, 0.02, 0.05])
    func timestamps(oscillatorError: Double) {
        let rig = VirtualRig(oscillatorError: oscillatorError)
        rig.run(3)
        rig.measureTimestamps()
        rig.run(60)
        #expect(rig.timestampError < 0.0002)
        #expect(abs(rig.driver.status.periodDeviation - oscillatorError * 1e6) < 100)
        #expect(rig.reversals == 0)
        #expect(rig.wrongSamples == 0)
        #expect(rig.driver.status.gaps == 0)
        #expect(abs(Double(rig.driver.status.samples) - 63 * 200 / (1 + oscillatorError)) < 40)
    }

    @Test("Tracks a chip that drifts as it warms up")
    func warming() {
        let rig = VirtualRig {
            $0.selfHeating = 10
            $0.oscillatorDrift = 100
            $0.thermalTimeConstant = 60
        }
        rig.run(5)
        rig.measureTimestamps()
        rig.run(60)
        #expect(rig.timestampError < 0.0002)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
    }

    @Test(
        "Supports other rates, a bus limited to 32 bytes and a FIFO that is slow to write",
        arguments: [1000, 500, 100, 25] as [Double])
    func rates(rate: Double) {
        var settings = IMUSettings()
        settings.rate = rate
        let rig = VirtualRig(settings: settings, maximumReadLength: 32) { $0.fifoWriteTime = 60e-6 }
        rig.run(10)
        #expect(rig.driver.info.nominalRate == rate)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        #expect(rig.driver.status.gaps == 0)
        #expect(abs(Double(rig.driver.status.samples) - 9.9 * rate / 1.03) < max(10, 0.02 * 10 * rate))
    }

    @Test(
        "Reports faults of the chip, delivers no wrong sample, and resumes within two seconds",
        arguments: [
            .brownOut, .fifoOverflow, .fifoSlip(bytes: 1), .fifoSlip(bytes: 2), .fifoSlip(bytes: 6),
            .fifoSlip(bytes: 9), .bitFlip(register: 0x6A, bit: 6), .bitFlip(register: 0x23, bit: 7),
            .bitFlip(register: 0x6B, bit: 6),
        ] as [FaultEvent])
    func events(event: FaultEvent) {
        let rig = VirtualRig()
        rig.run(1)
        // While the FIFO contains data.
        rig.chip.inject(event, at: rig.clock.now().advanced(bySeconds: 0.012))
        #expect(rig.run(atMost: 1) { rig.driver.status.lastFault != nil })
        let noticed = rig.clock.now()
        #expect(rig.run(atMost: 2) { (rig.lastSample ?? noticed) > noticed })
        rig.run(1)
        #expect(rig.driver.status.state == .streaming)
        #expect(rig.wrongSamples == 0)
        #expect(rig.reversals == 0)
        #expect(rig.driver.status.gaps == 1)
        #expect(rig.events.count >= 2)
    }

    @Test(
        "Detects a flipped range or rate within half a second",
        arguments: [(0x1B, 4), (0x1C, 3), (0x19, 0), (0x1A, 0)] as [(UInt8, UInt8)])
    func flippedSetting(register: UInt8, bit: UInt8) {
        let rig = VirtualRig()
        rig.run(1)
        rig.chip.inject(.bitFlip(register: register, bit: bit))
        #expect(rig.run(atMost: 0.5) { rig.driver.status.lastFault == .configurationLost(register: register) })
        #expect(rig.run(atMost: 1) { rig.driver.status.state == .streaming })
        #expect(rig.driver.status.recoveries == 1)
    }

    @Test(
        "Reports the start and the end of a lasting fault, and recovers by itself",
        arguments: [
            .unplugged, .notAcknowledged, .stuckBus, .adapterAbsent, .frozenOutput,
        ] as [FaultCondition])
    func conditions(condition: FaultCondition) {
        let rig = VirtualRig()
        rig.run(1)
        rig.chip.inject(condition, lasting: .seconds(3))
        rig.run(3)
        #expect(rig.events.contains { if case .failed = $0 { true } else { false } })
        #expect(rig.run(atMost: 3) { rig.driver.status.state == .streaming })
        rig.run(1.5)
        guard case .streaming(let gap) = rig.events.last else {
            Issue.record("the end of the outage was not reported: \(rig.events)")
            return
        }
        #expect(gap > 0.3 && gap < 6)
        #expect(rig.wrongSamples == 0)
        #expect(rig.reversals == 0)
        #expect(rig.driver.status.recoveries >= 1)
    }

    @Test("Loses no sample if one transaction in fifty is unanswered")
    func flakyBus() {
        let rig = VirtualRig()
        rig.run(1)
        rig.chip.inject(.randomlyNotAcknowledged(probability: 0.02))
        rig.run(20)
        #expect(rig.driver.status.busErrors.notAcknowledged > 10)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        #expect(rig.driver.status.recoveries == 0)
        // Only a burst that failed half-way cannot be repeated.
        #expect(rig.driver.status.lostSamples < 160)
    }

    @Test("A host that sleeps for seconds loses what exceeds the FIFO, and reports it")
    func longHostSleep() {
        let rig = VirtualRig()
        rig.run(1)
        rig.clock.advance(bySeconds: 3)
        rig.run(1)
        #expect(rig.driver.status.overflows == 1)
        #expect(rig.driver.status.gaps == 1)
        let wanted: Double = 3 * 200 / 1.03
        #expect(abs(Double(rig.driver.status.lostSamples) - wanted) < 20)
        #expect(rig.events.count == 2)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
    }

    @Test("A stopped chip sleeps and is not accessed; the next poll starts it again")
    func stop() throws {
        let rig = VirtualRig()
        rig.run(1)
        try rig.driver.stop()
        let count = rig.chip.sampleCount
        rig.clock.advance(bySeconds: 2)
        var bus = VirtualBus(rig.chip, clock: rig.clock)
        #expect(try bus.read(0x6B) == 0x41)
        #expect(rig.chip.sampleCount == count)
        let samples = rig.driver.status.samples
        #expect(rig.run(atMost: 0.3) { rig.driver.status.samples > samples })
        rig.run(1)
        #expect(rig.driver.status.state == .streaming)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
    }
}
