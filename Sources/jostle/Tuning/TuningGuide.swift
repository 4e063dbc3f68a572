internal import MotionCore

/// What the user is told to do with a gesture.
struct TuningGuide {
    /// The imperative, which also names each demonstration: `Shake it`.
    let title: String

    /// How to make it, after "N times, ".
    let manner: String

    /// What to do during the time in which nothing may be recognised.
    let handling: String

    /// Whether it is a machine that runs, and not a movement of a hand.
    var isMachine: Bool { gesture == .vibration }

    private let gesture: Gesture

    init(_ gesture: Gesture) {
        self.gesture = gesture
        let carried = "Now handle it for %s as usual: carry it, turn it, put it down."
        switch gesture {
        case .shake:
            title = "Shake it"
            manner = "as you would to switch a lamp, and hold it still for two seconds after each."
            handling = "\(carried) No shake."
        case .tap:
            title = "Tap it"
            manner =
                "as you would to switch a lamp: single, double or triple taps, but the same each time. "
                + "Wait two seconds after each."
            handling = "\(carried) No tap."
        case .flick:
            title = "Flick it"
            manner = "as you would to switch a lamp, and hold it still for two seconds after each."
            handling = "\(carried) No flick."
        case .turn:
            title = "Turn it"
            manner =
                "as you would turn a knob, by the angle that should count, and hold it still for two seconds after "
                + "each. Turning it back counts as one."
            handling = "Now handle it for %s as usual: carry it, tip it, put it down. Do not turn it on purpose."
        case .flip:
            title = "Turn it over"
            manner = "onto another side, and hold it still for two seconds after each. Turning it back counts as one."
            handling = "Now handle it for %s as usual: carry it, tip it, put it down on the same side."
        case .tilt:
            title = "Tilt it"
            manner =
                "first let it lie for four seconds as it usually does. Tilt it as far as should count, hold it for a "
                + "second, put it back, and leave it for four seconds."
            handling = "Now use it for %s as usual: move it, knock against it. Do not tilt it as far as before."
        case .fall:
            title = "Let it fall"
            manner = "onto something soft, from the height that should count, and leave it for two seconds after each."
            handling = "Now handle it for %s as usual: carry it, swing it, put it down hard. Do not let it fall."
        case .impact:
            title = "Knock it"
            manner = "as hard as should count, and hold it still for two seconds after each."
            handling = "\(carried) No blow."
        case .motion:
            title = "Move it"
            manner = "as gently as should still count, and leave it for four seconds after each."
            handling = "Now leave it where it lies for %s: walk past, close doors, knock on the table."
        case .vibration:
            title = "Run the machine"
            manner = ""
            handling = "Now everything for %s but the machine: open and close it, walk past, knock on it."
        }
    }

    /// What to do for so many seconds, in which nothing may be recognised.
    func handling(seconds: Double) -> String {
        handling.replacing("%s", with: "\(decimal(seconds, 0)) s")
    }
}
