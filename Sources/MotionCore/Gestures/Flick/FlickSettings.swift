/// How flicks are recognised.
public struct FlickSettings: Equatable, Sendable, BitwiseCopyable {
    /// What all recognizers have: by default a cooldown of 0.3 s.
    public var common = RecognizerSettings(cooldown: 0.3)

    /// Peak linear acceleration that a flick needs at sensitivity 5, m/s². Default 10.
    /// Smaller takes gentler movements for flicks, larger asks for a sharper wrist. Each step of sensitivity is 15 %.
    public var strength = 10.0

    /// Seconds from the first stroke to rest, at most. Default 0.9.
    /// Smaller takes only short flicks, larger also a movement with a windup or with a slow way back.
    public var maximumDuration = 0.9

    /// Makes the default settings.
    public init() {}
}
