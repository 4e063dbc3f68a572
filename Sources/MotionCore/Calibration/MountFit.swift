/// Finds the mounting of a sensor from two poses: the body level, and the body tipped forward, nose down.
package enum MountFit {
    /// Smallest angle between the two poses, rad: 20°. With less, noise decides which way is forward.
    package static let smallestAngle = 20 * radiansPerDegree

    /// Largest angle between the two poses, rad: 160°. The closer to upside down, the less the pose reveals about
    /// forward.
    package static let largestAngle = 160 * radiansPerDegree

    /// Finds the mounting.
    ///
    /// Tipping forward turns the body right-handed about its y axis, so the vertical moves from z towards -x. The
    /// amount does not matter.
    ///
    /// - Parameters:
    ///   - level: calibrated specific force along the sensor's axes with the body level.
    ///   - tipped: the same with the body tipped forward.
    /// - Returns: the rotation from sensor axes to body axes, x forward, y left, z up.
    /// - Throws: `wrongAngle` if the poses do not determine the axes, `notGravity` if one is not a rest.
    package static func mount(level: Vector3, tippedForward tipped: Vector3) throws(MountFitError) -> Matrix3 {
        for force in [level, tipped] {
            guard force.length > 0.6 * standardGravity, force.length < 1.5 * standardGravity else {
                throw MountFitError.notGravity(length: force.length)
            }
        }
        let angle = level.angle(to: tipped)
        guard angle >= smallestAngle, angle <= largestAngle, let z = level.normalized,
            let y = tipped.cross(level).normalized
        else { throw MountFitError.wrongAngle(angle) }
        return Matrix3(y.cross(z), y, z)
    }
}

/// Why two poses do not give a mounting.
package enum MountFitError: Error, Equatable, Sendable, BitwiseCopyable {
    /// The angle between the poses (rad) is not between 20° and 160°.
    case wrongAngle(Double)
    /// The force (m/s²) is so far from gravity that the sensor was not at rest or is broken.
    case notGravity(length: Double)
}
