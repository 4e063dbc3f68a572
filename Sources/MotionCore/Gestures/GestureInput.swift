/// What recognizers are given of one sample: body axes, calibrated, with what the attitude filter made of it.
package struct GestureSample: Sendable, BitwiseCopyable {
    package var timestamp: Timestamp
    /// Seconds since the sample before; 0 for the first.
    package var interval: Double
    /// Specific force, m/s²; finite.
    package var acceleration: Vector3
    /// Angular rate without bias, rad/s; zero where there is no gyroscope.
    package var rotationRate: Vector3
    package var hasRotationRate: Bool
    /// Whether an axis of the accelerometer was at the end of its range.
    package var isClipped: Bool
    /// Turns body vectors into the earth frame.
    package var attitude: Quaternion
    /// Specific force of the resting body, m/s², body frame: points up.
    package var gravity: Vector3
    /// The unit vector in the body that points up when the body has its reference attitude.
    package var referenceUp: Vector3
    /// What the attitude filter thinks of the body.
    package var isMoving: Bool
    package var isAtRest: Bool

    /// Makes the sample of an accelerometer alone, level and at rest but for its acceleration (m/s²); what is known
    /// better is set afterwards.
    package init(timestamp: Timestamp, interval: Double, acceleration: Vector3) {
        self.timestamp = timestamp
        self.interval = interval
        self.acceleration = acceleration
        rotationRate = .zero
        hasRotationRate = false
        isClipped = false
        attitude = .identity
        gravity = Vector3(0, 0, standardGravity)
        referenceUp = Vector3(0, 0, 1)
        isMoving = false
        isAtRest = false
    }
}

/// What recognizers are given of 20 ms: means over the cell, so that they decide alike at every sample rate.
struct GestureCell: Sendable, BitwiseCopyable {
    /// Where the cell ends, s on the grid's clock.
    var time: Double
    /// Mean specific force, m/s².
    var acceleration: Vector3
    /// Mean angular rate without bias, rad/s; zero where there is no gyroscope.
    var rotationRate: Vector3
    /// The sample that completed the cell.
    var sample: GestureSample

    /// The instant at which what the cell brings about becomes known.
    var timestamp: Timestamp { sample.timestamp }
}
