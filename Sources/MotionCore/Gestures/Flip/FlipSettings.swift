/// How flips from side to side are recognised.
public struct FlipSettings: Equatable, Sendable, BitwiseCopyable {
    /// Common settings; each step of sensitivity multiplies `steadiness` by 1.12. The default cooldown is 0 s.
    public var common = RecognizerSettings(cooldown: 0)

    /// Time for which a side must be held up, s, at most 5. Default 0.3. Smaller reports a flip sooner, but may report
    /// the sides in between during a slow one; larger waits longer for a quiet hand.
    public var holdTime = 0.3

    /// How far the vertical may wander in that time, at sensitivity 5, rad. Default 6°. Smaller requires the body to be
    /// put down; larger accepts a swaying hand.
    public var steadiness = 6 * radiansPerDegree

    /// Creates the default settings.
    public init() {}
}
