import MotionCore
import Testing
import VirtualIMU

/// Requirement: a calibration reports in plain figures what a turn measured before it and what it measures after it.
@Suite struct TurnReadingTests {
    private let scale = Matrix3(Vector3(1.02, 0, 0), Vector3(0, 0.98, 0), Vector3(0, 0, 1.03))

    /// A turn from rest to rest, with a gyroscope corrected by `scale` and an accelerometer with an offset.
    private func turn(_ movement: Turn, offset: Vector3 = .zero) throws -> TurnSegment {
        let bias = Vector3(0.01, -0.04, 0.02)
        let start = movement.motion(at: 0)
        var recorder = TurnRecorder(from: RestingPose(force: start.specificForce + offset, rate: bias))
        for index in 0...Int(movement.duration * 500) {
            let motion = movement.motion(at: Double(index) / 500)
            recorder.take(
                MotionSample(
                    timestamp: Timestamp(seconds: Double(index) / 500), acceleration: motion.specificForce,
                    rotationRate: scale.inverse * motion.rotationRate + bias))
        }
        let end = movement.motion(at: movement.duration).specificForce + offset
        return try #require(recorder.finished(at: RestingPose(force: end, rate: bias)))
    }

    @Test(arguments: [1.0, -1, 2])
    func fullTurnReadsTooLittleBeforeCalibrationAndCorrectlyAfter(rounds: Double) throws {
        let turn = try turn(Turn(axis: Vector3(0, 0, 1), angle: rounds * 2 * .pi, duration: 4))
        let before = turn.reading(matrix: .identity, accelerometer: AccelerometerCalibration())
        #expect(abs(before.heading - rounds * 2 * .pi / 1.03) < 1e-3 && before.gravityError < 1e-6)
        let after = turn.reading(matrix: scale, accelerometer: AccelerometerCalibration())
        #expect(abs(after.heading - rounds * 2 * .pi) < 1e-3 && after.gravityError < 1e-6)
    }

    @Test func turnAboutLevelAxisMissesGravityBeforeCalibrationOnly() throws {
        let turn = try turn(Turn(axis: Vector3(1, 0, 0), angle: .pi / 2, duration: 1))
        let before = turn.reading(matrix: .identity, accelerometer: AccelerometerCalibration())
        #expect(abs(before.gravityError - (1 - 1 / 1.02) * .pi / 2) < 1e-3 && abs(before.heading) < 1e-6)
        #expect(turn.reading(matrix: scale, accelerometer: AccelerometerCalibration()).gravityError < 1e-4)
    }

    /// Gravity's direction is that of the calibrated accelerometer.
    @Test func correctsAccelerometerErrors() throws {
        let offset = Vector3(-0.3, -0.2, 0.4)
        let turn = try turn(Turn(axis: Vector3(0, 1, 0), angle: 2, duration: 1), offset: offset)
        let before = turn.reading(matrix: scale, accelerometer: AccelerometerCalibration())
        let after = turn.reading(matrix: scale, accelerometer: AccelerometerCalibration(offset: offset))
        #expect(before.gravityError > 0.02 && after.gravityError < 1e-4)
    }
}
