import Foundation
import MotionCore
import Testing

/// Attitude in movement: what the filter makes of late, missing, clipped and noisy samples, and of unusual movement.
/// Without the rule in question, each limit is exceeded.
@Suite struct AttitudeFilterMovementTests {
    private static let degree = radiansPerDegree

    /// The mean results of four boards.
    private func mean(seconds: Double, _ change: (inout HandRig) -> Void) -> HandRig.Result {
        var sum = HandRig.Result()
        for seed in 1...4 {
            var rig = HandRig()
            rig.seed = UInt64(seed)
            change(&rig)
            let result = rig.run(seconds: seconds)
            sum.rms += result.rms / 4
            sum.largest += result.largest / 4
            sum.scale += result.scale / 4
            sum.bias += result.bias / 4
            sum.heading += result.heading / 4
            sum.isSound = sum.isSound && result.isSound
        }
        return sum
    }

    @Test func followsHands() {
        let result = mean(seconds: 20) { _ in }
        #expect(result.isSound)
        #expect(result.rms < 0.06 * Self.degree && result.bias < 0.02 * Self.degree && result.scale < 0.0004)
    }

    /// A late accelerometer is the case in which everything in the covariance depends on the delay.
    @Test func estimatesDelayOfAccelerometerInFastTurns() {
        let result = mean(seconds: 30) {
            $0.delay = 0.008
            $0.turning = 12
        }
        #expect(result.isSound)
        #expect(result.rms < 1.8 * Self.degree && result.heading < 0.6 * Self.degree)
        #expect(result.bias < 0.08 * Self.degree && result.scale < 0.0012)
    }

    /// A board that is carried off: the movement is not blamed on the gyroscope, while it lasts and while the
    /// estimated position swings back.
    @Test func movementAwayDoesNotChangeCalibration() {
        let result = mean(seconds: 50) {
            $0.push = { time in
                let phase = time.truncatingRemainder(dividingBy: 20)
                if phase < 1.5 { return Vector3(5, -2, 0) }
                return phase > 10 && phase < 11.5 ? Vector3(-5, 2, 0) : .zero
            }
        }
        #expect(result.scale < 0.001 && result.bias < 0.2 * Self.degree && result.heading < 6 * Self.degree)
    }

    /// The filter starts while the board is swung hard. Half a second of such forces does not show where up is.
    @Test(arguments: [(20, 0.6), (30, 0.8)])
    func startsInTheMiddleOfSwing(pull: Double, frequency: Double) {
        let result = mean(seconds: 4) {
            $0.settled = 0.6
            $0.push = { time in
                let angle = 2 * .pi * frequency * time
                return time < 2 ? Vector3(pull * cos(angle), 0, 0.5 * pull * sin(angle)) : .zero
            }
        }
        #expect(result.rms < 30 * Self.degree && result.largest < 45 * Self.degree)
    }

    /// A position that stays farther from its origin than white noise would is movement.
    @Test func largeSlowMovementIsNotTilt() {
        let result = mean(seconds: 90) {
            $0.rest = 3
            $0.turning = 4
            $0.push = { time in
                guard time > 4 else { return .zero }
                return Vector3(
                    5.6 * sin(1.7 * time) + 2.8 * sin(2.3 * time + 1),
                    4.2 * sin(1.3 * time + 2) - 2.8 * sin(2.9 * time), 2.8 * sin(2.1 * time))
            }
        }
        #expect(result.rms < 0.75 * Self.degree && result.heading < 0.6 * Self.degree)
    }

    /// A start in the middle of a movement: bias, °/s, rate of the turns, rad/s, and how far the
    /// estimate may be off, °/s.
    /// The small one must not be disturbed, and the large one must be found although it is improbable.
    @Test(arguments: [(0.0, 0.4, 0.05), (0, 1, 0.04), (4, 1, 2.3)])
    func biasWithoutRest(bias: Double, turning: Double, limit: Double) {
        let result = mean(seconds: 30) {
            $0.rest = 0
            $0.unseen = 3
            $0.turning = turning
            $0.reach = 0.2
            $0.bias = Vector3(bias, -bias, bias) * Self.degree
        }
        #expect(result.bias < limit * Self.degree)
    }

    @Test func longAccelerationIsNotVertical() {
        let result = mean(seconds: 16) {
            $0.turning = 0.2
            $0.push = { $0 > 10 && $0 < 13.5 ? Vector3(9, 0, 0) : .zero }
        }
        #expect(result.largest < 8 * Self.degree)
    }

    /// Beyond some metres, the estimated position is not worth following.
    @Test func recoversFromLongAcceleration() {
        let result = mean(seconds: 40) {
            $0.turning = 0.5
            $0.push = { $0 > 10 && $0 < 16 ? Vector3(1.5, 0.5, 0) : .zero }
        }
        #expect(result.rms < 3.8 * Self.degree && result.largest < 6 * Self.degree)
    }

    // MARK: - Missing samples

    /// Half of the samples are missing while the board is turned: it turned on meanwhile, and not all is known of it.
    @Test func missingSamplesInTurnsAreInterpolatedWithDoubt() {
        let result = mean(seconds: 30) {
            $0.isMissing = { $0 % 23 < 12 }
            $0.turning = 5
            $0.reach = 0.1
        }
        #expect(result.rms < 1.8 * Self.degree && result.largest < 4 * Self.degree)
        #expect(result.scale < 0.002 && result.bias < 0.06 * Self.degree)
    }

    /// The samples that are missing are always those in which the force rises.
    @Test func missingForceIsInterpolated() {
        let result = mean(seconds: 15) {
            $0.turning = 0.3
            $0.reach = 0.01
            $0.isMissing = { $0 % 80 < 16 }
            $0.push = { Vector3(10, -6, 3) * sin(2 * .pi * ($0 / 0.4 - 0.1)) }
        }
        #expect(result.largest < 3 * Self.degree)
    }

    /// The force jumps while samples are missing, sooner than interpolation makes of it when it rises and later when it
    /// falls: the velocity becomes uncertain.
    @Test func jumpsOfMissingForceAreDoubted() {
        let result = mean(seconds: 15) {
            $0.turning = 0.5
            $0.reach = 0.01
            $0.isMissing = { $0 % 80 < 16 && $0 > 1000 && $0 < 2000 }
            $0.push = { time in
                guard time > 5, time < 10 else { return .zero }
                let phase = (time - 0.005).truncatingRemainder(dividingBy: 0.8)
                return Vector3(1, -0.5, 0) * (phase > 0.012 && phase < 0.463 ? 10 : -10)
            }
        }
        #expect(result.rms < 1.55 * Self.degree)
    }

    // MARK: - Clipped samples

    @Test func clippedTurnIsCorrectedSoon() {
        let result = mean(seconds: 26) {
            $0.rotationRateRange = 250 * Self.degree
            $0.turning = 1.5
            $0.settled = 22
            $0.spin = { $0 > 20 && $0 < 20.5 ? Vector3(8, 3, -7) * sin(.pi * ($0 - 20) / 0.5) : .zero }
        }
        #expect(result.rms < 4 * Self.degree)
    }

    /// The error of a clipped turn is not blamed on the calibration.
    @Test func clippedTurnsDoNotChangeCalibration() {
        let result = mean(seconds: 40) {
            $0.rotationRateRange = 250 * Self.degree
            $0.turning = 3
            $0.spin = { time in
                let phase = time.truncatingRemainder(dividingBy: 4)
                return phase < 0.3 && time > 6 ? Vector3(1.8, 6, 0) * sin(.pi * phase / 0.3) : .zero
            }
        }
        #expect(result.scale < 0.0008 && result.bias < 0.057 * Self.degree)
    }

    @Test func clippedForceCountsLess() {
        let result = mean(seconds: 30) {
            $0.accelerationRange = 14
            $0.reach = 0.2
        }
        #expect(result.rms < Self.degree && result.scale < 0.0005)
    }

    // MARK: - Noise

    @Test func roughForceCountsLess() {
        let result = mean(seconds: 40) {
            $0.noise = 6
        }
        #expect(result.rms < 3.1 * Self.degree)
    }

    // MARK: - Start

    @Test func startWhileShakenFindsVertical() {
        let result = mean(seconds: 7) {
            $0.unseen = 1
            $0.rest = 30
            $0.settled = 2.6
            $0.push = { $0 < 6 ? Vector3(20, 8, 5) * sin(2 * .pi * 1.3 * $0) : .zero }
        }
        #expect(result.rms < 2.5 * Self.degree && result.largest < 8 * Self.degree)
    }
}
