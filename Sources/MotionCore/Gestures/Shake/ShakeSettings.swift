/// How shakes are recognised.
public struct ShakeSettings: Equatable, Sendable, BitwiseCopyable {
    /// Common settings; the default cooldown is 0.5 s.
    public var common = RecognizerSettings(cooldown: 0.5)

    /// Time after which a shake is cancelled as too long, s. Default 5. Smaller cancels long movements earlier; larger
    /// lets people shake for longer.
    public var maximumDuration = 5.0

    /// Creates the default settings.
    public init() {}
}
