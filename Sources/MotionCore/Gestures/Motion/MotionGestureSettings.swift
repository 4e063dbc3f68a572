/// How movement and stillness are told apart.
public struct MotionGestureSettings: Equatable, Sendable, BitwiseCopyable {
    /// What all recognizers have: by default a cooldown of 0 s.
    public var common = RecognizerSettings(cooldown: 0)

    /// Seconds of stillness after which movement has ended. Default 2. Smaller tells each single movement, larger makes one
    /// of many.
    public var stillness = 2.0

    /// How far the acceleration below 2 Hz has to change for movement to begin, at sensitivity 5, m/s²; half of it keeps it
    /// going. Default 0.4, which is a tilt by 2.3°. Smaller wakes up at a touch and by noise, larger wants a firm hand.
    public var threshold = 0.4

    /// The rotation rate at which movement begins, at sensitivity 5, rad/s; half of it keeps it going. Default 4 °/s.
    /// Smaller sees slower turns, larger ignores a wrongly known bias.
    public var rotationRate = 4 * radiansPerDegree

    /// RMS of quicker acceleration that counts as movement though it displaces nothing, at sensitivity 5, m/s². Default 4: a
    /// board on a machine that runs is not moved, one that is shaken is. Smaller lets machines move it.
    public var vibration = 4.0

    /// Makes the default settings.
    public init() {}
}
