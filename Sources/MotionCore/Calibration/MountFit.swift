/// Finds how a sensor is mounted from two poses: the body as it is when it lies level, and tipped forward, nose down.
package enum MountFit {
    /// Smallest angle between the two poses, rad: 20°. Less leaves forward to the noise.
    package static let smallestAngle = 20 * radiansPerDegree

    /// Largest angle between the two poses, rad: 160°. The nearer to upside down, the less it says where forward is.
    package static let largestAngle = 160 * radiansPerDegree

    /// Finds the mounting.
    ///
    /// Tipping forward turns the body right-handed about its y axis, so the vertical moves from z towards -x; how far
    /// does not matter.
    ///
    /// - Parameters:
    ///   - level: specific force along the sensor's axes, calibrated, while the body is level.
    ///   - tipped: the same while it is tipped forward.
    /// - Returns: what turns sensor axes into body axes, x forward, y left, z up.
    /// - Throws: `wrongAngle` where the poses do not tell the axes, `notGravity` where one is no rest.
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
    /// The force is so far from gravity (m/s²) that the sensor did not rest or is broken.
    case notGravity(length: Double)
}
