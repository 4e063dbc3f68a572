/// Everything about the pipeline that a user can set. Plain values: changing them is assigning a new one.
public struct MotionSettings: Equatable, Sendable {
    /// Turns sensor axes into body axes; orthonormal. Default: the sensor's axes are the body's.
    public var mount = Matrix3.identity

    /// Cut-off of the low-pass on the published attitude, Hz; 0 switches it off. Default 5.
    /// Smaller is smoother and later, larger is livelier.
    public var attitudeLowPass = 5.0

    /// Cut-off of the low-pass on published linear acceleration, Hz; 0 switches it off. Default 10.
    public var accelerationLowPass = 10.0

    /// Cut-off of the low-pass on the published rotation rate, Hz; 0 switches it off. Default 10.
    public var rotationRateLowPass = 10.0

    /// How the reference attitude comes about. Default: none, attitude is relative to the vertical.
    public var reference = ReferencePolicy.none

    /// How gestures are recognised.
    public var gestures = GestureSettings()

    /// Makes the default settings.
    public init() {}
}
