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
