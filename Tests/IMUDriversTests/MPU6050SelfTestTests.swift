import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

@testable import IMUDrivers

/// The codes 15, 17, 13 and 16, 18, 14 as the factory packs them, decoded by RM-MPU-6000A-00 r4.2, p. 10, 11.
private enum Trim {
    static let registers: [UInt8] = [0x8F, 0x91, 0x6D, 0x0A]
    /// °/s.
    static let rate = [46.9228, -51.3389, 42.8865]
    /// g.
    static let force = [0.559285, 0.597660, 0.523375]
}

/// Polls a test when it is due, for at most five seconds.
private func finish<Bus: RegisterBus & ~Copyable>(
    _ test: inout MPU6050SelfTest<Bus, ManualClock>, _ clock: ManualClock
) throws(IMUFault) -> MPU6050SelfTestReport? {
    let end = clock.now().advanced(bySeconds: 5)
    while clock.now() < end {
        guard let next = try test.poll() else { return test.report }
        clock.advance(to: next)
    }
    return nil
}

/// The fault that a test ends with; `nil` if there is none.
private func fault<Bus: RegisterBus & ~Copyable>(
    _ test: inout MPU6050SelfTest<Bus, ManualClock>, _ clock: ManualClock
) -> IMUFault? {
    do throws(IMUFault) {
        _ = try finish(&test, clock)
        return nil
    } catch {
        return error
    }
}

/// Requirement: the self-test performs exactly the steps in RM-MPU-6000A-00 r4.2, p. 9 to 11, 14 and 15.
@Suite struct MPU6050SelfTestTests {
    @Test("Decodes the factory's codes by the manual's formulas")
    func factoryTrim() {
        let trim = MPU6050FactoryTrim(
            x: Trim.registers[0], y: Trim.registers[1], z: Trim.registers[2], a: Trim.registers[3])
        for axis in 0..<3 {
            #expect(abs(trim.gyroscope[axis] * degreesPerRadian - Trim.rate[axis]) < 1e-3, "axis \(axis)")
            #expect(abs(trim.accelerometer[axis] / standardGravity - Trim.force[axis]) < 1e-5, "axis \(axis)")
        }
        // The ends of the scale, code 1 and code 31, on different axes. Without a code there is no factory response.
        let ends = MPU6050FactoryTrim(x: 0x01, y: 0xFF, z: 0x00, a: 0x1C)
        #expect(abs(ends.gyroscope.x * degreesPerRadian - 25) < 1e-9)
        #expect(abs(ends.gyroscope.y * degreesPerRadian + 96.3586) < 1e-3)
        #expect(ends.gyroscope.z == 0 && ends.accelerometer.z == 0)
        #expect(abs(ends.accelerometer.x / standardGravity - 0.34) < 1e-12)
        #expect(abs(ends.accelerometer.y / standardGravity - 0.92) < 1e-9)
    }

    @Test("Performs every transaction in order; the response is the change from the mean of before and after")
    func transactions() throws {
        let clock = ManualClock()
        let script = BusScript(clock: clock)
        let start = clock.now()
        script.read(0x75, 0x68)
        script.write(0x6B, 0x80)
        script.read(0x6B, 0x40)
        script.write(0x6B, 0x01)
        script.expectKept(0x6B, 0x01, isWritten: false)
        script.expectKept(0x19, 4)
        script.expectKept(0x1A, 2)
        script.read(0x0D, Trim.registers)
        script.expectPhase(gyroscope: 0x00, accelerometer: 0x10, (100, -200, 4096), (-60, 70, 80))
        // The factory's responses, except -10 % on the gyroscope's x and +10 % on the accelerometer's z; drift of 2
        // counts meanwhile.
        script.expectPhase(
            gyroscope: 0xE0, accelerometer: 0xF0, (100 + 2291, -200 + 2448, 4096 + 2358),
            (-60 + 1 + 5532, 70 - 6725, 80 + 5618))
        script.expectPhase(gyroscope: 0x00, accelerometer: 0x10, (100, -200, 4096), (-60 + 2, 70, 80))
        script.write(0x6B, 0x80)
        script.read(0x6B, 0x40)
        var test = MPU6050SelfTest(bus: ScriptedBus(script), clock: clock)
        let report = try #require(try finish(&test, clock))
        #expect(script.remaining == 0)
        #expect(report.disturbance == nil && report.verdict == .passed)
        let deviations = (0..<3).map { [report.gyroscope[$0].deviation, report.accelerometer[$0].deviation] }
        for (found, wanted) in zip(deviations, [[-0.1, 0], [0, 0], [0, 0.1]]) {
            for (found, wanted) in zip(found, wanted) { #expect(abs(try #require(found) - wanted) < 1e-3) }
        }
        #expect(clock.now().seconds(since: start) < 2)
        #expect(try test.poll() == nil, "the chip is not accessed again")
    }

    @Test("Does not touch another chip", arguments: [0x70, 0x98] as [UInt8])
    func foreignChip(identity: UInt8) {
        let clock = ManualClock()
        let script = BusScript(clock: clock)
        script.read(0x75, identity)
        var test = MPU6050SelfTest(bus: ScriptedBus(script), clock: clock)
        #expect(fault(&test, clock) == .identity(found: identity))
    }

    @Test("Reports a reset that does not end, and resets the chip once more for its next user")
    func resetDeadline() {
        let clock = ManualClock()
        let script = BusScript(clock: clock)
        script.read(0x75, 0x68)
        script.write(0x6B, 0x80)
        // Every 10 ms until 150 ms have passed.
        for _ in 0..<15 { script.read(0x6B, 0xC0) }
        script.write(0x6B, 0x80)
        var test = MPU6050SelfTest(bus: ScriptedBus(script), clock: clock)
        #expect(fault(&test, clock) == .deadline(.resetting))
    }

    @Test("A register that does not keep its value ends the test; the chip is reset")
    func readBack() {
        let clock = ManualClock()
        let script = BusScript(clock: clock)
        script.read(0x75, 0x68)
        script.write(0x6B, 0x80)
        script.read(0x6B, 0x40)
        script.write(0x6B, 0x01)
        script.expectKept(0x6B, 0x01, isWritten: false)
        script.write(0x19, 4)
        script.read(0x19, 0)
        script.write(0x6B, 0x80, failing: BusError(.notAcknowledged))
        var test = MPU6050SelfTest(bus: ScriptedBus(script), clock: clock)
        #expect(fault(&test, clock) == .readBack(register: 0x19, wrote: 4, read: 0))
    }

    @Test("Repeats a transaction that is not acknowledged twice; after that the test ends")
    func repetition() {
        let clock = ManualClock()
        let script = BusScript(clock: clock)
        script.read(0x75, failing: BusError(.notAcknowledged))
        script.read(0x75, failing: BusError(.arbitrationLost))
        script.read(0x75, 0x68)
        for _ in 0..<3 { script.write(0x6B, 0x80, failing: BusError(.notAcknowledged, code: 121)) }
        script.write(0x6B, 0x80)
        var test = MPU6050SelfTest(bus: ScriptedBus(script), clock: clock)
        #expect(fault(&test, clock) == .bus(BusError(.notAcknowledged, code: 121)))
    }
}

extension BusScript {
    /// A register is written and keeps its value.
    fileprivate func expectKept(_ register: UInt8, _ value: UInt8, isWritten: Bool = true) {
        if isWritten { write(register, value) }
        read(register, value)
    }

    /// A phase: its ranges and forces, forty samples that vary by a count around a mean, and a check of the ranges.
    fileprivate func expectPhase(
        gyroscope: UInt8, accelerometer: UInt8, _ force: (Int16, Int16, Int16), _ rate: (Int16, Int16, Int16)
    ) {
        expectKept(0x1B, gyroscope)
        expectKept(0x1C, accelerometer)
        for index in 0..<40 {
            let noise: Int16 = index % 2 == 0 ? 1 : -1
            let frame = TestFrame(
                acceleration: (force.0 + noise, force.1 - noise, force.2 + noise),
                rotation: (rate.0 - noise, rate.1 + noise, rate.2 - noise))
            read(0x3B, frame.bytes)
        }
        read(0x1B, gyroscope)
        read(0x1C, accelerometer)
    }
}

/// Requirement: on a model written from the datasheet, the self-test distinguishes good parts, bad parts, parts without
/// factory responses and boards that are not at rest. It leaves the chip as after power-on.
@Suite struct MPU6050SelfTestOnVirtualChipTests {
    private let clock = ManualClock()

    private func chip(
        _ trajectory: any Trajectory = Rest(), change: (inout Imperfections) -> Void = { _ in }
    ) -> VirtualIMUChip {
        var imperfections = Imperfections.typical
        change(&imperfections)
        return VirtualIMUChip(trajectory: trajectory, imperfections: imperfections, start: clock.now())
    }

    private func report(of chip: VirtualIMUChip) throws -> MPU6050SelfTestReport {
        var test = MPU6050SelfTest(bus: VirtualBus(chip, clock: clock), clock: clock)
        return try #require(try finish(&test, clock))
    }

    @Test(
        "Measures the deviation from the factory's response, whatever the bias and noise",
        arguments: [-0.11, 0.0, 0.04, 0.12])
    func good(deviation: Double) throws {
        let report = try report(of: chip { $0.selfTestDeviation = deviation })
        #expect(report.verdict == .passed && report.disturbance == nil)
        for axis in 0..<3 {
            #expect(abs(report.gyroscope[axis].factoryTrim * degreesPerRadian - Trim.rate[axis]) < 1e-3)
            #expect(abs(report.accelerometer[axis].factoryTrim / standardGravity - Trim.force[axis]) < 1e-5)
            for found in [report.gyroscope[axis], report.accelerometer[axis]] {
                // The scale factors are up to 1.1 % off, the noise of the means up to 0.3 %.
                #expect(abs(try #require(found.deviation) - deviation) < 0.02, "axis \(axis)")
                #expect(found.verdict == .passed)
            }
        }
    }

    @Test("A deviation of more than 14 % in either direction fails", arguments: [-1.0, -0.17, 0.17])
    func bad(deviation: Double) throws {
        let report = try report(of: chip { $0.selfTestDeviation = deviation })
        #expect(report.verdict == .failed)
        for axis in 0..<3 {
            #expect(report.gyroscope[axis].verdict == .failed && report.accelerometer[axis].verdict == .failed)
        }
    }

    @Test("Without factory responses there is no verdict; one missing response is enough, unless another axis failed")
    func noTrim() throws {
        let none = try report(
            of: chip {
                $0.gyroscopeTrim = SelfTestCodes(x: 0, y: 0, z: 0)
                $0.accelerometerTrim = SelfTestCodes(x: 0, y: 0, z: 0)
            })
        #expect(none.verdict == .noTrim && none.gyroscope.x.deviation == nil && none.accelerometer.z.deviation == nil)
        let one = try report(of: chip { $0.accelerometerTrim.y = 0 })
        #expect(one.verdict == .noTrim && one.accelerometer.y.verdict == .noTrim)
        #expect(one.accelerometer.x.verdict == .passed && one.gyroscope.y.verdict == .passed)
        let failed = try report(
            of: chip {
                $0.accelerometerTrim.y = 0
                $0.selfTestDeviation = 0.3
            })
        #expect(failed.verdict == .failed)
    }

    @Test("Reports a board that is turned or shaken, with the sensor that detected it")
    func moving() throws {
        let turned = try report(of: chip(Turning(rate: 20, from: 0.3, until: 0.32)))
        #expect(turned.verdict == .disturbed)
        let spread = try #require(turned.disturbance)
        #expect(spread.sensor == .gyroscope && spread.kind == .spread && spread.axis == 1)
        #expect((2...20).contains(spread.amount * degreesPerRadian), "\(spread)")
        // Turned by 6° while the proof masses settle. No phase shows it, but the force differs afterwards.
        let tilted = try report(of: chip(Turning(rate: 40, from: 0.45, until: 0.6)))
        let shift = try #require(tilted.disturbance)
        #expect(shift.sensor == .accelerometer && shift.kind == .shift && shift.axis == 0, "\(shift)")
        #expect(abs(shift.amount - standardGravity * 0.1045) < 0.05)
        #expect(tilted.verdict == .disturbed)
    }

    @Test("Leaves the chip asleep, with every register as after power-on")
    func leftAsleep() throws {
        let chip = chip()
        let untouched = VirtualIMUChip(trajectory: Rest(), imperfections: .typical, start: clock.now())
        _ = try report(of: chip)
        for register: UInt8 in 0x0D..<0x76 {
            var bytes: [UInt8] = [0, 0]
            try bytes.withUnsafeMutableBytes { buffer in
                try chip.read(register, into: UnsafeMutableRawBufferPointer(rebasing: buffer[0..<1]), at: clock.now())
                try untouched.read(
                    register, into: UnsafeMutableRawBufferPointer(rebasing: buffer[1..<2]), at: clock.now())
            }
            #expect(bytes[0] == bytes[1], "register \(register)")
        }
    }

    @Test("A chip that loses its supply or measures nothing gets no verdict; the next attempt succeeds")
    func faults() throws {
        let chip = chip()
        var test = MPU6050SelfTest(bus: VirtualBus(chip, clock: clock), clock: clock)
        chip.inject(.brownOut, at: clock.now().advanced(bySeconds: 0.35))
        #expect(fault(&test, clock) == .configurationLost(register: 0x1C))
        #expect(test.report == nil)
        chip.inject(.frozenOutput, lasting: .seconds(2))
        #expect(fault(&test, clock) == .stalled)
        clock.advance(bySeconds: 2)
        #expect(try finish(&test, clock)?.verdict == .passed)
    }
}

/// Rests flat, turns about y at a steady rate for a while, and rests again.
private struct Turning: Trajectory {
    /// °/s.
    var rate: Double
    var from: Double
    var until: Double
    var duration: Double { .infinity }

    func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        let turns = time >= from && time < until
        let angle = rate * radiansPerDegree * (min(max(time, from), until) - from)
        // A Taylor polynomial is accurate enough for a few degrees, and the core's tests have no libm.
        let sine = angle - angle * angle * angle / 6
        return TrueMotion(
            attitude: pose, rotationRate: Vector3(0, turns ? rate * radiansPerDegree : 0, 0),
            specificForce: standardGravity * Vector3(-sine, 0, (1 - sine * sine).squareRoot()))
    }
}
