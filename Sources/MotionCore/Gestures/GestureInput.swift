/// A sample as the recognizers receive it: calibrated, in body axes, with the output of the attitude filter.
package struct GestureSample: Sendable, BitwiseCopyable {
    package var timestamp: Timestamp
    /// Seconds since the previous sample; 0 for the first.
    package var interval: Double
    /// Specific force, m/s²; finite.
    package var acceleration: Vector3
    /// Angular rate without bias, rad/s; zero if there is no gyroscope.
    package var rotationRate: Vector3
    package var hasRotationRate: Bool
    /// Whether an axis of the accelerometer was clipped.
    package var isClipped: Bool
    /// The specific force of the body if it were at rest, m/s², body frame: points up.
    package var gravity: Vector3
    /// The unit vector in the body that points up in the reference attitude.
    package var referenceUp: Vector3
    /// Whether `gravity` is known well enough to tell a posture, and whether `referenceUp` is final: not while the first rest
    /// is awaited that gives the reference.
    package var isVerticalKnown: Bool
    package var isReferenceKnown: Bool
    /// The attitude filter's judgement of the body's motion.
    package var isMoving: Bool
    package var isAtRest: Bool

    /// Creates a sample without a gyroscope, of a body that is level and at rest except for its acceleration (m/s²).
    /// The caller sets what it knows better.
    package init(timestamp: Timestamp, interval: Double, acceleration: Vector3) {
        self.timestamp = timestamp
        self.interval = interval
        self.acceleration = acceleration
        rotationRate = .zero
        hasRotationRate = false
        isClipped = false
        gravity = Vector3(0, 0, standardGravity)
        referenceUp = Vector3(0, 0, 1)
        isVerticalKnown = true
        isReferenceKnown = true
        isMoving = false
        isAtRest = false
    }
}

/// A cell of 20 ms as the recognizers receive it: means over the cell, so that they decide alike at every sample rate.
struct GestureCell: Sendable, BitwiseCopyable {
    /// The end of the cell, s on the grid's clock.
    var time: Double
    /// Mean specific force, m/s².
    var acceleration: Vector3
    /// Mean angular rate without bias, rad/s; zero if there is no gyroscope.
    var rotationRate: Vector3
    /// The specific force of the sample nearest to the middle of the cell, m/s².
    var nearest: Vector3
    /// The sample that completed the cell.
    var sample: GestureSample

    /// The timestamp of the events that the cell triggers.
    var timestamp: Timestamp { sample.timestamp }
}
