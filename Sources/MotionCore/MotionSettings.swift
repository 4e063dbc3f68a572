/// The user's settings of the pipeline: plain values that are replaced as a whole.
public struct MotionSettings: Equatable, Sendable {
    /// Rotates sensor axes into body axes; orthonormal. Default: the identity, sensor and body axes are the same.
    public var mount = Matrix3.identity

    /// Cut-off of the low-pass on the published attitude, Hz; 0 turns it off. Smaller is smoother but lags more, larger
    /// follows faster but passes more noise. Default 5.
    public var attitudeLowPass = 5.0

    /// Cut-off of the low-pass on the published linear acceleration, Hz; 0 turns it off. Smaller is smoother but lags
    /// more, larger follows faster but passes more noise. Default 10.
    public var accelerationLowPass = 10.0

    /// Cut-off of the low-pass on the published rotation rate, Hz; 0 turns it off. Smaller is smoother but lags more,
    /// larger follows faster but passes more noise. Default 10.
    public var rotationRateLowPass = 10.0

    /// Where the reference attitude comes from. Default: none, the attitude is relative to the vertical and the initial
    /// heading.
    public var reference = ReferencePolicy.none

    /// How gestures are recognised.
    public var gestures = GestureSettings()

    /// Creates the default settings.
    public init() {}
}

extension MotionSettings {
    /// The settings for a command that measures the chip and keeps no reference attitude.
    package var withoutReference: MotionSettings {
        var settings = self
        settings.reference = .none
        return settings
    }
}
