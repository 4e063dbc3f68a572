import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

extension ScriptedChipRig where Part == ICM20948Family {
    /// Expects and performs the transactions up to the selection of bank 2.
    fileprivate func wake() {
        script.read(0x00, 0xEA)
        script.write(0x7F, 0x00)
        script.write(0x06, 0x80)
        poll()
        script.read(0x06, 0x41)
        script.write(0x06, 0x01)
        poll()
        script.read(0x06, 0x01)
        script.write(0x7F, 0x20)
    }

    /// Expects and performs the whole bring-up. `pin` are the registers of the pin, and their values.
    func bringUp(pin: [(UInt8, UInt8)] = []) {
        wake()
        // 225 Hz; 119.5 and 111.4 Hz, ±2000 °/s and ±8 g.
        expect([(0x00, 4), (0x01, 0x17), (0x09, 0x01), (0x10, 0x00), (0x11, 4), (0x14, 0x15)])
        script.write(0x7F, 0x00)
        expect([(0x07, 0x00), (0x66, 0x00), (0x69, 0x00)] + pin)
        expectFIFOStart()
        script.read(0x03, 0x40)
        script.read(0x67, 0x1F)
        poll()
    }

    /// The FIFO is stopped, emptied and started at 25 °C.
    fileprivate func expectFIFOStart() {
        script.write(0x67, 0x00)
        script.write(0x03, 0x00)
        script.write(0x68, 0x1F)
        script.write(0x68, 0x00)
        script.read(0x39, [0x05, 0x37])
        script.write(0x03, 0x40)
        script.write(0x67, 0x1F)
    }
}

/// Requirement: an ICM-20948 is brought up by exactly these transactions, and works with a register-level model of it.
@Suite struct ICM20948Tests {
    /// 1000, -2000, 4096; -164, 328, -820; 4 K above 21 °C.
    private static let frame: [UInt8] = [
        0x03, 0xE8, 0xF8, 0x30, 0x10, 0x00, 0xFF, 0x5C, 0x01, 0x48, 0xFC, 0xCC, 0x05, 0x37,
    ]

    @Test("Reset, clock, bank 2 with read-back, bank 0, FIFO; values of a frame")
    func bringUp() throws {
        let rig = ScriptedChipRig<ICM20948Family>()
        rig.script.read(0x00, 0xEA)
        rig.script.write(0x7F, 0x00)
        rig.script.write(0x06, 0x80)
        rig.poll()
        #expect(rig.driver.status.state == .resetting)
        rig.script.read(0x06, 0x80)
        rig.poll()
        rig.script.read(0x06, 0x41)
        rig.script.write(0x06, 0x01)
        rig.poll()
        #expect(rig.driver.status.state == .waking)
        rig.script.read(0x06, 0x01)
        rig.script.write(0x7F, 0x20)
        // 225 Hz; 119.5 and 111.4 Hz, ±2000 °/s and ±8 g.
        rig.expect([(0x00, 4), (0x01, 0x17), (0x09, 0x01), (0x10, 0x00), (0x11, 4), (0x14, 0x15)])
        rig.script.write(0x7F, 0x00)
        rig.expect([(0x07, 0x00), (0x66, 0x00), (0x69, 0x00)])
        rig.expectFIFOStart()
        rig.script.read(0x03, 0x40)
        rig.script.read(0x67, 0x1F)
        rig.poll()
        #expect(rig.driver.status.state == .settling)
        #expect(rig.driver.info.name.description == "ICM-20948" && rig.driver.info.nominalRate == 225)
        // The ranges, in bank 2, are read with each batch.
        let part = try #require(ICM20948Family(identity: 0xEA, settings: IMUSettings()))
        rig.script.read(0x70, [0x00, 0x0E])
        rig.script.read(0x72, Self.frame)
        rig.script.write(0x7F, 0x20)
        rig.script.read(0x01, 0x17)
        rig.script.read(0x14, 0x15)
        rig.script.write(0x7F, 0x00)
        rig.poll()
        // More than 32 frames may be corrupt.
        rig.script.read(0x70, [0x01, 0xCE])
        rig.expectFIFOStart()
        rig.poll()
        #expect(rig.driver.status.overflows == 1)
        let decoded = try #require(Self.frame.withUnsafeBytes { part.frame($0, at: 0) })
        #expect(decoded.ax == 1000 && decoded.ay == -2000 && decoded.az == 4096)
        #expect(decoded.gx == -164 && decoded.gy == 328 && decoded.gz == -820)
        #expect(abs(part.celsius(decoded.temperature ?? 0) - 25) < 0.01)
        #expect(abs(part.accelerometerScale - 9.80665 / 4096) < 1e-9)
        #expect(abs(part.gyroscopeScale - Double.pi / 180 / 16.375) < 1e-9)
        #expect([UInt8](repeating: 0, count: 14).withUnsafeBytes { part.frame($0, at: 0) } == nil)
        #expect(ICM20948Family(identity: 0xE1, settings: IMUSettings()) == nil)
    }

    @Test("After a failure with bank 2 selected, it selects bank 0 before it identifies the chip")
    func bank() {
        let rig = ScriptedChipRig<ICM20948Family>()
        rig.wake()
        // A write that timed out is repeated once.
        for _ in 0..<2 { rig.script.write(0x00, 4, failing: BusError(.timedOut)) }
        rig.poll()
        #expect(rig.driver.status.state == .recovering)
        rig.script.read(0x00, 0x00)
        rig.script.write(0x7F, 0x00)
        rig.script.read(0x00, 0xEA)
        rig.script.write(0x7F, 0x00)
        rig.script.write(0x06, 0x80)
        rig.poll()
        #expect(rig.driver.status.state == .resetting)
    }

    @Test(
        "A chip in which a program that ended has left bank 2 selected is identified; another chip is not written to",
        arguments: [true, false])
    func abandonedBank(isOurs: Bool) {
        let rig = ScriptedChipRig<ICM20948Family>()
        rig.script.read(0x00, 0x04)
        rig.script.read(0x7F, 0x20)
        rig.script.read(0x09, 0x01)
        rig.script.read(0x10, 0x00)
        rig.script.read(0x01, isOurs ? 0x17 : 0x16)
        if isOurs {
            rig.script.read(0x14, 0x15)
            rig.script.write(0x7F, 0x00)
            rig.script.read(0x00, 0xEA)
            rig.script.write(0x7F, 0x00)
            rig.script.write(0x06, 0x80)
        }
        rig.poll()
        #expect(rig.driver.status.state == (isOurs ? .resetting : .recovering))
    }

    @Test("If bank 0 cannot be selected again after the check of the ranges, the next transaction selects it")
    func bankAfterRanges() {
        let rig = ScriptedChipRig<ICM20948Family>()
        rig.bringUp()
        rig.script.read(0x70, [0x00, 0x0E])
        rig.script.read(0x72, Self.frame)
        rig.script.write(0x7F, 0x20)
        rig.script.read(0x01, 0x17)
        rig.script.read(0x14, 0x15)
        let noAnswer = BusError(.notAcknowledged)
        for _ in 0..<3 { rig.script.write(0x7F, 0x00, failing: noAnswer) }
        rig.poll()
        #expect(rig.driver.status.state == .settling)
        rig.script.write(0x7F, 0x00)
        rig.script.read(0x70, [0x00, 0x00])
        rig.poll()
        // A lost chip is identified before anything is written to it.
        rig.script.read(0x70, [0x00, 0x0E])
        rig.script.read(0x72, Self.frame)
        rig.script.write(0x7F, 0x20)
        for _ in 0..<2 { rig.script.read(0x01, 0x11) }
        for _ in 0..<3 { rig.script.write(0x7F, 0x00, failing: noAnswer) }
        rig.poll()
        #expect(rig.driver.status.lastFault == .configurationLost(register: 0x01))
        rig.script.read(0x00, 0x04)
        rig.script.write(0x7F, 0x00)
        rig.script.read(0x00, 0xEA)
        rig.script.write(0x7F, 0x00)
        rig.script.write(0x06, 0x80)
        rig.poll()
        #expect(rig.driver.status.state == .resetting)
    }

    @Test(
        "Chooses rate and low-passes: the widest up to 55 % of the rate",
        arguments: [
            (0, 1125.0 / 256, 5.7), (5, 5, 5.7), (25, 25, 11.6), (50, 1125.0 / 22, 23.9), (100, 1125.0 / 11, 51.2),
            (200, 225, 119.5), (280, 281.25, 151.8), (375, 375, 196.6), (400, 562.5, 196.6), (9999, 1125, 361.4),
            (.nan, 1125.0 / 256, 5.7),
        ] as [(Double, Double, Double)])
    func rates(wanted: Double, rate: Double, bandwidth: Double) {
        var settings = IMUSettings()
        settings.rate = wanted
        let part = ICM20948Family(settings: settings)
        #expect(part.rate == rate && part.bandwidth == bandwidth)
        #expect(part.delay > 0.159 / bandwidth && part.delay < 0.159 / bandwidth + 0.0022)
    }

    @Test(
        "Chooses the smallest range that is not smaller",
        arguments: [(1, 2, 1, 250), (2, 2, 250, 250), (5, 8, 300, 500), (16, 16, 1500, 2000), (99, 16, 9999, 2000)])
    func ranges(force: Int, forceRange: Int, turn: Int, turnRange: Int) {
        var settings = IMUSettings()
        settings.accelerometerRange = Double(force) * 9.80665
        settings.gyroscopeRange = Double(turn) * .pi / 180
        let part = ICM20948Family(settings: settings)
        #expect(abs(part.accelerometerRange - Double(forceRange) * 9.80665) < 1e-9)
        #expect(abs(part.gyroscopeRange - Double(turnRange) * .pi / 180) < 1e-9)
    }

    // MARK: On the virtual chip

    @Test("Delivers the first sample within 300 ms of power-on, and no wrong one")
    func start() {
        let rig = VirtualRig(.icm20948)
        #expect(rig.run(atMost: 0.3) { rig.samples > 0 })
        rig.run(1)
        #expect(rig.wrongSamples == 0 && rig.events == [.streaming(afterGap: 0)])
    }

    @Test("Readings are the same in every range", arguments: [(2, 250), (4, 500), (8, 1000), (16, 2000)])
    func sameReadings(range: (Int, Int)) {
        var settings = IMUSettings()
        settings.accelerometerRange = Double(range.0) * 9.80665
        settings.gyroscopeRange = Double(range.1) * .pi / 180
        let rig = VirtualRig(.icm20948, settings: settings)
        rig.run(2)
        #expect(rig.samples > 300 && rig.wrongSamples == 0)
        #expect(rig.worst.force < 0.3 && rig.worst.rate < 0.02)
    }

    @Test(
        "A host that sleeps loses nothing or reports the overflow, and never delivers a corrupt frame",
        arguments: [(0.1, 0), (0.155, 1), (0.165, 1), (0.3, 1), (3, 1)] as [(Double, UInt64)])
    func sleep(seconds: Double, overflows: UInt64) {
        let rig = VirtualRig(.icm20948, oscillatorError: 0)
        rig.run(2)
        rig.clock.advance(bySeconds: seconds)
        rig.run(1)
        #expect(rig.status.overflows == overflows && rig.status.gaps == overflows)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
    }

    @Test(
        "Detects faults of the chip within a second, and resumes without a wrong sample",
        arguments: [
            .brownOut, .fifoOverflow, .fifoSlip(bytes: 1), .fifoSlip(bytes: 2), .fifoSlip(bytes: 4),
            .fifoSlip(bytes: 13), .bitFlip(register: 0x06, bit: 6), .bitFlip(register: 0x07, bit: 3),
            .bitFlip(register: 0x05, bit: 4), .bitFlip(register: 0x03, bit: 6), .bitFlip(register: 0x67, bit: 4),
            .bitFlip(register: 0x69, bit: 0),
        ] as [FaultEvent])
    func events(event: FaultEvent) {
        let rig = VirtualRig(.icm20948)
        rig.run(1)
        rig.chip.inject(event, at: rig.clock.now().advanced(bySeconds: 0.012))
        #expect(rig.run(atMost: 1) { rig.status.lastFault != nil })
        let noticed = rig.clock.now()
        #expect(rig.run(atMost: 2) { (rig.lastSample ?? noticed) > noticed })
        rig.run(1)
        #expect(rig.status.state == .streaming)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
    }

    @Test(
        "Reports the start and the end of a lasting fault, and recovers by itself",
        arguments: [.unplugged, .notAcknowledged, .stuckBus, .frozenOutput, .stalled, .onesRead] as [FaultCondition])
    func conditions(condition: FaultCondition) {
        let rig = VirtualRig(.icm20948)
        rig.run(1)
        rig.chip.inject(condition, lasting: .seconds(3))
        rig.run(3)
        #expect(rig.events.contains { if case .failed = $0 { true } else { false } })
        #expect(rig.run(atMost: 3) { rig.status.state == .streaming })
        rig.run(1.5)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0 && rig.status.recoveries >= 1)
    }

    @Test("A stopped chip takes no samples; the next poll starts it again")
    func stop() throws {
        let rig = VirtualRig(.icm20948)
        rig.run(1)
        try rig.driver.stop()
        let count = rig.chip.sampleCount
        rig.clock.advance(bySeconds: 2)
        var bus = VirtualBus(rig.chip, clock: rig.clock)
        #expect(try bus.read(0x06) == 0x41)
        #expect(rig.chip.sampleCount == count)
        let samples = rig.status.samples
        #expect(rig.run(atMost: 0.3) { rig.status.samples > samples })
        rig.run(1)
        #expect(rig.wrongSamples == 0 && rig.reversals == 0)
    }
}
