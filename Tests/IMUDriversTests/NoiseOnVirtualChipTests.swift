import Foundation
import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

/// Requirement: the noise measured in a recording of the virtual chip equals the noise that the model was given.
@Suite struct NoiseOnVirtualChipTests {
    private let force = 400e-6 * standardGravity
    private let rate = 0.005 * radiansPerDegree

    /// The Allan deviation of the accelerometer's and the gyroscope's axes, from a resting chip's samples through the
    /// driver.
    private func curves(
        _ settings: IMUSettings, seconds: Double
    ) throws -> (acceleration: [AllanDeviation], rotationRate: [AllanDeviation], period: Double) {
        var imperfections = Imperfections.ideal
        imperfections.accelerometerNoise = force
        imperfections.gyroscopeNoise = rate
        imperfections.gyroscopeBias = radiansPerDegree * Vector3(-2.6, 1.7, 0.9)
        let clock = ManualClock()
        let chip = VirtualIMUChip(trajectory: Rest(), imperfections: imperfections, seed: 3, start: clock.now())
        var driver = MPU6050(
            bus: VirtualBus(chip, clock: clock), clock: clock, settings: settings, line: NoDataReadyLine())
        var batch = SampleBatch(capacity: 80)
        var columns = [[Double]](repeating: [], count: 6)
        let end = clock.now().advanced(bySeconds: seconds)
        while clock.now() < end {
            batch.removeAll()
            clock.advance(to: driver.poll(into: &batch).next)
            for index in 0..<batch.count {
                for axis in 0..<3 {
                    columns[axis].append(batch[index].acceleration[axis])
                    columns[3 + axis].append(batch[index].rotationRate[axis])
                }
            }
        }
        let period = 1 / driver.info.nominalRate
        let all = try columns.map { try AllanDeviation(samples: $0, period: period) }
        return (Array(all[..<3]), Array(all[3...]), period)
    }

    @Test("At 1 kHz and with fine ranges the densities are the chip's, within 10 %")
    func fast() throws {
        var settings = IMUSettings()
        settings.rate = 1000
        settings.accelerometerRange = 2 * standardGravity
        settings.gyroscopeRange = 250 * radiansPerDegree
        let (acceleration, rotationRate, _) = try curves(settings, seconds: 45)
        for axis in 0..<3 {
            #expect(abs(try #require(acceleration[axis].noiseDensity) / force - 1) < 0.1, "axis \(axis)")
            #expect(abs(try #require(rotationRate[axis].noiseDensity) / rate - 1) < 0.1, "axis \(axis)")
        }
    }

    @Test("At 200 Hz they also include aliased noise and quantisation noise, within 6 %")
    func usual() throws {
        let (acceleration, rotationRate, period) = try curves(IMUSettings(), seconds: 120)
        for axis in 0..<3 {
            let force = expected(force, bandwidth: 94, period, count: standardGravity / 4096)
            let rate = expected(rate, bandwidth: 98, period, count: radiansPerDegree / 16.4)
            #expect(abs(try #require(acceleration[axis].noiseDensity) / force - 1) < 0.06, "axis \(axis)")
            #expect(abs(try #require(rotationRate[axis].noiseDensity) / rate - 1) < 0.06, "axis \(axis)")
        }
    }

    /// The density at low frequencies of noise behind a first-order low-pass, after sampling and rounding to counts.
    private func expected(_ density: Double, bandwidth: Double, _ period: Double, count: Double) -> Double {
        let memory = exp(-2 * .pi * bandwidth * period)
        let variance = density * density * 0.5 * .pi * bandwidth
        return (2 * period * (variance * (1 + memory) / (1 - memory) + count * count / 12)).squareRoot()
    }
}
