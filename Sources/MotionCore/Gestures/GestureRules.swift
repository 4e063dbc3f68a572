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
        case .tap, .flick, .turn, .flip, .tilt, .motion, .vibration: []
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
        case .tap, .flick, .turn, .flip, .tilt, .motion, .vibration: 0
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
