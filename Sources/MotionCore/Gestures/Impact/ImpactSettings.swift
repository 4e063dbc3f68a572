/// How impacts are recognised.
public struct ImpactSettings: Equatable, Sendable, BitwiseCopyable {
    /// Common settings; each step of sensitivity divides `threshold` by 1.15. The default cooldown is 0.3 s.
    public var common = RecognizerSettings(cooldown: 0.3)

    /// Peak linear acceleration of the weakest impact at sensitivity 5, m/s². Default 4 g: harder than the tap of a
    /// finger or a footstep. Smaller reports softer impacts, larger only hard ones.
    public var threshold = 4 * standardGravity

    /// The longest impact, s: the ratio of its impulse to its peak. Default 0.045. Smaller accepts only hard objects
    /// that hit each other; larger also accepts padded ones, and eventually the swings of a shake.
    public var maximumDuration = 0.045

    /// Creates the default settings.
    public init() {}
}
