/// How flips from side to side are recognised.
public struct FlipSettings: Equatable, Sendable, BitwiseCopyable {
    /// What all recognizers have: by default a cooldown of 0 s.
    public var common = RecognizerSettings(cooldown: 0)

    /// Seconds for which a side has to be held up to count, at most 5. Default 0.3. Smaller tells a flip sooner and may tell the sides
    /// on the way of a slow one; larger waits longer for a quiet hand.
    public var holdTime = 0.3

    /// How far the vertical may wander in that time, at sensitivity 5, rad. Default 6°. Smaller wants the body to be put
    /// down; larger takes a swinging hand.
    public var steadiness = 6 * radiansPerDegree

    /// Makes the default settings.
    public init() {}
}
