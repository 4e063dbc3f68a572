/// How taps are recognised.
public struct TapSettings: Equatable, Sendable, BitwiseCopyable {
    /// What all recognizers have: by default a cooldown of 0.1 s.
    public var common = RecognizerSettings(cooldown: 0.1)

    /// Makes the default settings.
    public init() {}
}
