/// How shakes are recognised.
public struct ShakeSettings: Equatable, Sendable, BitwiseCopyable {
    /// What all recognizers have: by default a cooldown of 0.5 s.
    public var common = RecognizerSettings(cooldown: 0.5)

    /// Seconds after which a shake is cancelled as too long. Default 5.
    /// Smaller takes fewer long movements for shakes at all, larger lets people shake for longer.
    public var maximumDuration = 5.0

    /// Makes the default settings.
    public init() {}
}
