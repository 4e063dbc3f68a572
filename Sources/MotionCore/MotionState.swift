/// The result of the pipeline after a sample.
public struct MotionState: Sendable, BitwiseCopyable {
    /// The time of the sample.
    public var timestamp = Timestamp(nanoseconds: 0)

    /// The filter's attitude: rotates body vectors into the earth frame, z up. With a magnetometer, x points to magnetic
    /// north; without one, the heading is zero at the start.
    public var attitude = Quaternion.identity

    /// The attitude after the user's low-pass, relative to the reference attitude if there is one.
    public var relativeAttitude = Quaternion.identity

    /// How far `attitude` may be off by what the gyroscope and the accelerometer tell; `nil` without a gyroscope, and while the
    /// vertical is being found.
    public var deviation: AttitudeDeviation?

    /// How well the heading is known by a magnetometer; `nil` without one.
    public var heading: HeadingState?

    /// The specific force of the body if it were at rest, m/s², body frame: points up, as long as gravity.
    public var gravity = Vector3(0, 0, standardGravity)

    /// Acceleration without gravity, m/s², body frame, after the user's low-pass. Without the low-pass, gravity plus
    /// this is the measured specific force.
    public var linearAcceleration = Vector3.zero

    /// Angular rate, corrected for the estimated bias, scale and misalignment, rad/s, body frame, after the user's
    /// low-pass.
    public var rotationRate = Vector3.zero

    /// Whether the sample had a rotation rate, that is, whether there is a gyroscope.
    public var hasRotationRate = false

    /// The gyroscope's estimated bias, rad/s, body frame.
    public var gyroscopeBias = Vector3.zero

    /// The chip's temperature, °C; not-a-number if unknown.
    public var temperature = Double.nan

    /// The side that points up.
    public var side = BodySide.plusZ

    /// Whether the body moves. As for the gesture `motion`, it counts as moving until it has been still for some time.
    public var isMoving = false

    /// Whether the body has been at rest for so long that `gyroscopeBias` is being estimated from it.
    public var isAtRest = false

    /// Whether the machine that carries the board is running: from `began` to `ended` of the gesture `vibration`,
    /// pauses included. Also valid if that gesture is off or may not be reported now.
    public var isVibrating = false

    /// The strength of the vibration: RMS over all axes in the last few seconds, m/s²; 0 if it is clearly below the
    /// threshold of the gesture `vibration`.
    public var vibrationLevel = 0.0

    /// Whether there is a reference attitude.
    public var hasReference = false

    /// The unit vector in the body that points up in the reference attitude, or when the body lies flat if there is
    /// none.
    public var referenceUp = Vector3(0, 0, 1)

    /// Creates the state of a body that lies flat and at rest.
    public init() {}

    /// The angle (rad, 0 … π) between the vertical, seen from the body, and its direction in the reference attitude or
    /// lying flat. Heading, which drifts without a magnetometer, does not matter.
    public var tilt: Double { gravity.angle(to: referenceUp) }
}

extension MotionState {
    /// The gestures that are enabled but cannot be recognised, because the sensor has no gyroscope.
    public func unavailableGestures(_ settings: GestureSettings) -> GestureSet {
        hasRotationRate ? [] : settings.enabled.intersection(Gesture.needingGyroscope)
    }
}
