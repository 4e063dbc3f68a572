import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

/// The chips of the families that have no tests of their own.
private let singleParts: [VirtualPart] = [
    .bmi160, .adxl345, .icm42688, .icm42605,
    .lsm9ds1, .lis3dh, .lsm303agr, .lis2de12,
]

/// A rig whose chip runs 2 % slow.
private func makeRig(
    _ part: VirtualPart, rate: Double = 200, oscillatorError: Double = 0.02, maximumReadLength: Int = 8192
) -> VirtualRig {
    var settings = IMUSettings()
    settings.rate = rate
    return VirtualRig(
        part, settings: settings, oscillatorError: oscillatorError, maximumReadLength: maximumReadLength)
}

/// Requirement: each driver works with a register-level model of its chip.
@Suite struct ChipOnVirtualChipTests {
    @Test(
        "Delivers the first sample within 300 ms of power-on, and no wrong one",
        arguments: singleParts)
    func start(kind: VirtualPart) {
        let rig = makeRig(kind)
        #expect(rig.run(atMost: 0.3) { rig.samples > 0 })
        rig.run(1)
        #expect(rig.wrongSamples == 0)
        #expect(rig.events == [.streaming(afterGap: 0)])
    }

    @Test(
        "Timestamps are within 0.2 ms RMS and the period within 100 ppm, at every oscillator error",
        arguments: singleParts, [-0.05, 0, 0.02])
    func timestamps(kind: VirtualPart, oscillatorError: Double) {
        let rig = makeRig(kind, oscillatorError: oscillatorError)
        rig.run(3)
        rig.measureTimestamps()
        rig.run(30)
        #expect(rig.timestampError < 0.0002)
        #expect(abs(rig.status.periodDeviation - oscillatorError * 1e6) < 100)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        #expect(rig.status.gaps == 0)
    }

    @Test(
        "Supports other rates, on a bus limited to 32 bytes", arguments: singleParts,
        [25, 50, 100, 400, 800] as [Double])
    func rates(kind: VirtualPart, rate: Double) {
        let rig = makeRig(kind, rate: rate, maximumReadLength: 32)
        rig.run(10)
        // The chips' own rates, where they have others.
        let others: [VirtualPart: [Double: Double]] = [
            .icm42688: [400: 500, 800: 1000], .icm42605: [400: 500, 800: 1000],
            .lsm9ds1: [25: 59.5, 50: 59.5, 100: 119, 400: 476, 800: 952],
            .lis3dh: [800: 1344], .lsm303agr: [800: 1344], .lis2de12: [800: 1620],
        ]
        let rate = others[kind]?[rate] ?? rate
        #expect(rig.driver.info.nominalRate == rate)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        #expect(rig.status.gaps == 0)
        #expect(abs(Double(rig.samples) - 9.85 * rate / 1.02) < max(10, 0.02 * 10 * rate))
    }

    @Test(
        "Detects faults of the chip within a second, and resumes without a wrong sample",
        arguments: singleParts, [.brownOut, .fifoOverflow] as [FaultEvent])
    func events(kind: VirtualPart, event: FaultEvent) {
        let rig = makeRig(kind)
        rig.run(1)
        rig.chip.inject(event, at: rig.clock.now().advanced(bySeconds: 0.012))
        #expect(rig.run(atMost: 1) { rig.status.lastFault != nil })
        let noticed = rig.clock.now()
        #expect(rig.run(atMost: 2) { (rig.lastSample ?? noticed) > noticed })
        rig.run(1)
        #expect(rig.status.state == .streaming)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        #expect(rig.status.gaps == 1)
        if event == .fifoOverflow { #expect(rig.status.overflows == 1) }
    }

    @Test(
        "ICM-42688-P at 1 kHz: a host that sleeps for 0.12 s loses nothing; after 0.13 s and more, the overflow is reported",
        arguments: [(0.12, 0), (0.13, 1), (0.2, 1), (3, 1)] as [(Double, UInt64)])
    func icm42688Sleep(seconds: Double, overflows: UInt64) {
        let rig = makeRig(.icm42688, rate: 1000, oscillatorError: 0)
        rig.run(2)
        rig.clock.advance(bySeconds: seconds)
        rig.run(1)
        #expect(rig.status.overflows == overflows)
        #expect(rig.status.gaps == overflows)
        #expect(abs(Double(rig.status.lostSamples) - (overflows == 0 ? 0 : 1000 * seconds)) < 40)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
    }

    @Test("Reports a FIFO that lost its framing", arguments: [.bmi160, .icm42688] as [VirtualPart], [1, 2, 6, 11])
    func slip(kind: VirtualPart, bytes: Int) {
        let rig = makeRig(kind)
        rig.run(1)
        rig.chip.inject(.fifoSlip(bytes: bytes), at: rig.clock.now().advanced(bySeconds: 0.012))
        #expect(rig.run(atMost: 1) { rig.status.lastFault == .misaligned })
        rig.run(1)
        #expect(rig.status.state == .streaming)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
    }

    @Test(
        "Detects a flipped setting within half a second",
        arguments: [
            (.bmi160, 0x41, 0), (.bmi160, 0x43, 1), (.bmi160, 0x47, 4), (.bmi160, 0x40, 4), (.adxl345, 0x31, 0),
            (.icm42688, 0x4F, 5), (.icm42688, 0x4E, 0), (.icm42688, 0x52, 1),
            (.icm42688, 0x4C, 5), (.icm42688, 0x4D, 6), (.icm42688, 0x5F, 2), (.icm42688, 0x5F, 6),
            (.icm42688, 0x16, 6),
            (.adxl345, 0x2C, 0), (.adxl345, 0x38, 7), (.adxl345, 0x2D, 3),
            (.lsm9ds1, 0x10, 3), (.lsm9ds1, 0x13, 5), (.lsm9ds1, 0x20, 3), (.lsm9ds1, 0x22, 6), (.lsm9ds1, 0x23, 1),
            (.lsm9ds1, 0x24, 0), (.lsm9ds1, 0x2E, 7), (.lsm9ds1, 0x1F, 7),
            (.lis3dh, 0x20, 4), (.lis3dh, 0x23, 4), (.lis3dh, 0x23, 3), (.lis3dh, 0x24, 6), (.lis3dh, 0x2E, 7),
            (.lis2de12, 0x20, 3),
        ] as [(VirtualPart, UInt8, UInt8)])
    func flippedSetting(kind: VirtualPart, register: UInt8, bit: UInt8) {
        let rig = makeRig(kind)
        rig.run(1)
        rig.chip.inject(.bitFlip(register: register, bit: bit))
        #expect(rig.run(atMost: 0.5) { rig.status.lastFault == .configurationLost(register: register) })
        #expect(rig.run(atMost: 1) { rig.status.state == .streaming })
        #expect(rig.status.recoveries == 1)
    }

    @Test(
        "A range that another program sets, at any point of a batch, never leads to a wrong sample",
        arguments: [
            (.mpu6050, 0x1C, 3, 0), (.mpu6050, 0x1B, 3, 0), (.icm20689, 0x1C, 3, 0), (.lsm6ds3trc, 0x10, 3, 0),
            (.lsm6dso, 0x11, 3, 0), (.ism330dhcx, 0x10, 3, 0), (.bmi160, 0x41, 2, 0), (.bmi160, 0x43, 1, 0),
            (.icm42688, 0x50, 5, 0), (.icm42605, 0x4F, 5, 0), (.adxl345, 0x31, 3, 0), (.adxl375, 0x31, 3, 0),
            (.icm20948, 0x01, 1, 0x20), (.icm20948, 0x14, 1, 0x20), (.lsm9ds1, 0x10, 3, 0), (.lsm9ds1, 0x20, 4, 0),
            (.lis3dh, 0x23, 4, 0), (.lis2de12, 0x23, 4, 0),
        ] as [(VirtualPart, UInt8, UInt8, UInt8)])
    func otherRange(kind: VirtualPart, register: UInt8, bit: UInt8, bank: UInt8) throws {
        for step in 0..<8 {
            let rig = makeRig(kind)
            rig.run(1 + 0.0037 * Double(step))
            let now = rig.clock.now().advanced(bySeconds: 0.0011 * Double(step))
            rig.clock.advance(to: now)
            try rig.chip.invert(1 << bit, of: register, bank: bank, at: now)
            #expect(rig.run(atMost: 0.1) { rig.status.lastFault == .configurationLost(register: register) })
            #expect(rig.run(atMost: 1) { rig.status.state == .streaming })
            rig.run(0.5)
            #expect(rig.status.gaps == 1 && rig.status.recoveries == 1)
            #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        }
    }

    @Test(
        "A chip that shows another bank, because a write was lost or another program selected it, is brought up again",
        arguments: [
            (.icm42688, 0x76, 1), (.icm42688, 0x76, 2), (.icm42605, 0x76, 1), (.icm42605, 0x76, 2),
            (.icm20948, 0x7F, 0x20),
        ] as [(VirtualPart, UInt8, UInt8)])
    func otherBank(kind: VirtualPart, register: UInt8, bank: UInt8) throws {
        let rig = makeRig(kind)
        rig.run(1)
        try rig.chip.write(bank, to: register, at: rig.clock.now())
        #expect(rig.run(atMost: 1) { rig.status.state == .recovering })
        #expect(rig.run(atMost: 2) { rig.status.state == .streaming })
        #expect(rig.status.recoveries == 1 && rig.wrongSamples == 0 && rig.reversals == 0)
    }

    @Test("Tells whether the period is measured: not in the first moments after a start")
    func measuredPeriod() {
        let rig = makeRig(.bmi160)
        #expect(rig.run(atMost: 1) { rig.samples > 0 } && !rig.status.isPeriodMeasured)
        rig.run(3)
        #expect(rig.status.isPeriodMeasured)
        rig.chip.inject(.brownOut)
        #expect(rig.run(atMost: 1) { rig.status.recoveries == 1 } && !rig.status.isPeriodMeasured)
        rig.run(3)
        #expect(rig.status.isPeriodMeasured && abs(rig.status.periodDeviation - 20_000) < 100)
    }

    @Test(
        "Reports the start and the end of a lasting fault, and recovers by itself",
        arguments: singleParts,
        [.unplugged, .notAcknowledged, .stuckBus, .adapterAbsent, .frozenOutput, .stalled, .onesRead]
            as [FaultCondition])
    func conditions(kind: VirtualPart, condition: FaultCondition) {
        guard !kind.repeatsFrames || condition != .frozenOutput else { return }
        let rig = makeRig(kind)
        rig.run(1)
        rig.chip.inject(condition, lasting: .seconds(3))
        rig.run(3)
        #expect(rig.events.contains { if case .failed = $0 { true } else { false } })
        #expect(rig.run(atMost: 3) { rig.status.state == .streaming })
        rig.run(1.5)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        #expect(rig.status.recoveries >= 1)
    }

    @Test("Loses no sample if the chip does not answer for 0.1 s", arguments: singleParts)
    func shortSilence(kind: VirtualPart) {
        let rig = makeRig(kind)
        rig.run(1)
        rig.chip.inject(.notAcknowledged, lasting: .seconds(0.1))
        rig.run(1)
        #expect(rig.status.busErrors.notAcknowledged > 5)
        #expect(rig.status.gaps == 0 && rig.status.recoveries == 0)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
    }

    @Test("Refuses a wrong identity until it is right", arguments: singleParts)
    func wrongIdentity(kind: VirtualPart) {
        let rig = makeRig(kind)
        rig.chip.inject(.wrongIdentity(0x3C), lasting: .seconds(1))
        rig.run(0.9)
        #expect(rig.status.lastFault == .identity(found: 0x3C))
        #expect(rig.samples == 0)
        #expect(rig.run(atMost: 2) { rig.status.state == .streaming })
    }

    @Test(
        "With one transaction in fifty unanswered, loses only the samples of failed bursts",
        arguments: singleParts)
    func flakyBus(kind: VirtualPart) {
        let rig = makeRig(kind)
        rig.run(1)
        rig.chip.inject(.randomlyNotAcknowledged(probability: 0.02))
        rig.run(10)
        #expect(rig.status.busErrors.notAcknowledged > 5)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        #expect(rig.status.recoveries == 0)
    }

    @Test("A stopped chip takes no samples; the next poll starts it again", arguments: singleParts)
    func stop(kind: VirtualPart) throws {
        let rig = makeRig(kind)
        rig.run(1)
        try rig.driver.stop()
        let count = rig.chip.sampleCount
        rig.clock.advance(bySeconds: 2)
        var bus = VirtualBus(rig.chip, clock: rig.clock)
        _ = try bus.read(0x00)
        #expect(rig.chip.sampleCount == count)
        let samples = rig.status.samples
        #expect(rig.run(atMost: 0.3) { rig.status.samples > samples })
        rig.run(1)
        #expect(rig.status.state == .streaming)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
    }
}
