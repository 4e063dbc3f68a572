package import MotionCore

/// A movement whose truth is known at every instant: what a virtual chip is moved along.
///
/// Trajectories are built of one another. A segment is told the pose in which it begins and turns on from there; one
/// that ends does so at rest, so that another may follow.
package protocol Trajectory: Sendable {
    /// Seconds until the board is at rest for good; infinite where it never is.
    var duration: Double { get }

    /// The movement without its repetitions: one round of what repeats for ever, anything else as it is.
    var once: any Trajectory { get }

    /// The true motion `time` seconds after the start, begun in the attitude `pose`.
    ///
    /// Before the start and after the end it is at rest. The attitude is `pose` times a rotation that does not depend
    /// on `pose`.
    func motion(at time: Double, from pose: Quaternion) -> TrueMotion
}

extension Trajectory {
    package var once: any Trajectory { self }

    /// The true motion `time` seconds after the start, begun lying flat with heading zero.
    package func motion(at time: Double) -> TrueMotion { motion(at: time, from: .identity) }
}

/// What a perfect sensor would measure at one instant, and the attitude that it would have to find out.
package struct TrueMotion: Equatable, Sendable, BitwiseCopyable {
    /// Turns body vectors into earth vectors.
    package var attitude: Quaternion

    /// Angular rate along the body's axes, rad/s: the derivative of `attitude`.
    package var rotationRate: Vector3

    /// Specific force along the body's axes, m/s²: at rest it points up with the length of gravity.
    package var specificForce: Vector3

    /// Displacement in the earth frame since the present segment began, m; unknown in a recording.
    package var position: Vector3

    /// Makes the motion of a body accelerated by `acceleration` (earth frame, m/s², gravity left out).
    package init(attitude: Quaternion, rotationRate: Vector3, position: Vector3, acceleration: Vector3) {
        self.attitude = attitude
        self.rotationRate = rotationRate
        self.position = position
        specificForce = attitude.unrotate(acceleration + Vector3(0, 0, standardGravity))
    }

    /// Makes the motion of a body of which only the sensor's readings are known.
    package init(attitude: Quaternion, rotationRate: Vector3, specificForce: Vector3) {
        self.attitude = attitude
        self.rotationRate = rotationRate
        self.specificForce = specificForce
        position = .unknown
    }

    /// Makes the state of a body at rest.
    package init(restingAt attitude: Quaternion) {
        self.init(attitude: attitude, rotationRate: .zero, position: .zero, acceleration: .zero)
    }

    /// Acceleration in the earth frame, gravity left out, m/s²: the second derivative of `position`.
    package var acceleration: Vector3 {
        attitude.rotate(specificForce) - Vector3(0, 0, standardGravity)
    }
}
