/// How falls are recognised.
public struct FallSettings: Equatable, Sendable, BitwiseCopyable {
    /// What all recognizers have: by default a cooldown of 1 s.
    public var common = RecognizerSettings(cooldown: 1)

    /// Makes the default settings.
    public init() {}
}
