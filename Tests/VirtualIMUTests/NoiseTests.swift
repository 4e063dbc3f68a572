import IMUDrivers
import MotionCore
import Testing

@testable import VirtualIMU

/// The imperfections have the stated size. Seeds are fixed, so all runs are the same.
@Suite("Virtual MPU-6050: noise, bias, scale")
struct NoiseTests {
    private struct Statistics {
        var mean = [Double](repeating: 0, count: 6)
        var deviation = [Double](repeating: 0, count: 6)
        var correlation = [Double](repeating: 0, count: 6)
    }

    /// Mean, deviation and correlation of neighbouring values over 20,000 frames of raw words.
    private static func statistics(_ rig: Rig, divider: UInt8, lowPass: UInt8) throws -> Statistics {
        try rig.start(divider: divider, lowPass: lowPass, gyroscope: 0, accelerometer: 0, fifo: 0x78)
        rig.wait(2)
        try rig.write(0x6A, 0x04)
        try rig.write(0x6A, 0x40)
        var content: [Int] = []
        while content.count < 20_000 * 6 {
            rig.wait(80 * 0.001 * Double(divider + 1))
            content += try rig.drainFIFO()
        }
        var result = Statistics()
        for axis in 0..<6 {
            let values = stride(from: axis, to: content.count - 5 + axis, by: 6).map { Double(content[$0]) }
            let count = Double(values.count)
            let mean = values.reduce(0, +) / count
            let variance = values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / count
            let product = zip(values, values.dropFirst()).reduce(0) { $0 + ($1.0 - mean) * ($1.1 - mean) } / count
            result.mean[axis] = mean
            result.deviation[axis] = variance.squareRoot()
            result.correlation[axis] = product / variance
        }
        return result
    }

    @Test(
        "white noise has the stated density within the band", arguments: [(4, 2), (0, 1), (0, 4)] as [(UInt8, UInt8)])
    func density(divider: UInt8, lowPass: UInt8) throws {
        var imperfections = Imperfections.ideal
        // Ten times that of the real chip, so that quantisation does not matter.
        imperfections.accelerometerNoise = 4000e-6 * standardGravity
        imperfections.gyroscopeNoise = 0.05 * radiansPerDegree
        let rig = Rig(Posed(Quaternion(roll: 0.3, pitch: -0.6, yaw: 0)), imperfections, seed: 42)
        let found = try Self.statistics(rig, divider: divider, lowPass: lowPass)
        let setting = LowPassSetting(code: lowPass)
        let gravity = Posed(Quaternion(roll: 0.3, pitch: -0.6, yaw: 0)).motion(at: 0).specificForce
        for axis in 0..<6 {
            let isForce = axis < 3
            let bandwidth = isForce ? setting.accelerometerBandwidth : setting.gyroscopeBandwidth
            let density = isForce ? 4000e-6 * 16384 : 0.05 * 131
            let expected = density * (0.5 * .pi * bandwidth).squareRoot()
            let center = isForce ? gravity[axis] / standardGravity * 16384 : 0
            #expect(abs(found.deviation[axis] / expected - 1) < 0.05, "axis \(axis)")
            // Correlated samples carry less information about the mean.
            let memory = correlation(bandwidth: bandwidth, period: 0.001 * Double(divider + 1))
            let uncertainty = expected * ((1 + memory) / (1 - memory) / 20_000).squareRoot()
            #expect(abs(found.mean[axis] - center) < 4 * uncertainty + 0.5, "axis \(axis)")
            #expect(abs(found.correlation[axis] - memory) < 0.05, "axis \(axis)")
        }
    }

    /// exp(-2π·bandwidth·period), by its series.
    private func correlation(bandwidth: Double, period: Double) -> Double {
        let x = -2 * Double.pi * bandwidth * period / 64
        var result = 1.0
        for k in stride(from: 12.0, to: 0, by: -1) { result = 1 + x / k * result }
        for _ in 0..<6 { result *= result }
        return result
    }

    @Test("the typical chip's noise is the specification's: 0.05 °/s rms in 100 Hz (PS p. 12)")
    func typical() throws {
        let rig = Rig(Rest(), .typical, seed: 5)
        let found = try Self.statistics(rig, divider: 0, lowPass: 2)
        for axis in 3..<6 {
            let rms = found.deviation[axis] / 131
            #expect(rms > 0.04 && rms < 0.08, "axis \(axis)")
        }
        for axis in 0..<3 {
            let rms = found.deviation[axis] / 16384
            #expect(rms > 0.003 && rms < 0.006, "axis \(axis)")
        }
    }

    @Test("bias, scale and cross-axis sensitivity per axis")
    func deterministicErrors() throws {
        var imperfections = Imperfections.ideal
        imperfections.accelerometerBias = standardGravity * Vector3(0.05, -0.02, 0.08)
        imperfections.gyroscopeBias = radiansPerDegree * Vector3(-5, 3, 1)
        imperfections.accelerometerMatrix = Matrix3(
            Vector3(1.02, 0.01, 0), Vector3(0, 0.98, -0.02), Vector3(0.005, 0, 1))
        imperfections.gyroscopeMatrix = Matrix3(Vector3(1, 0, -0.01), Vector3(0.02, 1.03, 0), Vector3(0, 0.015, 0.97))
        let rig = Rig(Steady(), imperfections)
        try rig.start(gyroscope: 0, accelerometer: 0)
        rig.wait(0.2)
        let out = try rig.outputs()
        let force = [0.5 * 1.02 - 0.25 * 0.01 + 0.05, -0.25 * 0.98 - 0.75 * 0.02 - 0.02, 0.5 * 0.005 + 0.75 + 0.08]
        let rate = [100 - 0.25 - 5, 2 - 51.5 + 3, -0.75 + 24.25 + 1]
        for axis in 0..<3 {
            #expect(out[axis] == Int((force[axis] * 16384).rounded()))
            #expect(out[4 + axis] == Int((rate[axis] * 131).rounded()))
        }
    }

    @Test("the typical chip is plausible: within the specification, with no zero values (PS p. 12 to 14)")
    func plausible() {
        let it = Imperfections.typical
        for axis in 0..<3 {
            let force = abs(it.accelerometerBias[axis]) / standardGravity
            #expect(force > 0.005 && force < (axis < 2 ? 0.05 : 0.08))
            let rate = abs(it.gyroscopeBias[axis]) * degreesPerRadian
            #expect(rate > 0.5 && rate < 20)
            #expect(it.accelerometerBiasDrift[axis] != 0 && it.gyroscopeBiasDrift[axis] != 0)
        }
        #expect(it.accelerometerMatrix.orthonormalityError < 0.06 && it.accelerometerMatrix != .identity)
        #expect(it.gyroscopeMatrix.orthonormalityError < 0.06 && it.gyroscopeMatrix != .identity)
        #expect(it.oscillatorError >= 10_000 && it.oscillatorError <= 20_000)
    }

    @Test("normal numbers: mean, deviation and tails; streams differ and repeat")
    func normals() {
        var random = RandomNumbers(seed: 9)
        var sum = 0.0
        var squares = 0.0
        var outside = 0
        for _ in 0..<50_000 {
            let (a, b) = random.normalPair()
            sum += a + b
            squares += a * a + b * b
            outside += (abs(a) > 2 ? 1 : 0) + (abs(b) > 2 ? 1 : 0)
        }
        #expect(abs(sum / 100_000) < 0.013)
        #expect(abs(squares / 100_000 - 1) < 0.02)
        #expect(abs(Double(outside) / 100_000 - 0.0455) < 0.003)
        var first = RandomNumbers(seed: 9, stream: 1)
        var again = RandomNumbers(seed: 9, stream: 1)
        var second = RandomNumbers(seed: 9, stream: 2)
        let number = first.next()
        #expect(number == again.next())
        #expect(number != second.next())
    }
}
