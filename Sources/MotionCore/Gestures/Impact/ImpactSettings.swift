/// How blows are recognised.
public struct ImpactSettings: Equatable, Sendable, BitwiseCopyable {
    /// What all recognizers have: by default a cooldown of 0.3 s.
    public var common = RecognizerSettings(cooldown: 0.3)

    /// Peak linear acceleration of the weakest blow at sensitivity 5, m/s². Default 4 g: harder than a finger taps or a
    /// foot steps. Smaller catches softer blows, larger only heavy ones.
    public var threshold = 4 * standardGravity

    /// The longest blow, s: its impulse over its peak. Default 0.045. Smaller wants hard things that hit each other, larger
    /// takes in what is padded, and in the end the swings of a shake.
    public var maximumDuration = 0.045

    /// Makes the default settings.
    public init() {}
}
