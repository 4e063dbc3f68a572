/// How falls are recognised.
public struct FallSettings: Equatable, Sendable, BitwiseCopyable {
    /// What all recognizers have. By default there is no cooldown: a bounce that flies as long as a fall is told as
    /// another. A second makes one of a fall and its bounces.
    public var common = RecognizerSettings(cooldown: 0)

    /// Seconds of free fall after which a fall out of rest is certain before it has hit anything, at sensitivity 5.
    /// Default 0.19, which is 18 cm; a shorter fall is told when it hits something hard. Smaller tells it earlier and
    /// takes arms that are swung for falls; larger waits for the blow.
    public var minimumDuration = 0.19

    /// The longest free fall, s. Default 1.5, which is 11 m; what goes on for longer is cancelled as too long. Smaller
    /// gives up earlier on a sensor that reads zero; larger allows higher places.
    public var maximumDuration = 1.5

    /// Makes the default settings.
    public init() {}
}
