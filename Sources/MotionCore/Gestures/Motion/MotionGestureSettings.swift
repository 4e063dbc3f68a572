/// How movement and stillness are distinguished.
public struct MotionGestureSettings: Equatable, Sendable, BitwiseCopyable {
    /// Common settings; each step of sensitivity divides the three thresholds by 1.2. The default cooldown is 0 s.
    public var common = RecognizerSettings(cooldown: 0)

    /// Time without movement after which a movement has ended, s. Default 2. Smaller reports each single movement;
    /// larger merges several into one.
    public var stillness = 2.0

    /// Change of the acceleration below 2 Hz at which movement begins, at sensitivity 5, m/s²; half of it keeps the
    /// movement going. Default 0.4, which is a tilt by 2.3°. Smaller reacts to a touch and to noise; larger needs a
    /// firm hand.
    public var threshold = 0.4

    /// Rotation rate at which movement begins, at sensitivity 5, rad/s; half of it keeps the movement going. Default 4
    /// °/s. Smaller detects slower turns; larger tolerates a bias that is not well known.
    public var rotationRate = 4 * radiansPerDegree

    /// RMS of faster acceleration that counts as movement even without displacement, at sensitivity 5, m/s². Default 4:
    /// a board on a running machine does not move, a shaken one does. Smaller makes machines count as movement; larger
    /// ignores more vigorous vibration.
    public var vibration = 4.0

    /// Creates the default settings.
    public init() {}
}
