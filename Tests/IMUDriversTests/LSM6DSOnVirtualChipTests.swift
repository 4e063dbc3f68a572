import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

/// The family's virtual chips.
private let lsm6dsParts = VirtualPart.parts(of: .lsm6ds)

/// Requirement: the driver works with register-level models of the chips, with both kinds of FIFO.
@Suite struct LSM6DSOnVirtualChipTests {
    @Test("Delivers the first sample within 300 ms of power-on, and no wrong one", arguments: lsm6dsParts)
    func start(model: VirtualPart) {
        let rig = VirtualRig(model)
        let start = rig.clock.now()
        #expect(rig.run(atMost: 0.3) { rig.firstSample != nil })
        #expect(rig.clock.now().seconds(since: start) < 0.3)
        rig.run(1)
        #expect(rig.wrongSamples == 0)
        #expect(rig.events == [.streaming(afterGap: 0)])
    }

    @Test(
        "Timestamps are within 0.2 ms RMS and the period within 100 ppm, at every oscillator error",
        arguments: lsm6dsParts, [-0.05, -0.011, 0, 0.05])
    func timestamps(model: VirtualPart, oscillatorError: Double) {
        let rig = VirtualRig(model, oscillatorError: oscillatorError)
        rig.run(3)
        rig.measureTimestamps()
        rig.run(60)
        #expect(rig.timestampError < 0.0002)
        #expect(abs(rig.driver.status.periodDeviation - oscillatorError * 1e6) < 100)
        #expect(rig.reversals == 0)
        #expect(rig.wrongSamples == 0)
        #expect(rig.driver.status.gaps == 0)
        #expect(abs(Double(rig.driver.status.samples) - 63 * 208 / (1 + oscillatorError)) < 60)
    }

    @Test(
        "Supports every rate, on a bus limited to 32 bytes, with a FIFO that is slow to write",
        arguments: lsm6dsParts,
        [12.5, 26, 52, 104, 208, 416, 833, 1660])
    func rates(model: VirtualPart, rate: Double) {
        var settings = IMUSettings()
        settings.rate = rate
        let rig = VirtualRig(model, settings: settings, maximumReadLength: 32) { $0.fifoWriteTime = 20e-6 }
        rig.run(10)
        #expect(rig.driver.info.nominalRate == rate)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        #expect(rig.driver.status.gaps == 0)
        #expect(abs(Double(rig.driver.status.samples) - 9.85 * rate / 1.03) < max(10, 0.02 * 10 * rate))
    }

    @Test(
        "Readings are the same in every range", arguments: lsm6dsParts,
        [(2, 250), (4, 500), (8, 1000), (16, 2000)])
    func ranges(model: VirtualPart, range: (Int, Int)) {
        var settings = IMUSettings()
        settings.accelerometerRange = Double(range.0) * 9.80665
        settings.gyroscopeRange = Double(range.1) * .pi / 180
        let rig = VirtualRig(model, settings: settings)
        rig.run(2)
        #expect(rig.driver.status.samples > 300)
        #expect(rig.wrongSamples == 0)
        // Six times the noise, plus one count per axis.
        #expect(rig.worst.force < 0.06)
        #expect(rig.worst.rate < 0.01)
    }

    @Test(
        "Reports faults of the chip, delivers no wrong sample, and resumes within two seconds",
        arguments: lsm6dsParts,
        [.brownOut, .fifoOverflow, .bitFlip(register: 0x0A, bit: 1), .bitFlip(register: 0x11, bit: 6)] as [FaultEvent])
    func events(model: VirtualPart, event: FaultEvent) {
        expectRecovery(of: VirtualRig(model), from: event)
    }

    @Test(
        "Detects lost framing of words", arguments: [.lsm6ds3, .lsm6ds3trc] as [VirtualPart],
        [.fifoSlip(bytes: 1), .fifoSlip(bytes: 2), .fifoSlip(bytes: 6), .fifoSlip(bytes: 10)] as [FaultEvent])
    func untaggedSlip(model: VirtualPart, event: FaultEvent) {
        expectRecovery(of: VirtualRig(model), from: event)
    }

    @Test(
        "Detects lost framing of tagged words", arguments: [.lsm6dso, .ism330dhcx] as [VirtualPart],
        [.fifoSlip(bytes: 1), .fifoSlip(bytes: 3), .fifoSlip(bytes: 7), .fifoSlip(bytes: 8)] as [FaultEvent])
    func taggedSlip(model: VirtualPart, event: FaultEvent) {
        expectRecovery(of: VirtualRig(model), from: event)
    }

    private func expectRecovery(of rig: VirtualRig, from event: FaultEvent) {
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
        "Reports the start and the end of a lasting fault, and recovers by itself", arguments: lsm6dsParts,
        [.unplugged, .notAcknowledged, .stuckBus, .adapterAbsent, .frozenOutput] as [FaultCondition])
    func conditions(model: VirtualPart, condition: FaultCondition) {
        let rig = VirtualRig(model)
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

    @Test("Refuses another identity until it is right", arguments: lsm6dsParts)
    func wrongIdentity(model: VirtualPart) {
        let rig = VirtualRig(model)
        rig.chip.inject(.wrongIdentity(0x33), lasting: .seconds(1))
        rig.run(0.9)
        #expect(rig.events == [.failed(.identity(found: 0x33))])
        #expect(rig.run(atMost: 2) { rig.driver.status.state == .streaming })
    }

    @Test("Loses no sample if one transaction in fifty is unanswered", arguments: lsm6dsParts)
    func flakyBus(model: VirtualPart) {
        let rig = VirtualRig(model)
        rig.run(1)
        rig.chip.inject(.randomlyNotAcknowledged(probability: 0.02))
        rig.run(20)
        #expect(rig.driver.status.busErrors.notAcknowledged > 10)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        #expect(rig.driver.status.recoveries == 0)
        #expect(rig.driver.status.lostSamples < 160)
    }

    @Test(
        "A host that sleeps for seconds loses what exceeds the FIFO, and reports it", arguments: lsm6dsParts
    )
    func longHostSleep(model: VirtualPart) {
        let rig = VirtualRig(model)
        rig.run(1)
        rig.clock.advance(bySeconds: 4)
        rig.run(1)
        #expect(rig.driver.status.overflows == 1)
        #expect(rig.driver.status.gaps == 1)
        let wanted: Double = 4 * 208 / 1.03
        #expect(abs(Double(rig.driver.status.lostSamples) - wanted) < 20)
        #expect(rig.events.count == 2)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
    }

    @Test("A host that sleeps for less than the FIFO's duration loses nothing", arguments: lsm6dsParts)
    func shortHostSleep(model: VirtualPart) {
        let rig = VirtualRig(model)
        rig.run(1)
        rig.clock.advance(bySeconds: 1)
        rig.run(1)
        #expect(rig.driver.status.gaps == 0)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        let wanted: Double = 2.9 * 208 / 1.03
        #expect(abs(Double(rig.driver.status.samples) - wanted) < 20)
    }

    @Test("Stopping switches both sensors off, and the chip is not accessed again", arguments: lsm6dsParts)
    func stop(model: VirtualPart) throws {
        let rig = VirtualRig(model)
        rig.run(1)
        try rig.driver.stop()
        let count = rig.chip.sampleCount
        rig.clock.advance(bySeconds: 2)
        var bus = VirtualBus(rig.chip, clock: rig.clock)
        #expect(try bus.read(0x10) == 0)
        #expect(try bus.read(0x11) == 0)
        #expect(rig.chip.sampleCount == count)
        let samples = rig.driver.status.samples
        #expect(rig.run(atMost: 0.3) { rig.driver.status.samples > samples })
        rig.run(1)
        #expect(rig.driver.status.state == .streaming)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
    }
}
