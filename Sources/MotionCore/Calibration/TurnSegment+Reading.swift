internal import CMotionMath

extension TurnSegment {
    /// What a gyroscope reads of a turn once its errors are taken out in some way.
    package struct Reading: Equatable, Sendable, BitwiseCopyable {
        /// The angle turned about the vertical, rad, right-handed and beyond one turn.
        package var heading: Double
        /// The angle (rad) between gravity's direction, turned along from the rest at the start, and that which the
        /// accelerometer reads in the rest at the end.
        package var gravityError: Double
    }

    /// What is read of the turn with a gyroscope's matrix, and an accelerometer calibrated in some way.
    package func reading(matrix: Matrix3, accelerometer: AccelerometerCalibration) -> Reading {
        guard let up = accelerometer.apply(start.force).normalized else { return Reading(heading: 0, gravityError: 0) }
        let integral = TurnIntegral(self, matrix: matrix, up: up)
        let turned = integral.rotation.unrotate(up)
        let found = accelerometer.apply(end.force)
        return Reading(
            heading: integral.heading, gravityError: atan2(turned.cross(found).length, turned.dot(found)))
    }
}
