import Testing

@testable import MotionCore

/// `state.vibrating`: a machine that runs, not a hand that moves.
@Suite struct VibrationMeterTests {
    /// Feeds a meter with a sine of `frequency` on top of gravity, at 200 Hz.
    private func feed(_ meter: inout VibrationMeter, seconds: Double, frequency: Double = 0, peak: Double = 0) {
        for index in 0..<Int(seconds * 200) {
            let phase = 2 * Double.pi * frequency * Double(index) / 200
            let sine = Quaternion(angle: 2 * phase, axis: Vector3(1, 0, 0)).x
            meter.update(Vector3(0.3, peak * sine, standardGravity), interval: 0.005)
        }
    }

    @Test func aMachineThatRunsVibratesUntilItStops() {
        var meter = VibrationMeter()
        feed(&meter, seconds: 3)
        #expect(!meter.isVibrating)
        feed(&meter, seconds: 1.5, frequency: 12, peak: 1)
        #expect(!meter.isVibrating)
        feed(&meter, seconds: 3, frequency: 12, peak: 1)
        #expect(meter.isVibrating)
        #expect(abs(meter.level - 1 / 2.0.squareRoot()) < 0.1)
        feed(&meter, seconds: 4)
        #expect(!meter.isVibrating)
    }

    @Test func slowSwayingIsNoVibration() {
        var meter = VibrationMeter()
        feed(&meter, seconds: 20, frequency: 0.8, peak: 3)
        #expect(!meter.isVibrating)
    }

    @Test func weakVibrationIsNone() {
        var meter = VibrationMeter()
        feed(&meter, seconds: 10, frequency: 20, peak: 0.3)
        #expect(!meter.isVibrating)
    }
}
