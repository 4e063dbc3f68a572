/// How a machine that runs is recognised.
public struct VibrationSettings: Equatable, Sendable, BitwiseCopyable {
    /// What all recognizers have: by default a cooldown of 0 s.
    public var common = RecognizerSettings(cooldown: 0)

    /// Makes the default settings.
    public init() {}
}
