import MotionCore
import Testing

/// The low-passes that a user sets: cut-off in Hz, right from the first sample, no jump when the cut-off changes.
@Suite struct LowPassTests {
    private let rate = 200.0

    /// The amplitude of a sine of `frequency` after the filter.
    private func gain(cutoff: Double, frequency: Double) -> Double {
        var filter = VectorLowPass(cutoff: cutoff)
        var peak = 0.0
        for index in 0..<4000 {
            let phase = 2 * Double.pi * frequency * Double(index) / rate
            let output = filter.update(Vector3(sine(phase), 0, 0), interval: 1 / rate)
            if index > 2000 { peak = max(peak, abs(output.x)) }
        }
        return peak
    }

    /// sin without Foundation: the imaginary part of a unit quaternion.
    private func sine(_ angle: Double) -> Double { Quaternion(angle: 2 * angle, axis: Vector3(1, 0, 0)).x }

    @Test func hasThreeDecibelsAtItsCutoffAndTwelveAnOctaveAbove() {
        #expect(abs(gain(cutoff: 5, frequency: 5) - 0.7071) < 0.01)
        #expect(gain(cutoff: 5, frequency: 0.5) > 0.99)
        #expect(abs(gain(cutoff: 5, frequency: 20) - 1.0 / 16) < 0.01)
    }

    @Test func startsAtFirstInput() {
        var filter = VectorLowPass(cutoff: 1)
        let input = Vector3(1, -2, 9.8)
        for _ in 0..<10 {
            let output = filter.update(input, interval: 0.005)
            #expect((output - input).length < 1e-12)
        }
    }

    @Test func newCutoffCausesNoJump() {
        var filter = VectorLowPass(cutoff: 20)
        var last = Vector3.zero
        for index in 0..<400 {
            let input = Vector3(sine(Double(index) * 0.05), 0, 0)
            if index == 200 { filter.cutoff = 2 }
            let output = filter.update(input, interval: 0.005)
            if index > 0 { #expect((output - last).length < 0.08) }
            last = output
        }
    }

    @Test func zeroCutoffPassesEverything() {
        var filter = VectorLowPass(cutoff: 0)
        #expect(filter.update(Vector3(1, 2, 3), interval: 0.01) == Vector3(1, 2, 3))
        #expect(filter.update(Vector3(-4, 5, 6), interval: 0.01) == Vector3(-4, 5, 6))
    }

    @Test func filtersAttitudeAcrossAngleWrap() {
        var filter = AttitudeLowPass(cutoff: 1)
        let before = Quaternion(angle: 179 * radiansPerDegree, axis: Vector3(0, 0, 1))
        let after = Quaternion(angle: -179 * radiansPerDegree, axis: Vector3(0, 0, 1))
        filter.update(before, interval: 0.01)
        for _ in 0..<1000 {
            let output = filter.update(after, interval: 0.01)
            // The way from 179° to -179° is 2° long; filtered angles would swing through zero.
            #expect(output.angle(to: after) < 2.1 * radiansPerDegree)
        }
        #expect(filter.output.angle(to: after) < 0.01 * radiansPerDegree)
    }

    @Test func attitudeLowPassHasTimeConstantOfCutoff() {
        var filter = AttitudeLowPass(cutoff: 1 / (2 * Double.pi))
        filter.update(.identity, interval: 0.001)
        let target = Quaternion(angle: 1, axis: Vector3(0, 1, 0))
        for _ in 0..<1000 { filter.update(target, interval: 0.001) }
        // After one time constant of 1 s, 1/e of the way is left.
        #expect(abs(filter.output.angle(to: target) - 0.3679) < 0.005)
    }
}
