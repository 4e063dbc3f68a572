import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

/// Requirement: each magnetometer's driver works with a register-level model of the chip, beside or behind its motion chip.
@Suite struct MagnetometerOnVirtualChipTests {
    @Test(
        "A tumbling board: the delivered field, turned by the true attitude, is the earth's to within a count",
        arguments: VirtualMagnetometerPart.allCases)
    func axes(part: VirtualMagnetometerPart) {
        var imperfections = MagnetometerImperfections.typical
        imperfections.noise = 0
        let rig = MagnetometerRig(part, imperfections: imperfections)
        rig.run(20)
        #expect(rig.readings > 380 && rig.wrongReadings == 0 && rig.reversals == 0)
        // Half a count on each axis; a count of the AK8963 is up to 0.18 µT here.
        #expect(rig.worstField < (part == .lsm9ds1 ? 0.0125 : 0.16))
        #expect(rig.status.failures <= 1 && rig.status.overflows == 0)
    }

    @Test("What magnets and iron on the board add is along the same axes", arguments: VirtualMagnetometerPart.allCases)
    func iron(part: VirtualMagnetometerPart) {
        var surroundings = MagneticSurroundings()
        surroundings.field = Vector3(18, -3, -45)
        surroundings.hardIron = Vector3(30, -50, 20)
        surroundings.softIron = Matrix3(Vector3(1.1, 0.05, 0), Vector3(0.05, 0.9, -0.02), Vector3(0, -0.02, 1.05))
        var imperfections = MagnetometerImperfections.ideal
        imperfections.noise = 0.01
        let rig = MagnetometerRig(part, surroundings: surroundings, imperfections: imperfections)
        rig.run(10)
        #expect(rig.readings > 180 && rig.worstField < 0.2)
    }

    @Test(
        "Time stamps are within half a period of the chip, on either side, at every oscillator error",
        arguments: VirtualMagnetometerPart.allCases, [-20_000, 0, 15_000] as [Double])
    func timestamps(part: VirtualMagnetometerPart, oscillatorError: Double) {
        var imperfections = MagnetometerImperfections.typical
        imperfections.oscillatorError = oscillatorError
        let rig = MagnetometerRig(part, imperfections: imperfections)
        rig.run(60)
        #expect(rig.timeErrors.least > -rig.longestTimeError && rig.timeErrors.most < rig.longestTimeError)
        // Without the delay, they would lie on one side.
        if oscillatorError != 0 { #expect(rig.timeErrors.least < -0.004 && rig.timeErrors.most > 0.004) }
        #expect(rig.wrongReadings == 0 && rig.reversals == 0)
        #expect(abs(Double(rig.readings) - 1190) < 20)
    }

    @Test(
        "Begins to deliver within 0.5 s, although the motion chip connects it only then",
        arguments: VirtualMagnetometerPart.allCases)
    func start(part: VirtualMagnetometerPart) {
        let rig = MagnetometerRig(part)
        #expect(rig.run(atMost: 0.5) { rig.readings > 0 })
        rig.run(1)
        #expect(rig.status.state == .measuring && rig.hostStatus.state == .streaming)
    }

    @Test(
        "Does not answer while the motion chip does not connect it",
        arguments: [VirtualMagnetometerPart.ak8963, .ak09916])
    func notConnected(part: VirtualMagnetometerPart) {
        let rig = MagnetometerRig(part, connectsMagnetometer: false)
        rig.run(5)
        #expect(rig.readings == 0 && rig.hostStatus.state == .streaming)
        #expect(rig.status.lastFault == .bus(BusError(.notAcknowledged, code: 121)) && rig.status.failures == 1)
    }

    @Test(
        "A brown-out of the board: the motion chip connects the magnetometer again, and both recover",
        arguments: VirtualMagnetometerPart.allCases, [true, false])
    func brownOut(part: VirtualMagnetometerPart, isOfHostOnly: Bool) {
        let rig = MagnetometerRig(part)
        rig.run(2)
        let readings = rig.readings
        let silences = rig.status.busErrors.notAcknowledged
        rig.host.inject(.brownOut)
        if !isOfHostOnly { rig.chip.inject(.brownOut) }
        rig.run(3)
        #expect(rig.hostStatus.recoveries == 1)
        #expect((rig.status.busErrors.notAcknowledged > silences) == (part != .lsm9ds1))
        if !isOfHostOnly { #expect(rig.status.failures >= 1) }
        #expect(rig.status.recoveries == rig.status.failures)
        #expect(rig.readings > readings + 30 && rig.wrongReadings == 0 && rig.reversals == 0)
    }

    @Test(
        "Recovers from faults by itself, and delivers no wrong reading meanwhile",
        arguments: VirtualMagnetometerPart.allCases,
        [
            .unplugged, .notAcknowledged, .stuckBus, .adapterAbsent, .frozenOutput, .stalled, .onesRead,
            .wrongIdentity(0x00), .randomlyNotAcknowledged(probability: 0.5), .randomlyFailing(probability: 0.5),
        ] as [FaultCondition])
    func conditions(part: VirtualMagnetometerPart, condition: FaultCondition) {
        let rig = MagnetometerRig(part)
        rig.run(2)
        rig.chip.inject(condition, lasting: .seconds(3))
        if case .wrongIdentity = condition { rig.chip.inject(.brownOut) }
        rig.run(1)
        let readings = rig.readings
        rig.run(1.9)
        switch condition {
        case .randomlyNotAcknowledged, .randomlyFailing: #expect(rig.status.busErrors.total > 20)
        default: #expect(rig.status.failures >= 1 && rig.readings == readings)
        }
        let last = rig.readings
        #expect(rig.run(atMost: 1.7) { rig.readings > last })
        rig.run(2)
        #expect(rig.status.state == .measuring && rig.readings > last + 35)
        #expect(rig.wrongReadings == 0 && rig.reversals == 0)
    }

    @Test(
        "A setting that changes by itself is noticed before a reading is delivered",
        arguments: [
            (.ak8963, 0x0A, 4), (.ak8963, 0x0A, 2), (.ak8963, 0x0C, 6), (.ak09916, 0x31, 3), (.ak09916, 0x31, 1),
            (.lsm9ds1, 0x20, 7), (.lsm9ds1, 0x20, 1), (.lsm9ds1, 0x21, 5), (.lsm9ds1, 0x21, 6), (.lsm9ds1, 0x22, 0),
            (.lsm9ds1, 0x23, 3), (.lsm9ds1, 0x24, 6),
        ] as [(VirtualMagnetometerPart, UInt8, UInt8)])
    func flippedSettings(part: VirtualMagnetometerPart, register: UInt8, bit: UInt8) {
        let rig = MagnetometerRig(part)
        rig.run(2)
        let readings = rig.readings
        rig.chip.inject(.bitFlip(register: register, bit: bit))
        #expect(rig.run(atMost: 0.4) { rig.status.lastFault == .configurationLost(register: register) })
        #expect(rig.readings == readings)
        rig.run(1)
        #expect(rig.status.state == .measuring && rig.wrongReadings == 0)
    }

    @Test("A field that is too strong is not delivered, and is no failure", arguments: VirtualMagnetometerPart.allCases)
    func overflow(part: VirtualMagnetometerPart) {
        var surroundings = MagneticSurroundings()
        surroundings.hardIron = part == .lsm9ds1 ? Vector3(0, 460, 0) : Vector3(2000, -1500, 1600)
        let rig = MagnetometerRig(part, surroundings: surroundings)
        rig.run(3)
        #expect(rig.readings == 0 && rig.status.overflows > 40)
        #expect(rig.status.state == .measuring && rig.status.failures <= 1)
    }

    @Test("A host that sleeps delivers the next reading with its own time", arguments: VirtualMagnetometerPart.allCases)
    func sleep(part: VirtualMagnetometerPart) {
        let rig = MagnetometerRig(part)
        rig.run(2)
        for seconds in [0.1, 1, 3600] {
            rig.clock.advance(bySeconds: seconds)
            rig.run(1)
        }
        #expect(rig.wrongReadings == 0 && rig.reversals == 0 && rig.status.state == .measuring)
        #expect(rig.timeErrors.most < rig.longestTimeError && rig.timeErrors.least > -rig.longestTimeError)
    }

    @Test("A stopped chip does not measure; the next poll starts it again", arguments: VirtualMagnetometerPart.allCases)
    func stop(part: VirtualMagnetometerPart) throws {
        let rig = MagnetometerRig(part)
        rig.run(2)
        try rig.driver.stop()
        let time = rig.chip.measurementTime
        rig.clock.advance(bySeconds: 1)
        var bus = VirtualBus(rig.chip, clock: rig.clock)
        _ = try bus.read(0x00)
        #expect(rig.chip.measurementTime == time)
        let readings = rig.readings
        rig.run(1)
        #expect(rig.readings > readings + 10 && rig.wrongReadings == 0 && rig.reversals == 0)
    }
}
