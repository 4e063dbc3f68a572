import Foundation
import MotionCore
import Testing

extension GaussianNumbers {
    /// White noise of a one-sided density, u/√Hz.
    fileprivate mutating func white(density: Double, count: Int, period: Double) -> [Double] {
        let deviation = density * (0.5 / period).squareRoot()
        return (0..<count).map { _ in deviation * next() }
    }

    /// A random walk of K u/√s.
    fileprivate mutating func walk(_ k: Double, count: Int, period: Double) -> [Double] {
        var value = 0.0
        return (0..<count).map { _ in
            value += k * period.squareRoot() * next()
            return value
        }
    }

    /// Flicker noise of the instability B: first-order processes with logarithmically spaced time constants, whose
    /// one-sided densities add up to B²/(π·f) where they overlap.
    fileprivate mutating func flicker(_ b: Double, count: Int, period: Double) -> [Double] {
        let ratio = 4.0
        var sum = [Double](repeating: 0, count: count)
        for step in 0..<10 {
            let memory = exp(-period / (0.002 * pow(ratio, Double(step))))
            let deviation = b * (log(ratio) / .pi).squareRoot()
            var value = deviation * next()
            for index in sum.indices {
                value = memory * value + deviation * (1 - memory * memory).squareRoot() * next()
                sum[index] += value
            }
        }
        return sum
    }
}

private func + (a: [Double], b: [Double]) -> [Double] { zip(a, b).map { $0 + $1 } }

/// Requirement: the overlapping Allan deviation (IEEE Std 952-1997, annex C; NIST SP 1065) and the quantities read from
/// it, for signals whose deviation is known.
@Suite struct AllanDeviationTests {
    private static let period = 0.005

    @Test("Alternating samples: √2 at one sample, √2/n at odd lengths, zero at even ones")
    func alternating() throws {
        let allan = try AllanDeviation(samples: (0..<1000).map { $0 % 2 == 0 ? 4 : 2 }, period: 0.5)
        #expect(allan.points.map(\.tau) == [0.5, 1, 2.5, 5, 10, 25, 50])
        for (point, length) in zip(allan.points, [1, 2, 5, 10, 20, 50, 100]) {
            let expected = length % 2 == 0 ? 0 : 2.0.squareRoot() / Double(length)
            #expect(abs(point.deviation - expected) < 1e-12, "\(point)")
            #expect(point.pairs == 1000 - 2 * length + 1)
        }
    }

    @Test("A steady drift of R: R·τ/√2 everywhere, and no kind of noise")
    func ramp() throws {
        let samples = (0..<5000).map { (index: Int) -> Double in 7 - 0.02 * Double(index) * Self.period }
        let allan = try AllanDeviation(samples: samples, period: Self.period)
        for point in allan.points {
            let expected = 0.02 * point.tau / 2.0.squareRoot()
            #expect(abs(point.deviation / expected - 1) < 1e-9, "\(point)")
        }
        #expect(allan.whiteNoise == nil && allan.biasWalk == nil)
    }

    @Test("Constant samples have zero deviation and no noise figures", arguments: [0, 0.1, -9.80665e6])
    func constant(value: Double) throws {
        let allan = try AllanDeviation(samples: [Double](repeating: value, count: 2000), period: 0.01)
        #expect(allan.points.count == 8 && allan.points.allSatisfy { $0.deviation == 0 })
        #expect(allan.noiseDensity == nil && allan.biasInstability == nil && allan.biasRandomWalk == nil)
    }

    @Test(
        "White noise: density within 3 %, slope -1/2, and only an upper bound for the bias",
        arguments: [1, 2, 3, 4])
    func white(seed: UInt64) throws {
        var noise = GaussianNumbers(state: seed)
        let samples = noise.white(density: 0.02, count: 100_000, period: Self.period)
        let allan = try AllanDeviation(samples: samples.map { $0 - 3 }, period: Self.period)
        let density = try #require(allan.noiseDensity)
        #expect(abs(density / 0.02 - 1) < 0.03)
        let walk = try #require(allan.randomWalk)
        let expectedWalk = 0.02 / 2.0.squareRoot()
        #expect(abs(walk / expectedWalk - 1) < 0.03)
        #expect(abs(try #require(allan.whiteNoise).slope + 0.5) < 0.02)
        #expect(allan.biasWalk == nil)
        let instability = try #require(allan.biasInstability)
        #expect(instability.isUpperBound && instability.tau > 10, "\(instability)")
        // The deviations match the theory within three times their own standard errors.
        for point in allan.points {
            let expected = 0.02 / (2 * point.tau).squareRoot()
            #expect(abs(point.deviation / expected - 1) < 3 * point.relativeError, "\(point)")
        }
    }

    @Test("A random walk: K within 15 %, slope +1/2, no white noise", arguments: [1, 2, 3])
    func walk(seed: UInt64) throws {
        var noise = GaussianNumbers(state: seed)
        let allan = try AllanDeviation(
            samples: noise.walk(0.3, count: 100_000, period: Self.period), period: Self.period)
        let k = try #require(allan.biasRandomWalk)
        #expect(abs(k / 0.3 - 1) < 0.15)
        #expect(abs(try #require(allan.biasWalk).slope - 0.5) < 0.1)
        #expect(allan.whiteNoise == nil)
    }

    @Test(
        "White noise and a random walk: both are found, and the minimum between them matches the theory",
        arguments: [1, 2, 3])
    func whiteAndWalk(seed: UInt64) throws {
        var noise = GaussianNumbers(state: seed)
        // σ² = N²/2τ + K²τ/3 is lowest at τ = √1.5·N/K, where it is N·K·√(2/3).
        let (density, k) = (0.02, 0.02)
        let samples =
            noise.white(density: density, count: 200_000, period: Self.period)
            + noise.walk(k, count: 200_000, period: Self.period)
        let allan = try AllanDeviation(samples: samples, period: Self.period)
        #expect(abs(try #require(allan.noiseDensity) / density - 1) < 0.05)
        #expect(abs(try #require(allan.biasRandomWalk) / k - 1) < 0.35)
        let instability = try #require(allan.biasInstability)
        #expect(!instability.isUpperBound && (0.5...2.5).contains(instability.tau), "\(instability)")
        let lowest = (density * k * (2.0 / 3).squareRoot()).squareRoot()
        #expect(abs(instability.value * 0.664 / lowest - 1) < 0.1, "\(instability)")
    }

    @Test("White and flicker noise: the instability is within 20 % and not an upper bound", arguments: [1, 2, 3])
    func flicker(seed: UInt64) throws {
        var noise = GaussianNumbers(state: seed)
        let samples =
            noise.white(density: 0.005, count: 100_000, period: Self.period)
            + noise.flicker(0.02, count: 100_000, period: Self.period)
        let instability = try #require(try AllanDeviation(samples: samples, period: Self.period).biasInstability)
        #expect(!instability.isUpperBound)
        #expect(abs(instability.value / 0.02 - 1) < 0.2, "\(instability)")
    }

    @Test("The curve ends at an uncertainty of a quarter; the duration for another one can be computed")
    func confidence() throws {
        var noise = GaussianNumbers(state: 1)
        let allan = try AllanDeviation(
            samples: noise.white(density: 1, count: 9000, period: Self.period), period: Self.period)
        let last = try #require(allan.points.last)
        #expect(last.tau == 1000 * Self.period && abs(last.relativeError - 0.25) < 1e-12)
        #expect(abs(AllanDeviation.duration(for: last.tau, relativeError: 0.25) - 9000 * Self.period) < 1e-9)
        #expect(abs(AllanDeviation.duration(for: 10, relativeError: 0.1) - 510) < 1e-9)
    }

    @Test("Unusable input throws an error with the reason")
    func errors() {
        #expect(throws: AllanDeviationError.tooShort(samples: 999, needed: 1000)) {
            try AllanDeviation(samples: [Double](repeating: 1, count: 999), period: 0.01)
        }
        var samples = [Double](repeating: 1, count: 1000)
        samples[517] = .nan
        #expect(throws: AllanDeviationError.notFinite(index: 517)) {
            try AllanDeviation(samples: samples, period: 0.01)
        }
        for period in [0, -1, .nan, .infinity] {
            #expect(throws: AllanDeviationError.invalidPeriod) { try AllanDeviation(samples: samples, period: period) }
        }
    }
}
