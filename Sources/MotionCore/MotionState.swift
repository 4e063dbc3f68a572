/// What the pipeline knows after a sample.
public struct MotionState: Sendable, BitwiseCopyable {
    /// The instant of the sample.
    public var timestamp = Timestamp(nanoseconds: 0)

    /// The filter's attitude: turns body vectors into the earth frame, z up, heading zero at the start.
    public var attitude = Quaternion.identity

    /// The attitude after the low-pass that the user set, seen from the reference attitude where there is one.
    public var relativeAttitude = Quaternion.identity

    /// Specific force of the resting body, m/s², body frame: points up with the length of gravity.
    public var gravity = Vector3(0, 0, standardGravity)

    /// Acceleration without gravity, m/s², body frame, low-passed as the user set; gravity + this is what was measured.
    public var linearAcceleration = Vector3.zero

    /// Angular rate without the estimated bias, rad/s, body frame, low-passed as the user set.
    public var rotationRate = Vector3.zero

    /// Whether there is a gyroscope: the sample had a rotation rate.
    public var hasRotationRate = false

    /// The gyroscope's estimated bias, rad/s, body frame.
    public var gyroscopeBias = Vector3.zero

    /// The chip's temperature, °C; not-a-number where unknown.
    public var temperature = Double.nan

    /// The side that points up.
    public var side = BodySide.plusZ

    /// Whether the body moves: told as the gesture `motion` is, until it has been still for some time.
    public var isMoving = false

    /// Whether the body has been at rest for so long that `gyroscopeBias` is being learnt from it.
    public var isAtRest = false

    /// Whether the machine that the body is stuck to runs: from the vibration gesture's `began` to its `ended`, pauses
    /// included, also where that gesture is switched off or may not be told.
    public var isVibrating = false

    /// How strongly the body vibrates: RMS over all axes in the last few seconds, m/s²; 0 where that is clearly below what
    /// the gesture `vibration` asks for.
    public var vibrationLevel = 0.0

    /// Whether `attitude` is told from a reference attitude.
    public var hasReference = false

    /// The unit vector in the body that points up when the body has its reference attitude, or lies flat.
    public var referenceUp = Vector3(0, 0, 1)

    /// Makes the state of a body at rest, lying flat.
    public init() {}

    /// The angle (rad, 0 … π) by which the vertical, seen from the body, is away from where it was in the reference
    /// attitude, or lying flat. Heading, which drifts without a magnetometer, has no part in it.
    public var tilt: Double { gravity.angle(to: referenceUp) }
}

extension MotionState {
    /// The gestures that are switched on and cannot be recognised, because the sensor has no gyroscope.
    public func unavailableGestures(_ settings: GestureSettings) -> GestureSet {
        hasRotationRate ? [] : settings.enabled.intersection(Gesture.needingGyroscope)
    }
}
