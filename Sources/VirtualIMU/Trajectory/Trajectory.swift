package import MotionCore

/// A movement of a virtual chip whose truth is known at every instant.
///
/// Trajectories can be composed. A segment receives the pose in which it begins and continues from there. One with an
/// end comes to rest there, so that another can follow.
package protocol Trajectory: Sendable {
    /// Seconds until the board is at rest for good; infinite if it never is.
    var duration: Double { get }

    /// The movement without its repetitions: one round of a repeating trajectory, any other unchanged.
    var once: any Trajectory { get }

    /// The true motion `time` seconds after the start, started in the attitude `pose`.
    ///
    /// Before the start and after the end the body is at rest. The attitude is `pose` times a rotation that does not
    /// depend on `pose`.
    func motion(at time: Double, from pose: Quaternion) -> TrueMotion
}

extension Trajectory {
    package var once: any Trajectory { self }

    /// The true motion `time` seconds after the start, started lying flat with heading zero.
    package func motion(at time: Double) -> TrueMotion { motion(at: time, from: .identity) }
}

/// The readings of a perfect sensor at one instant, and the true attitude.
package struct TrueMotion: Equatable, Sendable, BitwiseCopyable {
    /// Rotates body vectors into earth vectors.
    package var attitude: Quaternion

    /// Angular rate along the body's axes, rad/s: the derivative of `attitude`.
    package var rotationRate: Vector3

    /// Specific force along the body's axes, m/s²: at rest it points up and is as long as gravity.
    package var specificForce: Vector3

    /// Displacement in the earth frame since the current segment began, m; unknown in a recording.
    package var position: Vector3

    /// Creates the motion of a body with `acceleration` (earth frame, m/s², without gravity).
    package init(attitude: Quaternion, rotationRate: Vector3, position: Vector3, acceleration: Vector3) {
        self.attitude = attitude
        self.rotationRate = rotationRate
        self.position = position
        specificForce = attitude.unrotate(acceleration + Vector3(0, 0, standardGravity))
    }

    /// Creates the motion of a body that moves up and down.
    init(attitude: Quaternion, rotationRate: Vector3 = .zero, height: Jet) {
        self.init(
            attitude: attitude, rotationRate: rotationRate, position: Vector3(0, 0, height.value),
            acceleration: Vector3(0, 0, height.second))
    }

    /// Creates the motion of a body that is displaced by `distance` along an `axis` of its pose.
    init(pose: Quaternion, displacedBy distance: Jet, along axis: Vector3) {
        let direction = pose.rotate(axis)
        self.init(
            attitude: pose, rotationRate: .zero, position: distance.value * direction,
            acceleration: distance.second * direction)
    }

    /// Creates the motion of a body of which only the sensor's readings are known.
    package init(attitude: Quaternion, rotationRate: Vector3, specificForce: Vector3) {
        self.attitude = attitude
        self.rotationRate = rotationRate
        self.specificForce = specificForce
        position = .unknown
    }

    /// Creates the motion of a body at rest.
    package init(restingAt attitude: Quaternion) {
        self.init(attitude: attitude, rotationRate: .zero, position: .zero, acceleration: .zero)
    }

    /// Acceleration in the earth frame, without gravity, m/s²: the second derivative of `position`.
    package var acceleration: Vector3 {
        attitude.rotate(specificForce) - Vector3(0, 0, standardGravity)
    }
}
