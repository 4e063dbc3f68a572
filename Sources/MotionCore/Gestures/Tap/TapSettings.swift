/// How taps are recognised.
public struct TapSettings: Equatable, Sendable, BitwiseCopyable {
    /// What all recognizers have: by default a cooldown of 0.1 s.
    public var common = RecognizerSettings(cooldown: 0.1)

    /// What is told apart: single, double, triple taps. Default: single ones alone, so that every tap is told at once.
    ///
    /// A tap waits only for what is a member. With singles and doubles, a single is told when `window` has passed
    /// without another, and never before its double; with doubles alone, the second tap is told at once and singles
    /// never. What is no member is not told as something smaller: who tapped twice did not tap once.
    public var counts: TapCounts = .single

    /// Seconds from one tap to the next within a double or triple tap, at most. Default 0.4: people need 0.15 s to 0.4 s.
    /// Smaller tells a single tap sooner and takes slow double taps for two singles; larger lets people take their time.
    /// It plays no role while single taps alone are told.
    public var window = 0.4

    /// Peak acceleration, m/s², of the weakest tap at sensitivity 5, above what is slower than a tap. Default 1.0: a
    /// fingertip on a board that lies on a desk. The sensor's own noise may ask for more.
    /// Smaller hears softer taps, and knocks on the table too; larger asks for a knuckle.
    public var threshold = 1.0

    /// RMS of the body's movement before a tap, m/s², at most. Default 0.5: held in the hand of somebody who stands, but
    /// not of somebody who walks.
    /// Smaller asks for a board that lies; larger takes taps on the move, and footsteps for taps.
    public var stillness = 0.5

    /// Makes the default settings.
    public init() {}
}

/// A set of numbers of taps.
public struct TapCounts: OptionSet, Sendable, BitwiseCopyable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    public static let single = TapCounts(rawValue: 1 << 0)
    public static let double = TapCounts(rawValue: 1 << 1)
    public static let triple = TapCounts(rawValue: 1 << 2)

    /// Single, double and triple.
    public static let all = TapCounts(rawValue: 0b111)

    /// Whether so many taps are a member.
    public func contains(count: Int) -> Bool {
        count >= 1 && count <= 3 && rawValue & (1 << UInt8(count - 1)) != 0
    }

    /// The largest member; 0 where there is none.
    var highest: Int { rawValue & 4 != 0 ? 3 : rawValue & 2 != 0 ? 2 : rawValue & 1 != 0 ? 1 : 0 }
}
