/// How a tilt away from the reference attitude is recognised.
public struct TiltSettings: Equatable, Sendable, BitwiseCopyable {
    /// Common settings; each step of sensitivity divides `holdTime` by 1.2. The default cooldown is 0 s.
    public var common = RecognizerSettings(cooldown: 0)

    /// The angle at which a tilt begins, rad, between the vertical and its direction in the reference attitude. Default
    /// 30°. Smaller reports slighter tilts, larger only strong ones. Heading does not matter.
    public var angle = 30 * radiansPerDegree

    /// How far below `angle` a tilt ends, rad. Default 5°. Smaller ends a tilt sooner, but a hand close to the limit
    /// begins and ends it often; larger requires the body to be put back farther.
    public var hysteresis = 5 * radiansPerDegree

    /// Time for which the angle must stay beyond its limit, at sensitivity 5, to begin or to end a tilt, s. Default
    /// 0.3. Smaller reacts sooner; larger ignores more of walking and shaking.
    public var holdTime = 0.3

    /// Creates the default settings.
    public init() {}
}
