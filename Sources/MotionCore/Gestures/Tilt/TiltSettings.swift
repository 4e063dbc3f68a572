/// How tilting away from the reference attitude is recognised.
public struct TiltSettings: Equatable, Sendable, BitwiseCopyable {
    /// What all recognizers have: by default a cooldown of 0 s.
    public var common = RecognizerSettings(cooldown: 0)

    /// The angle between the vertical and where it was in the reference attitude at which a tilt begins, rad. Default 30°.
    /// Smaller tells slighter tilts, larger only strong ones. Heading plays no part.
    public var angle = 30 * radiansPerDegree

    /// How far below `angle` a tilt ends, rad. Default 5°. Smaller ends it sooner and lets a hand at the limit begin and
    /// end it often; larger wants it to be put back.
    public var hysteresis = 5 * radiansPerDegree

    /// Seconds for which the angle has to stay beyond its limit, at sensitivity 5, to begin and to end. Default 0.3. Smaller
    /// answers sooner, larger ignores more of walking and shaking.
    public var holdTime = 0.3

    /// Makes the default settings.
    public init() {}
}
