import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

/// Requirement: the driver against the other members of the family, each written from its data sheet a second time.
@Suite struct MPUVariantsOnVirtualChipTests {
    static let models: [VirtualPart] = [.mpu6500, .icm20602, .icm20689]

    @Test("Identified, up within 300 ms, and no sample wrong", arguments: models)
    func start(model: VirtualPart) {
        let rig = VirtualRig(model)
        #expect(rig.run(atMost: 0.3) { rig.firstSample != nil })
        rig.run(1)
        let name = "\(rig.driver.info.name)"
        #expect(name == ["mpu6500": "MPU-6500", "icm20602": "ICM-20602", "icm20689": "ICM-20689"][model.rawValue])
        #expect(rig.wrongSamples == 0)
        #expect(rig.events == [.streaming(afterGap: 0)])
    }

    @Test(
        "Timestamps within 0.2 ms RMS, the low-pass's own delay included, at every setting of it", arguments: models,
        [1000, 500, 200, 100, 50, 25] as [Double])
    func timestamps(model: VirtualPart, rate: Double) {
        var settings = IMUSettings()
        settings.rate = rate
        let rig = VirtualRig(model, settings: settings, oscillatorError: -0.011)
        rig.run(5)
        rig.measureTimestamps()
        rig.run(20)
        #expect(rig.timestampError < 0.0002)
        #expect(rig.driver.info.nominalRate == rate)
        #expect(rig.reversals == 0 && rig.wrongSamples == 0)
        #expect(rig.driver.status.gaps == 0)
        #expect(abs(Double(rig.driver.status.samples) - 25 * rate / 0.989) < max(10, 0.02 * 25 * rate))
    }

    @Test("Every range", arguments: models, [(2, 250), (4, 500), (8, 1000), (16, 2000)] as [(Double, Double)])
    func ranges(model: VirtualPart, ranges: (Double, Double)) {
        var settings = IMUSettings()
        settings.accelerometerRange = ranges.0 * standardGravity
        settings.gyroscopeRange = ranges.1 * .pi / 180
        let rig = VirtualRig(model, settings: settings)
        rig.run(1)
        #expect(rig.driver.status.samples > 150)
        #expect(rig.wrongSamples == 0)
    }

    @Test(
        "What happens to the chip is told, no wrong sample gets through, and the stream is back within two seconds",
        arguments: models,
        [
            .brownOut, .fifoOverflow, .fifoSlip(bytes: 1), .fifoSlip(bytes: 6), .fifoSlip(bytes: 9),
            .bitFlip(register: 0x6A, bit: 6), .bitFlip(register: 0x23, bit: 3),
        ] as [FaultEvent])
    func events(model: VirtualPart, event: FaultEvent) {
        let rig = VirtualRig(model)
        rig.run(1)
        rig.chip.inject(event, at: rig.clock.now().advanced(bySeconds: 0.012))
        #expect(rig.run(atMost: 1) { rig.driver.status.lastFault != nil })
        let noticed = rig.clock.now()
        #expect(rig.run(atMost: 2) { (rig.lastSample ?? noticed) > noticed })
        rig.run(1)
        #expect(rig.driver.status.state == .streaming)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        #expect(rig.driver.status.gaps == 1)
    }

    @Test("An accelerometer's low-pass that flips is noticed", arguments: [.mpu6500, .icm20602] as [VirtualPart])
    func flippedFilter(model: VirtualPart) {
        let rig = VirtualRig(model)
        rig.run(1)
        rig.chip.inject(.bitFlip(register: 0x1D, bit: 0))
        #expect(rig.run(atMost: 0.7) { rig.driver.status.lastFault == .configurationLost(register: 0x1D) })
        #expect(rig.run(atMost: 1) { rig.driver.status.state == .streaming })
    }

    @Test("Each holds what its FIFO does: a host that sleeps for less loses nothing", arguments: models)
    func capacity(model: VirtualPart) {
        let frames: [VirtualPart: Double] = [.mpu6500: 36, .icm20602: 72, .icm20689: 36]
        let rig = VirtualRig(model, oscillatorError: 0, lateness: 0)
        rig.run(1)
        // Of all that fits, what a poll finds already there and what the check for an overflow keeps free.
        rig.clock.advance(bySeconds: ((frames[model] ?? 0) - 7) / 200)
        rig.run(1)
        #expect(rig.driver.status.lostSamples == 0 && rig.driver.status.overflows == 0)
        rig.clock.advance(bySeconds: ((frames[model] ?? 0) + 2) / 200)
        rig.run(1)
        #expect(rig.driver.status.overflows == 1)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
    }

    @Test("What lasts is told, and ends by itself", arguments: models, [.unplugged, .frozenOutput] as [FaultCondition])
    func conditions(model: VirtualPart, condition: FaultCondition) {
        let rig = VirtualRig(model)
        rig.run(1)
        rig.chip.inject(condition, lasting: .seconds(3))
        rig.run(3)
        #expect(rig.events.contains { if case .failed = $0 { true } else { false } })
        #expect(rig.run(atMost: 3) { rig.driver.status.state == .streaming })
        rig.run(1.5)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
    }

    @Test(
        "A copy that answers with another's number, but is made like an MPU-6050, is driven all the same",
        arguments: [0x70, 0x72, 0x98] as [UInt8])
    func copies(identity: UInt8) {
        let rig = VirtualRig(answering: identity)
        rig.run(2)
        #expect(rig.driver.info.identity == identity)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        #expect(rig.driver.status.samples > 350)
        // Its FIFO holds more than is counted on: what it gathers meanwhile is told as an overflow.
        rig.clock.advance(bySeconds: 0.3)
        rig.run(1)
        #expect(rig.driver.status.overflows == 1 && rig.driver.status.misalignments == 0)
        #expect(rig.wrongSamples == 0)
    }

    @Test("A chip of an unknown number is left alone, unless the user says what it is a copy of")
    func vouchedFor() {
        let stranger = VirtualRig(answering: 0x75)
        stranger.run(1)
        #expect(stranger.driver.status.samples == 0)
        #expect(stranger.events == [.failed(.identity(found: 0x75))])
        var settings = IMUSettings()
        settings.assumedIdentity = 0x68
        let rig = VirtualRig(answering: 0x75, settings: settings)
        rig.run(1)
        let info = rig.driver.info
        #expect("\(info.name)" == "MPU-6050" && info.identity == 0x75)
        #expect(rig.driver.status.samples > 150 && rig.wrongSamples == 0)
        // What another number is known for is not overruled.
        let known = VirtualRig(.icm20602, settings: settings)
        known.run(1)
        #expect("\(known.driver.info.name)" == "ICM-20602")
    }
}
