/// How flicks are recognised.
public struct FlickSettings: Equatable, Sendable, BitwiseCopyable {
    /// What all recognizers have: by default a cooldown of 0.3 s.
    public var common = RecognizerSettings(cooldown: 0.3)

    /// Makes the default settings.
    public init() {}
}
