/// How falls are recognised.
public struct FallSettings: Equatable, Sendable, BitwiseCopyable {
    /// Common settings; each step of sensitivity divides the required certainty by 1.12. The default cooldown is 0 s,
    /// so a bounce that flies as long as a fall counts as another fall. A cooldown of one second merges a fall with its
    /// bounces.
    public var common = RecognizerSettings(cooldown: 0)

    /// Free fall after which a fall from rest is certain even before the impact, at sensitivity 5, s. Default 0.19,
    /// which is 18 cm; a shorter fall is reported when it ends in a hard impact. Smaller reports falls earlier, but
    /// also takes swung arms for falls; larger waits for the impact.
    public var minimumDuration = 0.19

    /// The longest free fall, s. A longer one is cancelled as too long. Default 1.5, which is 11 m. Smaller gives up
    /// earlier on a sensor that reads zero; larger allows falls from greater heights.
    public var maximumDuration = 1.5

    /// Creates the default settings.
    public init() {}
}
