/// How flicks are recognised.
public struct FlickSettings: Equatable, Sendable, BitwiseCopyable {
    /// Common settings; the default cooldown is 0.3 s.
    public var common = RecognizerSettings(cooldown: 0.3)

    /// Peak linear acceleration that a flick needs at sensitivity 5, m/s². Default 10. Smaller accepts gentler
    /// movements; larger requires a sharper flick of the wrist. Each step of sensitivity is 15 %.
    public var strength = 10.0

    /// The longest time from the first stroke to rest, s. Default 0.9. Smaller accepts only short flicks; larger also
    /// accepts a movement with a windup or with a slow return.
    public var maximumDuration = 0.9

    /// Creates the default settings.
    public init() {}
}
