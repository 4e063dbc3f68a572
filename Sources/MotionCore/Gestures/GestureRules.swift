/// The table of precedence: which gestures exclude which others.
///
/// Gestures not named here are recognised side by side: a machine may vibrate while the board is tilted and tapped.
enum GestureRules {
    /// The gestures that one excludes while it is in progress and shortly after: those in progress are cancelled as
    /// interrupted, none begins, and waiting events are dropped.
    static func excluded(by gesture: Gesture) -> GestureSet {
        switch gesture {
        // Its swings look like flicks, its jerks like taps, and a shaking wrist also turns to and fro.
        case .shake: shaken
        // Movement during free fall or the impact at its end is not made by a hand.
        case .fall: shaken.union(.shake)
        // A blow should not also count as a tap.
        case .impact: .tap
        default: []
        }
    }

    /// The gestures that exclude any others.
    static let excluding = GestureSet.shake.union(.fall).union(.impact)

    /// Seconds after its end for which a gesture still excludes others, because its movement has not quite stopped.
    static func exclusionTime(after gesture: Gesture) -> Double {
        switch gesture {
        case .shake: 0.3
        case .fall: 1.0
        case .impact: 0.3
        default: 0
        }
    }

    /// The gestures that must fail first: a gesture waits while one of them may still come from the same movement.
    static func required(by gesture: Gesture) -> GestureSet {
        switch gesture {
        // A shake begins with what looks like a flick.
        case .flick: .shake
        default: []
        }
    }

    // Not an array literal: only the optimiser would keep it off the heap.
    private static let shaken = GestureSet.tap.union(.flick).union(.turn)

    /// The longest time that a gesture waits for others, s.
    static let longestWait = 1.0
}

/// How gestures affect one another: which exclude which, and which wait for another to fail.
///
/// The defaults fit one movement that is one thing: a shake excludes the taps, flicks and turns that it contains, and a
/// flick waits until no shake can come of the same movement. A program changes them as it would with a
/// `UIGestureRecognizerDelegate`.
public struct GestureRelations: Equatable, Sendable, BitwiseCopyable {
    /// By gesture: those that may be recognised beside it although one of the two excludes the other by default.
    private var simultaneous = SIMD16<UInt16>(repeating: 0)

    /// By gesture: those that it waits for beyond the defaults.
    private var additional = SIMD16<UInt16>(repeating: 0)

    /// Creates the default relations.
    public init() {}

    /// Lets two kinds of gesture be recognised from the same movement: neither excludes the other or waits for it.
    public mutating func allow(_ gesture: Gesture, simultaneouslyWith others: GestureSet) {
        simultaneous[Int(gesture.rawValue)] |= others.rawValue
        var rest = others
        while let other = rest.popFirst() { simultaneous[Int(other.rawValue)] |= GestureSet(gesture).rawValue }
    }

    /// Makes a gesture wait until others can no longer come of the same movement, and drops it if one of them does.
    ///
    /// It waits for 1 s at most. `impact`, `motion` and `vibration` are decided too early or too late to be waited for:
    /// they drop the gesture only if they are under way already.
    public mutating func require(_ gesture: Gesture, toFail others: GestureSet) {
        additional[Int(gesture.rawValue)] |= others.subtracting(GestureSet(gesture)).rawValue
    }

    /// The gestures that do not begin while `gesture` is under way and for a moment after; open ones are cancelled.
    public func excluded(by gesture: Gesture) -> GestureSet {
        GestureRules.excluded(by: gesture).subtracting(allowed(beside: gesture))
    }

    /// The gestures that `gesture` waits for: it is reported once none of them can come of the same movement.
    public func required(by gesture: Gesture) -> GestureSet {
        GestureRules.required(by: gesture).subtracting(allowed(beside: gesture))
            .union(GestureSet(rawValue: additional[Int(gesture.rawValue)]))
    }

    private func allowed(beside gesture: Gesture) -> GestureSet {
        GestureSet(rawValue: simultaneous[Int(gesture.rawValue)])
    }
}
