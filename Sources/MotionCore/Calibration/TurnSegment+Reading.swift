internal import CMotionMath

extension TurnSegment {
    /// What a gyroscope with a given calibration measures during a turn.
    package struct Reading: Equatable, Sendable, BitwiseCopyable {
        /// The angle turned about the vertical, rad, right-handed; more than 2π after several turns.
        package var heading: Double
        /// The angle (rad) between gravity's direction, carried along from the rest at the start, and the direction
        /// that the accelerometer measures in the rest at the end.
        package var gravityError: Double
    }

    /// Evaluates the turn with a gyroscope matrix and an accelerometer calibration.
    package func reading(matrix: Matrix3, accelerometer: AccelerometerCalibration) -> Reading {
        guard let up = accelerometer.apply(start.force).normalized else { return Reading(heading: 0, gravityError: 0) }
        let integral = TurnIntegral(self, matrix: matrix, up: up)
        let turned = integral.rotation.unrotate(up)
        let found = accelerometer.apply(end.force)
        return Reading(
            heading: integral.heading, gravityError: atan2(turned.cross(found).length, turned.dot(found)))
    }
}
