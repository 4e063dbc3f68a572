internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore

extension DiscoverySet {
    /// Adds the controls: settings and commands.
    mutating func addControls() {
        for gesture in Gesture.allCases {
            if Gesture.needingGyroscope.contains(gesture), !facts.hasGyroscope { continue }
            addSwitch(of: gesture)
            addNumber(
                "gestures.\(gesture.word).sensitivity", "\(gesture.word)_sensitivity", "\(gesture.title) sensitivity",
                [.init("min", 1), .init("max", 10), .init("step", 1), .init("mode", "slider")], unit: nil)
        }
        for name in settings.ruleNames { addSwitch(ofRule: name) }
        let rate: [JSONValue.Member] = [.init("min", 0), .init("max", 200), .init("step", .number("0.1"))]
        addNumber("publish.attitude.rate", "attitude_rate", "Attitude rate", rate + [.init("mode", "box")], unit: "Hz")
        addNumber("publish.motion.rate", "motion_rate", "Motion rate", rate + [.init("mode", "box")], unit: "Hz")
        addNumber(
            "attitude.low_pass", "attitude_low_pass", "Attitude low-pass",
            [.init("min", 0), .init("max", 500), .init("step", .number("0.1")), .init("mode", "box")], unit: "Hz")
        addZero()
        for button in DiscoverySet.buttons where facts.commands.contains(button.command) {
            if button.needsGyroscope, !facts.hasGyroscope { continue }
            add(button)
        }
    }

    private func reported(_ key: String) -> String { "value_json.settings.\(key)" }

    /// The topics and the category of the control for a setting.
    private func control(_ key: String) -> [JSONValue.Member] {
        [
            .init("command_topic", .string(facts.topics.set(key))), .init("qos", 1),
            .init("state_topic", .string(facts.topics.reported)), .init("entity_category", "config"),
        ]
    }

    private mutating func addSwitch(of gesture: Gesture) {
        let key = "gestures.\(gesture.word).enabled"
        addEntity(
            "switch", "\(gesture.word)_enabled", "\(gesture.title) recognition",
            control(key) + [
                .init("value_template", .string("{{ 'true' if \(reported(key)) else 'false' }}")),
                .init("payload_on", "true"), .init("payload_off", "false"),
            ])
    }

    /// Adds a switch for a rule with a name. The report has the rules as a list, in which only a rule that is switched off
    /// says so.
    private mutating func addSwitch(ofRule name: String) {
        let rules = "\(reported("actions")) | selectattr('name', 'defined') | selectattr('name', 'eq', '\(name)')"
        let state =
            "{{ 'false' if \(rules) | selectattr('enabled', 'defined') | rejectattr('enabled') | list else 'true' }}"
        addEntity(
            "switch", "rule_\(name)_enabled", "Action \(name)",
            control(RuleSwitch(name).key) + [
                .init("value_template", .string(state)), .init("payload_on", "true"), .init("payload_off", "false"),
            ])
    }

    private mutating func addNumber(
        _ key: String, _ object: String, _ name: String, _ range: [JSONValue.Member], unit: String?
    ) {
        // Quantities are reported with their unit.
        let value = unit == nil ? reported(key) : "\(reported(key)).split(' ')[0]"
        let unit = unit.map { [JSONValue.Member("unit_of_measurement", .string($0))] } ?? []
        addEntity(
            "number", object, name,
            control(key) + [.init("value_template", .string("{{ \(value) }}"))] + range + unit)
    }

    /// Adds the choice of the attitude reference. Home Assistant interprets `none` as no value, so that option is
    /// renamed.
    private mutating func addZero() {
        let key = "attitude.reference"
        addEntity(
            "select", "attitude_reference", "Attitude zero",
            control(key) + [
                .init("options", ["vertical", "start", "stored"]),
                .init("value_template", .string("{{ \(reported(key)) | replace('none', 'vertical') }}")),
                .init("command_template", "{{ value | replace('vertical', 'none') }}"),
            ])
    }

    /// A button that sends a command.
    private struct Button {
        var command: String
        var name: String
        /// The arguments of the command: a JSON object.
        var arguments = "{}"
        var needsGyroscope = false
        var fields: [JSONValue.Member]
    }

    /// The commands that get a button if the device allows them.
    private static let buttons = [
        Button(command: "tare", name: "Tare", fields: [.init("icon", "mdi:axis-arrow")]),
        // A button can calibrate the gyroscope only. The accelerometer's calibration needs a person who follows
        // instructions.
        Button(
            command: "calibrate", name: "Calibrate", arguments: "{\"what\":\"gyroscope\"}", needsGyroscope: true,
            fields: [.init("entity_category", "config"), .init("icon", "mdi:tune")]),
        Button(
            command: "identify", name: "Identify",
            fields: [.init("device_class", "identify"), .init("entity_category", "diagnostic")]),
        Button(
            command: "restart", name: "Restart",
            fields: [.init("device_class", "restart"), .init("entity_category", "config")]),
    ]

    private mutating func add(_ button: Button) {
        addEntity(
            "button", button.command, button.name,
            [
                .init("command_topic", .string(facts.topics.command(button.command))),
                .init("payload_press", .string(button.arguments)), .init("qos", 1),
            ] + button.fields)
    }
}
