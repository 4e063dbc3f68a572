/// How taps are recognised.
public struct TapSettings: Equatable, Sendable, BitwiseCopyable {
    /// Common settings; each step of sensitivity divides `threshold` by 1.25. The default cooldown is 0.1 s.
    public var common = RecognizerSettings(cooldown: 0.1)

    /// The counts to recognise: single, double, triple taps. Default: only single taps, so that every tap is reported
    /// at once.
    ///
    /// A tap waits only for counts in this set. With single and double, a single tap is reported when `window` has
    /// passed without another one, and never before its double tap. With double alone, the second tap is reported at
    /// once and single taps never. A count outside the set is not reported as a smaller one: two taps are not one tap.
    public var counts: TapCounts = .single

    /// The longest time between two taps of a double or triple tap, s. Default 0.4: people need 0.15 s to 0.4 s.
    /// Smaller reports a single tap sooner, but takes slow double taps for two single ones; larger gives people more
    /// time. It has no effect if only single taps are recognised.
    public var window = 0.4

    /// Peak acceleration of the weakest tap at sensitivity 5 on a board that is held or worn, m/s², after everything
    /// slower than a tap is removed. Default 1.25. Half of it is enough on a board at rest: a fingertip on a board that
    /// lies on a desk. The sensor's own noise may require more. Smaller recognises softer taps, but also knocks on the
    /// table and steps; larger requires a knuckle.
    ///
    /// A blow of less than 0.26 of it is never a tap, at any sensitivity.
    public var threshold = 1.25

    /// Largest RMS of the body's movement before a tap, m/s². Default 0.5: allows a person who stands and holds the
    /// board, but not one who walks. Smaller requires the board to lie; larger recognises taps in motion, but also
    /// takes footsteps for taps.
    public var stillness = 0.5

    /// Creates the default settings.
    public init() {}
}

/// A set of tap counts.
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

    /// Whether the count is a member.
    public func contains(count: Int) -> Bool {
        count >= 1 && count <= 3 && rawValue & (1 << UInt8(count - 1)) != 0
    }

    /// The largest member; 0 if the set is empty.
    var highest: Int { rawValue & 4 != 0 ? 3 : rawValue & 2 != 0 ? 2 : rawValue & 1 != 0 ? 1 : 0 }
}
