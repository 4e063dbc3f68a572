/// Which gestures stand in each other's way: the one table of precedence.
///
/// What is not named here is recognised side by side: a machine may vibrate while the board is tilted and tapped.
enum GestureRules {
    /// The gestures that one silences while it is under way, and for a moment after: those under way are cancelled as
    /// interrupted, none begins, and what waits is dropped.
    static func excluded(by gesture: Gesture) -> GestureSet {
        switch gesture {
        // Its swings look like flicks, its jerks like taps, and a wrist that shakes turns to and fro.
        case .shake: shaken
        // Whatever moves in free fall or in the blow at its end is not a hand.
        case .fall: shaken.union(.shake)
        // A blow is one thing, not also a tap.
        case .impact: .tap
        case .tap, .flick, .turn, .flip, .tilt, .motion, .vibration: []
        }
    }

    /// The gestures that silence others at all.
    static let thatExclude = GestureSet.shake.union(.fall).union(.impact)

    /// Seconds after its end for which a gesture still silences others: what is left of its own movement.
    static func aftermath(of gesture: Gesture) -> Double {
        switch gesture {
        case .shake: 0.3
        case .fall: 1.0
        case .impact: 0.3
        case .tap, .flick, .turn, .flip, .tilt, .motion, .vibration: 0
        }
    }

    /// The gestures whose failure one requires: it waits while one of them may still come of the same movement.
    static func required(by gesture: Gesture) -> GestureSet {
        switch gesture {
        // A shake begins with what looks like a flick.
        case .flick: .shake
        default: []
        }
    }

    // Not a literal: that is an array, which only the optimiser keeps off the heap.
    private static let shaken = GestureSet.tap.union(.flick).union(.turn)

    /// Seconds that a gesture waits for others at most.
    static let longestWait = 1.0
}
