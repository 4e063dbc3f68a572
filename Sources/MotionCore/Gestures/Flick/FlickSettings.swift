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

    /// The directions to recognise. Default: all. Fewer leave out the others: a flick in another direction is not
    /// reported, and does not delay the next one.
    public var directions = MotionDirections.all

    /// Creates the default settings.
    public init() {}
}

/// A set of directions.
public struct MotionDirections: OptionSet, Sendable, BitwiseCopyable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The set of one direction.
    public init(_ direction: MotionDirection) {
        rawValue = 1 << direction.rawValue
    }

    /// Every direction.
    public static let all = MotionDirections(rawValue: 0b11_1111)

    /// Whether the direction is a member.
    public func contains(_ direction: MotionDirection) -> Bool {
        rawValue & (1 << direction.rawValue) != 0
    }
}
