package import MotionCore

/// What topics, payloads, configuration, Home Assistant and texts say of a gesture. How one is recognised stands with its
/// recognizer, which keys it has in `ConfigurationSchema`, and the words of its subtypes in `DiscoverySet`.
package struct GestureFacts: Sendable {
    /// The name in topics, payloads, keys of the configuration and CSV files.
    let word: String

    /// What it is.
    let summary: String

    /// The phases that it can go through, the first one first.
    let phases: [GesturePhase]

    /// The fields of its events beside those of all gestures.
    let fields: Set<Template.Field>

    /// Its icon in Home Assistant.
    package let icon: String

    /// What a movement lacked to be this gesture, if there are better words for it than for other gestures.
    package var nearMisses: [NearMiss.Reason: String] = [:]

    /// Why it was cancelled, likewise.
    package var cancellations: [CancellationReason: String] = [:]

    /// What `jostle tune` asks of the user.
    package let tuning: Tuning

    /// What the user is told to do with a gesture.
    package struct Tuning: Sendable {
        /// The imperative, which also names each demonstration: `Shake it`.
        package let title: String

        /// How to make it, after "N times, "; empty for a machine, which runs once.
        package let manner: String

        /// What to do while nothing may be recognised; `%s` stands for how long.
        package let handling: String
    }

    fileprivate static let all = Gesture.allCases.map(GestureFacts.init)
}

extension Gesture: ContractNamed {
    package var facts: GestureFacts { GestureFacts.all[Int(rawValue)] }

    /// The gesture's contract name. A learned gesture has a name of its own in topics and payloads: see `GestureKind`.
    package var word: String { facts.word }

    /// The phases that the gesture can go through.
    package var phases: [GesturePhase] { facts.phases }

    /// The first phase.
    package var firstPhase: GesturePhase { phases[0] }

    /// The fields present in at least one phase.
    var fields: Set<Template.Field> {
        let common: Set<Template.Field> = [.event, .device, .gesture, .phase, .id, .t, .simulated]
        return facts.fields.union(common).union(phases.contains(.ended) ? [.duration, .reason] : [])
    }
}

extension GestureSet {
    /// The contract names of the members.
    package var words: [String] { Gesture.allCases.filter(contains).map(\.word) }
}

// MARK: The table

extension GestureFacts {
    private static let lasting: [GesturePhase] = [.began, .ended, .cancelled]
    private static let momentary: [GesturePhase] = [.recognized]

    /// What `jostle tune` says of handling for most gestures.
    private static let carried = "Now handle it for %s as usual: carry it, turn it, put it down."

    fileprivate init(_ gesture: Gesture) {
        switch gesture {
        case .shake:
            self.init(
                word: "shake", summary: "Shaking back and forth.",
                phases: Self.lasting, fields: [.strength, .axis, .reversals], icon: "mdi:vibrate",
                nearMisses: [
                    .tooWeak: "its weakest swing was too weak",
                    .notConvincing: "not a quick, even movement to and fro",
                ],
                cancellations: [.tooShort: "it stopped before the fourth swing"],
                tuning: Tuning(
                    title: "Shake it",
                    manner: "as you would to switch a lamp, and hold it still for two seconds after each.",
                    handling: "\(Self.carried) No shake."))
        case .tap:
            self.init(
                word: "tap", summary: "One, two or three short taps with a finger.",
                phases: Self.momentary, fields: [.count, .side, .strength], icon: "mdi:gesture-tap",
                nearMisses: [.tooSlow: "a push rather than a knock"],
                tuning: Tuning(
                    title: "Tap it",
                    manner: """
                        as you would to switch a lamp: single, double or triple taps, but the same each time. \
                        Wait two seconds after each.
                        """,
                    handling: "\(Self.carried) No tap."))
        case .flick:
            self.init(
                word: "flick", summary: "One quick movement in a direction.",
                phases: Self.momentary, fields: [.direction, .strength, .duration], icon: "mdi:gesture-swipe",
                nearMisses: [.tooShort: "a blow rather than a stroke"],
                tuning: Tuning(
                    title: "Flick it",
                    manner: "as you would to switch a lamp, and hold it still for two seconds after each.",
                    handling: "\(Self.carried) No flick."))
        case .turn:
            self.init(
                word: "turn", summary: "Turning, by default like a knob. It needs a gyroscope.",
                phases: [.began, .changed, .ended, .cancelled], fields: [.axis, .angle, .direction, .rate],
                icon: "mdi:rotate-3d-variant",
                cancellations: [
                    .tooLong: "it lasted longer than its knob_duration, or maximum_duration if its mode is free"
                ],
                tuning: Tuning(
                    title: "Turn it",
                    manner: """
                        as you would turn a knob, by the angle that should count, and hold it still for two seconds after \
                        each. Turning it back counts as one.
                        """,
                    handling: "Now handle it for %s as usual: carry it, tip it, put it down. Do not turn it on purpose."
                ))
        case .flip:
            self.init(
                word: "flip", summary: "Being turned onto another side.",
                phases: Self.momentary, fields: [.from, .to, .angle, .duration], icon: "mdi:flip-vertical",
                nearMisses: [
                    .notStill: "the new side was not held still",
                    .tooShort: "the new side was not held for long enough",
                ],
                tuning: Tuning(
                    title: "Turn it over",
                    manner:
                        "onto another side, and hold it still for two seconds after each. Turning it back counts as one.",
                    handling: "Now handle it for %s as usual: carry it, tip it, put it down on the same side."))
        case .tilt:
            self.init(
                word: "tilt", summary: "Being tilted away from the reference attitude.",
                phases: Self.lasting, fields: [.angle], icon: "mdi:angle-acute",
                nearMisses: [.tooShort: "it was not held for long enough"],
                tuning: Tuning(
                    title: "Tilt it",
                    manner: """
                        first let it lie for four seconds as it usually does. Tilt it as far as should count, hold it for a \
                        second, put it back, and leave it for four seconds.
                        """,
                    handling: "Now use it for %s as usual: move it, knock against it. Do not tilt it as far as before.")
            )
        case .fall:
            self.init(
                word: "fall", summary: "Free fall.",
                phases: Self.lasting, fields: [.height, .strength], icon: "mdi:arrow-down-bold",
                nearMisses: [.tooShort: "free fall was too short"],
                cancellations: [.tooWeak: "it did not land hard, as if it was caught"],
                tuning: Tuning(
                    title: "Let it fall",
                    manner:
                        "onto something soft, from the height that should count, and leave it for two seconds after each.",
                    handling: """
                        Now handle it for %s as usual: carry it, swing it, put it down hard. Do not let it fall.
                        """))
        case .impact:
            self.init(
                word: "impact", summary: "A blow.",
                phases: Self.momentary, fields: [.strength, .side], icon: "mdi:hammer",
                tuning: Tuning(
                    title: "Knock it", manner: "as hard as should count, and hold it still for two seconds after each.",
                    handling: "\(Self.carried) No blow."))
        case .motion:
            self.init(
                word: "motion", summary: "Any movement.",
                phases: Self.lasting, fields: [], icon: "mdi:motion",
                tuning: Tuning(
                    title: "Move it",
                    manner: "as gently as should still count, and leave it for four seconds after each.",
                    handling: "Now leave it where it lies for %s: walk past, close doors, knock on the table."))
        case .vibration:
            self.init(
                word: "vibration", summary: "A running machine.",
                phases: Self.lasting, fields: [.level, .frequency], icon: "mdi:vibrate",
                tuning: Tuning(
                    title: "Run the machine", manner: "",
                    handling: "Now everything for %s but the machine: open and close it, walk past, knock on it."))
        case .learned:
            self.init(
                word: "learned", summary: "A gesture that somebody has shown.",
                phases: Self.momentary, fields: [.strength, .duration, .confidence], icon: "mdi:gesture",
                tuning: Tuning(
                    title: "Make the gesture",
                    manner: "as you have shown it, and hold it still for two seconds after each.",
                    handling: "\(Self.carried) Do not make the gesture."))
        }
    }
}
