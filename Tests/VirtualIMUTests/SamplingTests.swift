import IMUDrivers
import MotionCore
import Testing

@testable import VirtualIMU

/// When samples are taken and what they contain: rates, filters, oscillator, determinism.
@Suite("Virtual MPU-6050: sampling")
struct SamplingTests {
    @Test("rate = base/(1 + divider), base 8 kHz without the low-pass and 1 kHz with it (RM p. 11)")
    func rates() throws {
        for (divider, lowPass, expected) in [
            (0, 1, 1000), (4, 3, 200), (9, 6, 100), (255, 2, 3), (7, 0, 1000), (0, 0, 8000), (39, 7, 200), (1, 5, 500),
        ] as [(UInt8, UInt8, UInt64)] {
            let rig = Rig()
            try rig.start(divider: divider, lowPass: lowPass)
            rig.wait(1.0000001)
            _ = try rig.read(0x75)
            #expect(rig.chip.sampleCount == expected, "divider \(divider), low-pass \(lowPass)")
        }
    }

    @Test("cycle mode samples at the rate of LP_WAKE_CTRL (RM p. 42)")
    func cycle() throws {
        for (control, expected) in [(0x00, 12), (0x40, 50), (0x80, 200), (0xC0, 400)] as [(UInt8, UInt64)] {
            let rig = Rig()
            try rig.write(0x6C, control)
            try rig.write(0x6B, 0x20)
            rig.wait(10.0001)
            _ = try rig.read(0x75)
            #expect(rig.chip.sampleCount == expected)
        }
    }

    @Test("at 8 kHz the accelerometer has a new value every eighth sample, the gyroscope every time (RM p. 11)")
    func repeatedAccelerometer() throws {
        let rig = Rig(Ramp(slope: 2))
        try rig.start(divider: 0, lowPass: 0, gyroscope: 0, accelerometer: 0, fifo: 0x18)
        rig.wait(2)
        _ = try rig.read(0x75)
        try rig.write(0x6A, 0x04)
        try rig.write(0x6A, 0x40)
        rig.wait(0.0100001)
        let content = try rig.drainFIFO()
        let force = stride(from: 0, to: content.count, by: 4).map { content[$0] }
        let rate = stride(from: 3, to: content.count, by: 4).map { content[$0] }
        #expect(force.count == 80)
        let changes = zip(force, force.dropFirst()).filter { $0 != $1 }.count
        #expect(changes == 10 || changes == 9)
        #expect(zip(rate, rate.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test("the oscillator has its own error, and the internal clock another one", arguments: [12_000.0, -8_500])
    func oscillator(error: Double) throws {
        var imperfections = Imperfections.ideal
        imperfections.oscillatorError = error
        imperfections.internalOscillatorError = 2 * error
        for (source, factor) in [(1, 1.0), (3, 1), (0, 2)] as [(UInt8, Double)] {
            let rig = Rig(Rest(), imperfections)
            try rig.start()
            try rig.write(0x6B, source)
            rig.wait(100)
            _ = try rig.read(0x75)
            #expect(rig.chip.sampleCount == UInt64(20_000 / (1 + factor * error * 1e-6)))
            let first = try #require(rig.chip.trueSampleTime(0))
            let last = try #require(rig.chip.trueSampleTime(10_000))
            #expect(abs(last.seconds(since: first) - 50 * (1 + factor * error * 1e-6)) < 3e-9)
        }
    }

    @Test("the chip warms up once awake, and the oscillator and the biases drift with it")
    func warming() throws {
        var imperfections = Imperfections.ideal
        imperfections.ambientTemperature = 25
        imperfections.selfHeating = 8
        imperfections.thermalTimeConstant = 50
        imperfections.oscillatorDrift = 100
        imperfections.gyroscopeBiasDrift = radiansPerDegree * Vector3(0.5, -0.25, 1)
        let rig = Rig(Rest(), imperfections)
        rig.wait(500)
        try rig.start()
        #expect(rig.chip.temperature == 25)
        rig.wait(50)
        let warm = try rig.outputs()
        let expected = 25 + 8 * (1 - 0.367879)
        #expect(abs(rig.chip.temperature - expected) < 1e-3)
        #expect(abs(Double(warm[3]) - (expected - 36.53) * 340) < 3)
        #expect(abs(Double(warm[4]) - 0.5 * (expected - 25) * 16.4) < 1)
        #expect(abs(Double(warm[5]) + 0.25 * (expected - 25) * 16.4) < 1)
        rig.wait(950)
        _ = try rig.read(0x75)
        // While it warms up, the drift adds up to less: 8 °C·100 ppm·50 s·(1 - 1/e) of it is still to come.
        let early = try #require(rig.chip.trueSampleTime(9_999))
        #expect(abs(early.seconds - 600 - 50 * (1 + 800e-6) + 800e-6 * 50 * 0.632121) < 1e-7)
        let last = rig.chip.sampleCount - 1
        let near = try #require(rig.chip.trueSampleTime(last - 1000))
        let end = try #require(rig.chip.trueSampleTime(last))
        #expect(abs(end.seconds(since: near) / 5 - 1 - 800e-6) < 1e-8)
        // Asleep it cools.
        try rig.write(0x6B, 0x40)
        rig.wait(50)
        _ = try rig.read(0x75)
        #expect(abs(rig.chip.temperature - (25 + 8 * 0.367879)) < 1e-3)
    }

    @Test("readings lag by the group delay of the datasheet (RM p. 13)")
    func delay() throws {
        for (lowPass, force, rate) in [
            (0, 0.0, 0.98), (1, 2.0, 1.9), (2, 3.0, 2.8), (3, 4.9, 4.8), (4, 8.5, 8.3), (5, 13.8, 13.4), (6, 19, 18.6),
        ] as [(UInt8, Double, Double)] {
            let rig = Rig(Ramp())
            try rig.start(divider: lowPass == 0 ? 39 : 4, lowPass: lowPass, gyroscope: 0, accelerometer: 0)
            rig.wait(2.0000001)
            let out = try rig.outputs()
            let sampled = try #require(rig.chip.trueSampleTime(rig.chip.sampleCount - 1)).seconds - 100
            let forceDelay = sampled - Double(out[0]) / 16384 * standardGravity
            let rateDelay = sampled - Double(out[6]) / 131 * radiansPerDegree
            let said = rig.chip.readingDelay
            #expect(abs(rateDelay - rate * 1e-3) < 1e-4, "low-pass \(lowPass)")
            #expect(abs(forceDelay - force * 1e-3) < (lowPass == 0 ? 1.1e-3 : 8e-4), "low-pass \(lowPass)")
            #expect(abs(forceDelay - said.accelerometer) < 4e-4 && abs(rateDelay - said.gyroscope) < 1e-4)
        }
    }

    @Test("the low-pass passes half the power at its bandwidth (RM p. 13)", arguments: [3, 4, 6] as [UInt8])
    func bandwidth(lowPass: UInt8) throws {
        let frequency: Double = [3: 42, 4: 20, 6: 5][lowPass] ?? 0
        let rig = Rig(Oscillation(axis: Vector3(1, 0, 0), amplitude: 2 / frequency, frequency: frequency))
        try rig.start(divider: 0, lowPass: lowPass, gyroscope: 3, fifo: 0x40)
        rig.wait(2)
        _ = try rig.drainFIFO()
        var power = 0.0
        var count = 0
        for _ in 0..<4 {
            rig.wait(0.25)
            for raw in try rig.drainFIFO() {
                power += Double(raw * raw)
                count += 1
            }
        }
        let rms = (power / Double(count)).squareRoot() / 16.4 * radiansPerDegree
        let input = 4 * Double.pi / 2.0.squareRoot()
        #expect(count == 1000)
        #expect(abs(rms / input - 0.5.squareRoot()) < 0.02)
    }

    @Test("a pulse between two samples is not missed")
    func pulse() throws {
        // A push of 4 ms, entirely between the samples at 0.5 s and 0.505 s.
        let rig = Rig(MotionSequence([Rest(0.5003), Tap(axis: Vector3(0, 1, 0), amplitude: 60, width: 0.004), Rest()]))
        try rig.start(lowPass: 2, fifo: 0x10 | 0x08)
        rig.wait(0.6)
        let content = try rig.drainFIFO()
        let peak = stride(from: 1, to: content.count, by: 4).map { content[$0] }.max() ?? 0
        #expect(Double(peak) / 4096 * standardGravity > 15)
    }

    @Test("after waking, the gyroscope takes 30 ms to come within 1 °/s (PS p. 12)")
    func startUp() throws {
        var imperfections = Imperfections.ideal
        imperfections.gyroscopeStartUp = 0.03
        let rig = Rig(Steady(), imperfections)
        try rig.start(divider: 0, lowPass: 2, fifo: 0x40)
        rig.wait(0.1001)
        let rate = try rig.drainFIFO().map { Double($0) / 16.4 }
        #expect(rate.count == 100)
        #expect(rate[0] > 200)
        #expect(rate[20] > 103)
        #expect(rate.dropFirst(30).allSatisfy { abs($0 - 100) < 1.1 })
        #expect(abs(rate[90] - 100) < 0.07)
    }
}

@Suite("Virtual MPU-6050: determinism")
struct DeterminismTests {
    /// Polls the FIFO every `interval` seconds until it has delivered `frames` frames.
    private static func record(seed: UInt64, interval: Double, frames: Int) throws -> [Int] {
        let rig = Rig(VirtualTrajectory.demo.trajectory, .typical, seed: seed)
        try rig.start(fifo: 0xF8)
        var content: [Int] = []
        while content.count < frames * 7 {
            rig.wait(interval)
            content += try rig.drainFIFO()
        }
        return Array(content.prefix(frames * 7))
    }

    @Test("the same seed gives the same bytes whenever they are read; another seed gives others")
    func seeds() throws {
        let reference = try Self.record(seed: 7, interval: 0.02, frames: 900)
        #expect(try Self.record(seed: 7, interval: 0.02, frames: 900) == reference)
        #expect(try Self.record(seed: 7, interval: 0.1137, frames: 900) == reference)
        #expect(try Self.record(seed: 8, interval: 0.02, frames: 900) != reference)
    }

    @Test("a long pause changes neither times nor contents of later samples", arguments: [1, 3, 6] as [UInt8])
    func pause(lowPass: UInt8) throws {
        let patient = Rig(VirtualTrajectory.walk.trajectory, .typical, seed: 3)
        let diligent = Rig(VirtualTrajectory.walk.trajectory, .typical, seed: 3)
        try patient.start(lowPass: lowPass, fifo: 0x78)
        try diligent.start(lowPass: lowPass, fifo: 0x78)
        patient.wait(30)
        for _ in 0..<300 {
            diligent.wait(0.1)
            _ = try diligent.read(0x75)
        }
        #expect(try patient.read(0x3A) == 0x11)
        #expect(try diligent.read(0x3A) == 0x11)
        #expect(patient.chip.sampleCount == diligent.chip.sampleCount)
        #expect(try patient.drainFIFO() == diligent.drainFIFO())
        let index = patient.chip.sampleCount - 1
        #expect(patient.chip.trueSampleTime(index) == diligent.chip.trueSampleTime(index))
        #expect(patient.chip.trueSampleTime(index + 1) == nil)
    }

    @Test("sample times are known across changes of the rate")
    func instants() throws {
        let rig = Rig()
        try rig.start()
        rig.wait(0.1001)
        try rig.write(0x19, 9)
        rig.wait(0.1001)
        try rig.write(0x6B, 0x40)
        rig.wait(1)
        try rig.write(0x6B, 0x01)
        rig.wait(0.0101)
        _ = try rig.read(0x75)
        #expect(rig.chip.sampleCount == 20 + 10 + 1)
        #expect(rig.chip.trueSampleTime(0) == Timestamp(seconds: 100.005))
        #expect(rig.chip.trueSampleTime(19) == Timestamp(seconds: 100.1))
        #expect(rig.chip.trueSampleTime(20) == Timestamp(seconds: 100.1101))
        #expect(rig.chip.trueSampleTime(30) == Timestamp(seconds: 101.2102))
    }

    @Test("the truth is that of the trajectory at that instant")
    func truth() {
        let rig = Rig(VirtualTrajectory.turn360.trajectory)
        #expect(rig.chip.truth(at: Timestamp(seconds: 103)) == VirtualTrajectory.turn360.trajectory.motion(at: 3))
    }
}
