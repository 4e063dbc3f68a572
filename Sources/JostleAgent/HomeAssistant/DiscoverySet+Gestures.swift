internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore

/// How Home Assistant distinguishes the events of a gesture: a word for each, and a template that derives the word from
/// the payload.
struct EventWords: Equatable, Sendable {
    var words: [String]
    var template: String
}

extension EventWords {
    /// The words for the events that a gesture can emit under these settings.
    init(_ gesture: Gesture, _ settings: JostleSettings) {
        let phases = gesture.phases.map(\.word)
        switch gesture {
        case .tap:
            let counts = settings.motion.gestures.tap.counts
            let all: [(TapCounts, String)] = [(.single, "single"), (.double, "double"), (.triple, "triple")]
            words = all.filter { counts.contains($0.0) }.map(\.1)
            template = "{{ ['', 'single', 'double', 'triple'][value_json.count | default(0)] }}"
        case .flick:
            let directions = settings.motion.gestures.flick.directions
            words = MotionDirection.allCases.filter { directions.contains($0) }.map(\.word)
            template = "{{ value_json.direction | default('') }}"
        case .turn:
            words = ["left", "right"] + phases.filter { $0 != "began" }
            template = "{{ value_json.direction | default('') if value_json.phase == 'began' else value_json.phase }}"
        case .flip:
            // `x_up` stands for `+x`, which an entity's attribute or an automation's id cannot contain.
            words = ["x", "y", "z"].flatMap { ["\($0)_up", "\($0)_down"] }
            template =
                "{% set to = value_json.to | default('') %}{{ to[1:] ~ ('_up' if to[:1] == '+' else '_down') }}"
        case .shake, .tilt, .fall, .impact, .motion, .vibration:
            words = phases
            template = "{{ value_json.phase }}"
        }
    }
}

extension EventWords {
    /// Wraps a template so that it renders nothing for a delayed event. Then no trigger fires and no entity changes.
    static func timely(_ template: String) -> String {
        "{% if not value_json.delayed | default(false) %}\(template){% endif %}"
    }
}

extension DiscoverySet {
    /// Adds the triggers and the event entity of each enabled gesture.
    mutating func addGestures() {
        for gesture in Gesture.allCases {
            guard settings.motion.gestures[gesture].isEnabled else { continue }
            if Gesture.needingGyroscope.contains(gesture), !facts.hasGyroscope { continue }
            let events = EventWords(gesture, settings)
            addTriggers(of: gesture, events)
            addEvent(of: gesture, events)
        }
    }

    /// Adds a trigger for each word, and for gestures with directions one for any direction. All are published before
    /// the first event.
    ///
    /// Event messages are never retained: a retained one would fire again at every restart of Home Assistant.
    private mutating func addTriggers(of gesture: Gesture, _ events: EventWords) {
        for word in events.words {
            addTrigger(gesture, word, template: events.template, payload: word)
        }
        if gesture == .flick || gesture == .flip {
            addTrigger(gesture, "any", template: "{{ value_json.phase }}", payload: GesturePhase.recognized.word)
        }
    }

    private mutating func addTrigger(_ gesture: Gesture, _ subtype: String, template: String, payload: String) {
        // QoS 0, because some versions of Home Assistant take 40 ms longer with QoS 1.
        addTrigger(
            "\(gesture.word)_\(subtype)",
            [
                .init("type", .string(gesture.word)), .init("subtype", .string(subtype)),
                .init("topic", .string(facts.topics.event(gesture))), .init("qos", 0),
                .init("value_template", .string(EventWords.timely(template))), .init("payload", .string(payload)),
            ])
    }

    /// Adds an entity that shows the last event, with the event's fields, `simulated` among them, as attributes.
    private mutating func addEvent(of gesture: Gesture, _ events: EventWords) {
        // Rendered with `set`, because the template of the word may contain statements.
        let template = EventWords.timely(
            "{% set word %}\(events.template){% endset %}{{ dict(value_json, event_type=word) | tojson }}")
        addEntity(
            "event", gesture.word, gesture.title,
            [
                .init("state_topic", .string(facts.topics.event(gesture))), .init("qos", 0),
                .init("event_types", .array(events.words.map { .string($0) })),
                .init("value_template", .string(template)), .init("icon", .string(gesture.icon)),
            ])
    }
}

extension Gesture {
    /// The gesture's name with a capital letter.
    var title: String { word.prefix(1).uppercased() + word.dropFirst() }

    fileprivate var icon: String {
        switch self {
        case .shake, .vibration: "mdi:vibrate"
        case .tap: "mdi:gesture-tap"
        case .flick: "mdi:gesture-swipe"
        case .turn: "mdi:rotate-3d-variant"
        case .flip: "mdi:flip-vertical"
        case .tilt: "mdi:angle-acute"
        case .fall: "mdi:arrow-down-bold"
        case .impact: "mdi:hammer"
        case .motion: "mdi:motion"
        }
    }
}
