import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

private let mpuVariants: [VirtualPart] = [.mpu6500, .mpu9250, .icm20602, .icm20689]
private let lsm6dsParts = VirtualPart.parts(of: .lsm6ds)

/// The chips of the families with one or two parts.
private let singleParts: [VirtualPart] = [
    .bmi160, .adxl345, .icm42688, .icm42605,
    .lsm9ds1, .lis3dh, .lsm303agr, .lis2de12,
]

private let allParts = [.mpu6050] + mpuVariants + lsm6dsParts + [.icm20948] + singleParts

/// Each part of a row with each of its values.
private func pairs<Value>(_ table: [([VirtualPart], [Value])]) -> [(VirtualPart, Value)] {
    table.flatMap { parts, values in parts.flatMap { part in values.map { (part, $0) } } }
}

/// A rig whose chip runs 3 % slow, or 2 % in the families with one or two parts.
private func makeRig(
    _ part: VirtualPart, rate: Double = 200, oscillatorError: Double? = nil, maximumReadLength: Int = 8192,
    change: (inout Imperfections) -> Void = { _ in }
) -> VirtualRig {
    var settings = IMUSettings()
    settings.rate = rate
    return VirtualRig(
        part, settings: settings, oscillatorError: oscillatorError ?? usualError(part),
        maximumReadLength: maximumReadLength, change: change)
}

private func usualError(_ part: VirtualPart) -> Double { singleParts.contains(part) ? 0.02 : 0.03 }

/// Requirement: each driver works with a register-level model of its chip, which was written independently from its data
/// sheet.
@Suite struct ChipOnVirtualChipTests {
    @Test("Delivers the first sample within 300 ms of power-on, and no wrong one", arguments: allParts)
    func start(part: VirtualPart) {
        let rig = makeRig(part)
        let start = rig.clock.now()
        #expect(rig.run(atMost: 0.3) { rig.samples > 0 })
        #expect(rig.clock.now().seconds(since: start) < 0.3)
        rig.run(1)
        #expect(rig.wrongSamples == 0)
        #expect(rig.events == [.streaming(afterGap: 0)])
    }

    @Test(
        "Identifies the member of a family",
        arguments: [
            (.mpu6500, "MPU-6500"), (.mpu9250, "MPU-9250"), (.icm20602, "ICM-20602"), (.icm20689, "ICM-20689"),
        ] as [(VirtualPart, String)])
    func name(part: VirtualPart, name: String) {
        let rig = makeRig(part)
        rig.run(0.3)
        #expect("\(rig.driver.info.name)" == name)
    }

    @Test(
        "Timestamps are within 0.2 ms RMS and the period within 100 ppm, at every oscillator error",
        arguments: pairs([
            ([.mpu6050], [-0.05, -0.011, 0, 0.02, 0.05]), (lsm6dsParts, [-0.05, -0.011, 0, 0.05]),
            (singleParts, [-0.05, 0, 0.02]),
        ]))
    func timestamps(part: VirtualPart, oscillatorError: Double) {
        let rig = makeRig(part, oscillatorError: oscillatorError)
        let isSingle = singleParts.contains(part)
        let seconds: Double = isSingle ? 30 : 60
        rig.run(3)
        rig.measureTimestamps()
        rig.run(seconds)
        #expect(rig.timestampError < 0.0002)
        #expect(abs(rig.status.periodDeviation - oscillatorError * 1e6) < 100)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        #expect(rig.status.gaps == 0)
        let wanted = (3 + seconds) * rig.driver.info.nominalRate / (1 + oscillatorError)
        if !isSingle { #expect(abs(Double(rig.status.samples) - wanted) < (part == .mpu6050 ? 40 : 60)) }
    }

    @Test(
        "Supports other rates, on a bus limited to 32 bytes, with a FIFO that is slow to write",
        arguments: pairs([
            ([.mpu6050], [1000, 500, 100, 25]), (lsm6dsParts, [12.5, 26, 52, 104, 208, 416, 833, 1660]),
            (singleParts, [25, 50, 100, 400, 800]),
        ]))
    func rates(part: VirtualPart, wanted: Double) {
        let rig = makeRig(part, rate: wanted, maximumReadLength: 32) {
            if part == .mpu6050 { $0.fifoWriteTime = 60e-6 }
            if part.family == .lsm6ds { $0.fifoWriteTime = 20e-6 }
        }
        rig.run(10)
        // The chips' own rates, where they have others.
        let others: [VirtualPart: [Double: Double]] = [
            .icm42688: [400: 500, 800: 1000], .icm42605: [400: 500, 800: 1000],
            .lsm9ds1: [25: 59.5, 50: 59.5, 100: 119, 400: 476, 800: 952],
            .lis3dh: [800: 1344], .lsm303agr: [800: 1344], .lis2de12: [800: 1620],
        ]
        let rate = others[part]?[wanted] ?? wanted
        #expect(rig.driver.info.nominalRate == rate)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        #expect(rig.status.gaps == 0)
        let seconds = part == .mpu6050 ? 9.9 : 9.85
        #expect(abs(Double(rig.status.samples) - seconds * rate / (1 + usualError(part))) < max(10, 0.02 * 10 * rate))
    }

    @Test(
        "Readings are the same in every range", arguments: mpuVariants + lsm6dsParts + [.icm20948],
        [(2, 250), (4, 500), (8, 1000), (16, 2000)])
    func ranges(part: VirtualPart, range: (Int, Int)) {
        var settings = IMUSettings()
        settings.accelerometerRange = Double(range.0) * 9.80665
        settings.gyroscopeRange = Double(range.1) * .pi / 180
        let rig = VirtualRig(part, settings: settings)
        rig.run(2)
        #expect(rig.status.samples > 300)
        #expect(rig.wrongSamples == 0)
        switch part.family {
        // Six times the noise, plus one count per axis.
        case .lsm6ds: #expect(rig.worst.force < 0.06 && rig.worst.rate < 0.01)
        case .icm20948: #expect(rig.worst.force < 0.3 && rig.worst.rate < 0.02)
        default: break
        }
    }

    @Test(
        "Reports faults of the chip, delivers no wrong sample, and resumes within two seconds",
        arguments: pairs(
            [
                (
                    [.mpu6050],
                    [
                        .brownOut, .fifoOverflow, .fifoSlip(bytes: 1), .fifoSlip(bytes: 2), .fifoSlip(bytes: 6),
                        .fifoSlip(bytes: 9), .bitFlip(register: 0x6A, bit: 6), .bitFlip(register: 0x23, bit: 7),
                        .bitFlip(register: 0x6B, bit: 6),
                    ]
                ),
                (
                    mpuVariants,
                    [
                        .brownOut, .fifoOverflow, .fifoSlip(bytes: 1), .fifoSlip(bytes: 6), .fifoSlip(bytes: 9),
                        .bitFlip(register: 0x6A, bit: 6), .bitFlip(register: 0x23, bit: 3),
                    ]
                ),
                (
                    lsm6dsParts,
                    [.brownOut, .fifoOverflow, .bitFlip(register: 0x0A, bit: 1), .bitFlip(register: 0x11, bit: 6)]
                ),
                // Lost framing of words, and of tagged words.
                (
                    [.lsm6ds3, .lsm6ds3trc],
                    [.fifoSlip(bytes: 1), .fifoSlip(bytes: 2), .fifoSlip(bytes: 6), .fifoSlip(bytes: 10)]
                ),
                (
                    [.lsm6dso, .ism330dhcx],
                    [.fifoSlip(bytes: 1), .fifoSlip(bytes: 3), .fifoSlip(bytes: 7), .fifoSlip(bytes: 8)]
                ),
                (
                    [.icm20948],
                    [
                        .brownOut, .fifoOverflow, .fifoSlip(bytes: 1), .fifoSlip(bytes: 2), .fifoSlip(bytes: 4),
                        .fifoSlip(bytes: 13), .bitFlip(register: 0x06, bit: 6), .bitFlip(register: 0x07, bit: 3),
                        .bitFlip(register: 0x05, bit: 4), .bitFlip(register: 0x03, bit: 6),
                        .bitFlip(register: 0x67, bit: 4), .bitFlip(register: 0x69, bit: 0),
                    ]
                ),
                (singleParts, [.brownOut, .fifoOverflow]),
            ] as [([VirtualPart], [FaultEvent])]))
    func events(part: VirtualPart, event: FaultEvent) {
        let rig = makeRig(part)
        rig.expectRecovery(from: event)
        #expect(rig.events.count >= 2)
        if part != .icm20948 { #expect(rig.status.gaps == 1) }
        if event == .fifoOverflow, singleParts.contains(part) { #expect(rig.status.overflows == 1) }
    }

    @Test(
        "Reports the start and the end of a lasting fault, and recovers by itself",
        arguments: pairs(
            [
                ([.mpu6050] + lsm6dsParts, [.unplugged, .notAcknowledged, .stuckBus, .adapterAbsent, .frozenOutput]),
                (mpuVariants, [.unplugged, .frozenOutput]),
                ([.icm20948], [.unplugged, .notAcknowledged, .stuckBus, .frozenOutput, .stalled, .onesRead]),
                (
                    singleParts,
                    [.unplugged, .notAcknowledged, .stuckBus, .adapterAbsent, .frozenOutput, .stalled, .onesRead]
                ),
            ] as [([VirtualPart], [FaultCondition])]))
    func conditions(part: VirtualPart, condition: FaultCondition) {
        guard !part.repeatsFrames || condition != .frozenOutput else { return }
        let rig = makeRig(part)
        rig.run(1)
        rig.chip.inject(condition, lasting: .seconds(3))
        rig.run(3)
        #expect(rig.events.contains { if case .failed = $0 { true } else { false } })
        #expect(rig.run(atMost: 3) { rig.status.state == .streaming })
        rig.run(1.5)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        #expect(rig.status.recoveries >= 1)
        guard part == .mpu6050 || part.family == .lsm6ds else { return }
        guard case .streaming(let gap) = rig.events.last else {
            Issue.record("the end of the outage was not reported: \(rig.events)")
            return
        }
        #expect(gap > 0.3 && gap < 6)
    }

    @Test("Refuses a wrong identity until it is right", arguments: lsm6dsParts + singleParts)
    func wrongIdentity(part: VirtualPart) {
        let rig = makeRig(part)
        let wrong: UInt8 = part.family == .lsm6ds ? 0x33 : 0x3C
        rig.chip.inject(.wrongIdentity(wrong), lasting: .seconds(1))
        rig.run(0.9)
        #expect(rig.events == [.failed(.identity(found: wrong))])
        #expect(rig.samples == 0)
        #expect(rig.run(atMost: 2) { rig.status.state == .streaming })
    }

    @Test(
        "With one transaction in fifty unanswered, loses only the samples of failed bursts",
        arguments: [.mpu6050] + lsm6dsParts + singleParts)
    func flakyBus(part: VirtualPart) {
        let rig = makeRig(part)
        rig.run(1)
        rig.chip.inject(.randomlyNotAcknowledged(probability: 0.02))
        let isSingle = singleParts.contains(part)
        rig.run(isSingle ? 10 : 20)
        #expect(rig.status.busErrors.notAcknowledged > (isSingle ? 5 : 10))
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        #expect(rig.status.recoveries == 0)
        // Only a burst that failed half-way cannot be repeated.
        if !isSingle { #expect(rig.status.lostSamples < 160) }
    }

    @Test(
        "A host that sleeps for seconds loses what exceeds the FIFO, and reports it",
        arguments: pairs([([.mpu6050], [3]), (lsm6dsParts, [4])] as [([VirtualPart], [Double])]))
    func longHostSleep(part: VirtualPart, seconds: Double) {
        let rig = makeRig(part)
        rig.run(1)
        rig.clock.advance(bySeconds: seconds)
        rig.run(1)
        #expect(rig.status.overflows == 1)
        #expect(rig.status.gaps == 1)
        let wanted = seconds * rig.driver.info.nominalRate / 1.03
        #expect(abs(Double(rig.status.lostSamples) - wanted) < 20)
        #expect(rig.events.count == 2)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
    }

    @Test("A host that sleeps for less than the FIFO's duration loses nothing", arguments: lsm6dsParts)
    func shortHostSleep(part: VirtualPart) {
        let rig = makeRig(part)
        rig.run(1)
        rig.clock.advance(bySeconds: 1)
        rig.run(1)
        #expect(rig.status.gaps == 0)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        let wanted: Double = 2.9 * 208 / 1.03
        #expect(abs(Double(rig.status.samples) - wanted) < 20)
    }

    @Test(
        "A host that sleeps loses nothing or reports the overflow, and never delivers a corrupt frame",
        arguments: [
            (.icm20948, 200, 0.1, 0), (.icm20948, 200, 0.155, 1), (.icm20948, 200, 0.165, 1), (.icm20948, 200, 0.3, 1),
            (.icm20948, 200, 3, 1), (.icm42688, 1000, 0.12, 0), (.icm42688, 1000, 0.13, 1), (.icm42688, 1000, 0.2, 1),
            (.icm42688, 1000, 3, 1),
        ] as [(VirtualPart, Double, Double, UInt64)])
    func hostSleep(part: VirtualPart, rate: Double, seconds: Double, overflows: UInt64) {
        let rig = makeRig(part, rate: rate, oscillatorError: 0)
        rig.run(2)
        rig.clock.advance(bySeconds: seconds)
        rig.run(1)
        #expect(rig.status.overflows == overflows && rig.status.gaps == overflows)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
        guard part == .icm42688 else { return }
        #expect(abs(Double(rig.status.lostSamples) - (overflows == 0 ? 0 : rate * seconds)) < 40)
    }

    @Test("Reports a FIFO that lost its framing", arguments: [.bmi160, .icm42688] as [VirtualPart], [1, 2, 6, 11])
    func slip(part: VirtualPart, bytes: Int) {
        let rig = makeRig(part)
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
            (.mpu6050, 0x1B, 4), (.mpu6050, 0x1C, 3), (.mpu6050, 0x19, 0), (.mpu6050, 0x1A, 0),
            // The accelerometer's low-pass.
            (.mpu6500, 0x1D, 0), (.icm20602, 0x1D, 0),
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
    func flippedSetting(part: VirtualPart, register: UInt8, bit: UInt8) {
        let rig = makeRig(part)
        rig.run(1)
        rig.chip.inject(.bitFlip(register: register, bit: bit))
        let limit = mpuVariants.contains(part) ? 0.7 : 0.5
        #expect(rig.run(atMost: limit) { rig.status.lastFault == .configurationLost(register: register) })
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
    func otherRange(part: VirtualPart, register: UInt8, bit: UInt8, bank: UInt8) throws {
        for step in 0..<8 {
            let rig = makeRig(part, oscillatorError: 0.02)
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
    func otherBank(part: VirtualPart, register: UInt8, bank: UInt8) throws {
        let rig = makeRig(part, oscillatorError: 0.02)
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

    @Test("Loses no sample if the chip does not answer for 0.1 s", arguments: singleParts)
    func shortSilence(part: VirtualPart) {
        let rig = makeRig(part)
        rig.run(1)
        rig.chip.inject(.notAcknowledged, lasting: .seconds(0.1))
        rig.run(1)
        #expect(rig.status.busErrors.notAcknowledged > 5)
        #expect(rig.status.gaps == 0 && rig.status.recoveries == 0)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
    }

    @Test("A stopped chip sleeps and takes no samples; the next poll starts it again", arguments: allParts)
    func stop(part: VirtualPart) throws {
        let rig = makeRig(part)
        rig.run(1)
        try rig.driver.stop()
        let count = rig.chip.sampleCount
        rig.clock.advance(bySeconds: 2)
        var bus = VirtualBus(rig.chip, clock: rig.clock)
        let asleep: [(register: UInt8, value: UInt8)] =
            switch part.family {
            case .mpu6050: [(0x6B, 0x41)]
            case .icm20948: [(0x06, 0x41)]
            case .lsm6ds: [(0x10, 0), (0x11, 0)]
            default: []
            }
        // The read also advances the chip.
        _ = try bus.read(0x00)
        for (register, value) in asleep { #expect(try bus.read(register) == value) }
        #expect(rig.chip.sampleCount == count)
        let samples = rig.status.samples
        #expect(rig.run(atMost: 0.3) { rig.status.samples > samples })
        rig.run(1)
        #expect(rig.status.state == .streaming)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
    }
}
