internal import MotionCore

extension JostleSettings.Action: KeyedSettings {}

extension ConfigurationSchema {
    static let actions = Section.Member.key(
        "actions", optional: \.actionList, .list(of: action, faults: faults),
        example: "[{ on: shake, publish: { topic: cmnd/lamp/POWER, payload: TOGGLE } }]",
        "Rules that publish a message on a gesture, beside its event, so that a shake switches a lamp without a hub."
    ).withElements(RuleSwitch.section, RuleSwitch.unknown)

    /// One rule.
    static let action = SectionOf<JostleSettings.Action>(
        "action", "Publishes a message on a phase of a gesture.",
        [
            .key("on", \.gesture, .choice(GestureNames.gestures), "The gesture."),
            .key(
                "name", optional: \.name, .ruleName, example: "lamp",
                "A name, with which set/actions.<name>.enabled switches the rule off and on at run time."),
            .key("enabled", \.isEnabled, .boolean, "Whether the rule acts."),
            .key(
                "phase", optional: \.phase, .choice(GestureNames.phases), example: "ended",
                "The phase that triggers the rule. Without it, began, or recognized for gestures without duration."),
            .key(
                "count", optional: \.filter.counts, .oneOrMore(.integer(1...3)), example: "2",
                "Only this number of taps, or one of a list."),
            .key(
                "axis", optional: \.filter.axes, .oneOrMore(.choice(GestureNames.axes)), example: "x",
                "Only along or about this axis, or one of a list."),
            .key(
                "direction", optional: \.filter.directions, .oneOrMore(.choice(GestureNames.directions)),
                example: "left", "Only in this direction, or one of a list."),
            .key(
                "side", optional: \.filter.sides, .oneOrMore(.choice(GestureNames.sides)), example: "+z",
                "Only on this side, or one of a list."),
            .key(
                "from", optional: \.filter.from, .oneOrMore(.choice(GestureNames.sides)), example: "+z",
                "Only if this side, or one of a list, was up before."),
            .key(
                "to", optional: \.filter.to, .oneOrMore(.choice(GestureNames.sides)), example: "-z",
                "Only if this side, or one of a list, is up afterwards."),
            .key(
                "strength_above", optional: \.filter.strengthAbove, .quantity(.acceleration, 0...1000),
                example: "2 g", "Only if stronger than this (m/s²)."),
            .key(
                "angle_above", optional: \.filter.angleAbove, .quantity(.angle, 0...(3600 * radiansPerDegree)),
                example: "90 °", "Only if the angle is larger than this, in either direction (°)."),
            .key(
                "duration_above", optional: \.filter.durationAbove, .quantity(.duration, 0...604_800),
                example: "10 min", "Only if it lasts longer than this (s)."),
            .group(
                "publish", "The message to publish.",
                [
                    .key(
                        "topic", optional: \.publish.topic, .topicTemplate, example: "cmnd/lamp/POWER",
                        "The topic; ${field} inserts a field of the event."),
                    .key(
                        "payload", \.publish.payload, .payloadTemplate,
                        "The payload; ${field} inserts a field of the event. Without it, the event as it is published."
                    ),
                    .key(
                        "qos", \.publish.qos, .integer(0...1),
                        "1 is sent until the broker acknowledges it, and may arrive twice; 0 is sent once and may be lost."
                    ),
                    .key(
                        "retain", \.publish.isRetained, .boolean,
                        "Whether the broker retains the message for later subscribers."),
                    .key(
                        "expires", optional: \.publish.expiry, .quantity(.duration, 1...604_800, zeroIsOff: true),
                        example: "30 s",
                        "Age at which an undelivered message is dropped (s), 0 never. Without it 30 s, or never with retain."
                    ),
                ], required: ["topic"]),
            .key(
                "consume", \.isConsuming, .boolean,
                "Whether the gesture is withheld from later rules and from the MQTT publisher."),
        ], required: ["on"])

    /// What is wrong with a rule whose values are valid one by one.
    private static func faults(_ action: JostleSettings.Action) -> [ElementFault] {
        let name = GestureNames.name(of: action.gesture)
        var faults: [ElementFault] = []
        if let phase = action.phase, !action.gesture.phases.contains(phase) {
            let phases = action.gesture.phases.map(GestureNames.name)
            faults.append(
                ElementFault(
                    key: "phase", reason: "is not a phase of \(name)", allowed: ValueFormat<String>.list(phases)))
        }
        for (key, field) in action.filter.conditions where !action.gesture.fields.contains(field) {
            faults.append(
                ElementFault(
                    key: key,
                    reason: "does not apply to \(name), which has no \(field.rawValue); \(gesturesWith(field))"))
        }
        for (key, template) in [("topic", action.publish.topic), ("payload", action.publish.payload)] {
            for field in template?.fields ?? [] where !action.gesture.fields.contains(field) {
                faults.append(
                    ElementFault(
                        key: "publish.\(key)",
                        reason: "has ${\(field.rawValue)}, but \(name) has no \(field.rawValue); \(gesturesWith(field))"
                    ))
            }
        }
        if action.publish.topic == nil && !action.isConsuming {
            faults.append(ElementFault(key: "", reason: "has no effect: it needs publish, or consume: true"))
        }
        if action.isConsuming, action.actingPhase != action.gesture.firstPhase {
            for (key, _) in action.filter.conditions where key.hasSuffix("_above") {
                faults.append(
                    ElementFault(
                        key: key,
                        reason: "cannot be combined with consume at this phase: "
                            + "whether a gesture is consumed is decided when it begins"))
            }
        }
        return faults
    }

    /// A clause that lists the gestures with a field: `only tap has it`.
    private static func gesturesWith(_ field: Template.Field) -> String {
        let names = GestureNames.gestures.filter { $0.value.fields.contains(field) }.map(\.key)
        return "only \(ValueFormat<String>.list(names, "and")) \(names.count == 1 ? "has" : "have") it"
    }
}

extension JostleSettings.EventFilter {
    /// The keys of the conditions that are set, each with the event's field that it checks.
    fileprivate var conditions: [(key: String, field: Template.Field)] {
        let all: [(String, Template.Field, Bool)] = [
            ("count", .count, counts != nil), ("axis", .axis, axes != nil),
            ("direction", .direction, directions != nil), ("side", .side, sides != nil),
            ("from", .from, from != nil), ("to", .to, to != nil),
            ("strength_above", .strength, strengthAbove != nil), ("angle_above", .angle, angleAbove != nil),
            ("duration_above", .duration, durationAbove != nil),
        ]
        return all.filter(\.2).map { ($0.0, $0.1) }
    }
}
