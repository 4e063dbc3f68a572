import MotionCore
import Testing

/// Requirement: the gyroscope's bias over temperature is estimated and used.
@Suite struct BiasTemperatureLineTests {
    private let slope = radiansPerDegree * Vector3(0.02, -0.03, 0.01)
    private let bias = radiansPerDegree * Vector3(5, -4, 3)

    /// The bias measured in a rest, with an error of ±0.01 °/s in turn.
    private func measured(_ index: Int, at temperature: Double) -> Vector3 {
        let noise = (index % 2 == 0 ? 0.01 : -0.01) * radiansPerDegree
        return bias + (temperature - 25) * slope + Vector3(noise, -noise, noise)
    }

    private func learnt(from low: Double, to high: Double, rests: Int = 200) -> BiasTemperatureLine {
        var line = BiasTemperatureLine()
        for index in 0..<rests {
            let temperature = low + (high - low) * Double(index) / Double(rests - 1)
            line.learn(bias: measured(index, at: temperature), temperature: temperature)
        }
        return line
    }

    @Test func estimatesSlopeWhileWarmingUp() {
        let line = learnt(from: 20, to: 35)
        #expect(line.hasBias && line.hasSlope)
        #expect((line.calibratedSlope - slope).length < 0.002 * radiansPerDegree)
        for temperature in [10.0, 20, 35, 45] {
            let truth = bias + (temperature - 25) * slope
            #expect((line.bias(at: temperature) - truth).length < 0.05 * radiansPerDegree)
        }
    }

    @Test func estimatesOnlyBiasOverSmallTemperatureRange() {
        let line = learnt(from: 24, to: 26.5)
        #expect(line.hasBias && !line.hasSlope)
        #expect(line.calibratedSlope == .zero)
        #expect((line.bias(at: 40) - bias).length < 0.1 * radiansPerDegree)
    }

    /// A thousand hours of noise at one temperature must neither create a slope nor spoil one.
    @Test func staysStableAtConstantTemperature() {
        var line = learnt(from: 20, to: 30)
        for index in 0..<360_000 { line.learn(bias: measured(index, at: 28), temperature: 28) }
        #expect((line.calibratedSlope - slope).length < 0.005 * radiansPerDegree)
        #expect((line.bias(at: 28) - (bias + 3 * slope)).length < 0.01 * radiansPerDegree)
        #expect(line.slopeVariance.isFinite && line.slopeVariance > 0)
    }

    /// The line follows an ageing gyroscope.
    @Test func followsAgeingGyroscope() {
        var line = learnt(from: 20, to: 30)
        let shift = radiansPerDegree * Vector3(1, 1, -1)
        for index in 0..<10_000 {
            let temperature = 25 + 5 * Double(index % 100) / 100
            line.learn(bias: measured(index, at: temperature) + shift, temperature: temperature)
        }
        #expect((line.bias(at: 25) - (bias + shift)).length < 0.03 * radiansPerDegree)
    }

    @Test func limitsSlope() {
        var line = BiasTemperatureLine()
        for temperature in [20.0, 22, 24, 26] {
            line.learn(bias: Vector3(0.05 * (temperature - 20), 0, 0), temperature: temperature)
        }
        #expect(line.slope.x > 0.04)
        #expect(line.calibratedSlope == Vector3(BiasTemperatureLine.largestSlope, 0, 0) || line.calibratedSlope.y != 0)
        #expect(abs(line.calibratedSlope.x - BiasTemperatureLine.largestSlope) < 1e-12)
    }

    @Test func ignoresImpossibleValues() {
        var line = BiasTemperatureLine()
        line.learn(bias: .unknown, temperature: 25)
        line.learn(bias: bias, temperature: .nan)
        line.learn(bias: Vector3(2, 0, 0), temperature: 25)
        #expect(line == BiasTemperatureLine())
        #expect(!line.hasBias && !line.hasSlope)
    }
}
