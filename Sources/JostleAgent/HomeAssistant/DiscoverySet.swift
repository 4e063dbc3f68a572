internal import Documents
internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem
internal import MotionCore

/// The Home Assistant discovery messages of a device, derived from settings and facts alone.
///
/// Each entity and trigger has its own topic, `<prefix>/<component>/<id>/<object>/config`, which every version supports. Or
/// all are components of one message to `<prefix>/device/<id>/config`, under the same names, so that Home Assistant knows
/// them again when the form changes. Neither `object_id` nor its successor is sent: versions before 2025.10 support only
/// the former, versions from 2026.4 only the latter, and all versions derive the same ids from the names of device and
/// entity.
struct DiscoverySet: Equatable, Sendable {
    /// The messages, in the order in which they are sent.
    private(set) var messages: [DiscoveryMessage] = []

    let settings: JostleSettings
    let facts: DiscoveryFacts
    /// What every message repeats: the device and the origin.
    private let context: JSONValue
    /// The components of the message for the whole device, until it is complete.
    private var components: [JSONValue.Member] = []

    /// The name in `origin`, by which our own messages are recognised.
    static let originName = "Jostle"

    /// Builds the messages; none if discovery is off.
    init(_ settings: JostleSettings, _ facts: DiscoveryFacts) {
        self.settings = settings
        self.facts = facts
        context = ["device": DiscoverySet.device(settings, facts), "origin": DiscoverySet.origin(facts)]
        guard settings.homeAssistant.discovery else { return }
        addGestures()
        addSensors()
        addDiagnostics()
        addConfiguration()
        addControls()
        guard settings.homeAssistant.discoveryForm == .device else { return }
        let whole = context.adding(["components": .object(components)])
        let topic = "\(settings.homeAssistant.prefix)/\(DiscoveryMessage.deviceLevel)/\(facts.id)/config"
        messages = [DiscoveryMessage(topic: topic, payload: whole.compactText)]
        components = []
    }

    /// The program that announces the device, and where its users get help.
    private static func origin(_ facts: DiscoveryFacts) -> JSONValue {
        [
            "name": .string(originName), "sw_version": .string(facts.version),
            "support_url": facts.supportURL.map { .string($0) },
        ]
    }

    /// The device object, which every message repeats.
    private static func device(_ settings: JostleSettings, _ facts: DiscoveryFacts) -> JSONValue {
        let chip = facts.sensor.map { sensor in
            let end = sensor.firstRange(of: " at ") ?? sensor.firstRange(of: " (")
            return String(sensor[..<(end?.lowerBound ?? sensor.endIndex)])
        }
        let model = [facts.board.model, chip].compactMap { $0 }
        return [
            "identifiers": [.string("jostle_\(facts.identity.text)")],
            "name": .string(settings.device.name ?? facts.id),
            "manufacturer": .string(originName),
            "model": model.isEmpty ? nil : .string(model.joined(separator: " with ")),
            "hw_version": facts.sensor.map { .string($0) },
            "serial_number": facts.board.serial.map { .string($0) },
            "sw_version": .string(facts.version),
            "suggested_area": settings.device.area.map { .string($0) },
            "configuration_url": settings.device.configurationURL.map { .string($0) },
        ]
    }

    // MARK: For the extensions

    /// Adds an entity. `object` is its name in the topic and in its unique id, `name` is its display name.
    mutating func addEntity(_ component: String, _ object: String, _ name: String, _ fields: JSONValue...) {
        let common: JSONValue = [
            "name": .string(name), "unique_id": .string("jostle_\(facts.identity.text)_\(object)"),
        ]
        let guarded = fields.flatMap { $0.members ?? [] }.map(DiscoverySet.guarded)
        add(
            component, object,
            common.adding(.object(guarded)).adding(["availability": [["topic": .string(facts.topics.availability)]]]))
    }

    /// Makes a template render no value for a payload that is not JSON: an empty one removes what was retained, and would be
    /// an error in Home Assistant's log for each entity.
    private static func guarded(_ field: JSONValue.Member) -> JSONValue.Member {
        let none = ["value_template": "None", "json_attributes_template": "{}"][field.name]
        guard let none, let template = field.value.text, !template.hasPrefix(EventWords.condition) else { return field }
        return .init(
            field.name, .string("{% if value_json is defined %}\(template){% else %}\(none){% endif %}"))
    }

    /// Adds a device trigger.
    mutating func addTrigger(_ object: String, _ fields: JSONValue) {
        let automation: JSONValue = ["automation_type": "trigger"]
        add("device_automation", object, automation.adding(fields))
    }

    private mutating func add(_ component: String, _ object: String, _ fields: JSONValue) {
        switch settings.homeAssistant.discoveryForm {
        case .device:
            let platform: JSONValue = ["platform": .string(component)]
            components.append(.init(object, platform.adding(fields)))
        case .component:
            let topic = "\(settings.homeAssistant.prefix)/\(component)/\(facts.id)/\(object)/config"
            messages.append(DiscoveryMessage(topic: topic, payload: fields.adding(context).compactText))
        }
    }
}

extension DiscoverySet {
    /// Adds the measured values.
    mutating func addSensors() {
        let attitude = settings.publish.attitude
        if attitude.rate > 0 {
            // One decimal matches the chip's accuracy, and fewer changes mean fewer rows in the recorder.
            let expiry = DiscoverySet.expiry(heartbeat: attitude.heartbeat, interval: 1 / attitude.rate)
            for angle in ["roll", "pitch"] + (facts.hasGyroscope ? ["yaw"] : []) {
                // The mean of 179° and −179° is not 0°, so there are no statistics of an angle in a circle. Ten values a second
                // while the board moves would fill the recorder of somebody who only wants a shake.
                let fields = sensor(
                    facts.topics.attitude, "{{ value_json.\(angle) | round(1) }}", unit: "°", decimals: 1,
                    hasMean: angle == "pitch")
                addEntity(
                    "sensor", angle, angle.prefix(1).uppercased() + angle.dropFirst(),
                    fields, expiry, ["enabled_by_default": false])
            }
        }
        let state = facts.topics.state
        // While the board moves, a value every other second would fill the recorder, too: the angle is that of the last rest.
        addEntity(
            "sensor", "tilt_angle", "Tilt angle",
            sensor(
                state, "{{ this.state if value_json.moving and is_number(this.state) else value_json.tilt }}",
                unit: "°", decimals: 0))
        addEntity(
            "sensor", "side", "Side up",
            ["state_topic": .string(state), "value_template": "{{ value_json.side }}"],
            DiscoverySet.words(["x", "y", "z"].flatMap { ["+\($0)", "-\($0)"] }))
        addEntity(
            "sensor", "vibration_level", "Vibration level",
            sensor(state, "{{ value_json.vibration | default(0) }}", unit: "m/s²", decimals: 2),
            ["enabled_by_default": false])
        addBinary(
            "moving", "Moving", state, "{{ 'ON' if value_json.moving else 'OFF' }}", ["device_class": "moving"])
        addBinary(
            "running", "Running", state, "{{ 'ON' if value_json.vibrating else 'OFF' }}",
            [
                "device_class": "running", "json_attributes_topic": .string(facts.topics.machine),
                "json_attributes_template": .string(DiscoverySet.machineAttributes),
            ])
        guard settings.motion.gestures.vibration.common.isEnabled else { return }
        addBinary(
            "machine_changed", "Machine changed", facts.topics.machine,
            "{{ 'ON' if value_json.changed | default(false) else 'OFF' }}", ["device_class": "problem"])
        // The field's name has the band, which depends on the rate. Without a device class: that of a speed has no mm/s in older
        // versions.
        addEntity(
            "sensor", "vibration_velocity", "Vibration velocity",
            sensor(
                facts.topics.machine,
                "{{ (value_json.items() | selectattr(0, 'match', 'v_10_') | map(attribute=1) | list + ['None']) | first }}",
                unit: "mm/s", decimals: 2), ["enabled_by_default": false])
    }

    /// What is known of the machine's run.
    private static var machineAttributes: String {
        let fields = ["phase", "confidence", "duration", "quiet_for", "runs_today", "seconds_today"]
        let parts = fields.map { "'\($0)': value_json.\($0) | default(none)" }
        return "{{ {\(parts.joined(separator: ", "))} | tojson }}"
    }

    /// Adds the diagnostic entities, which are based on the health report. Noise is rounded away: a value that changes with
    /// each report is a row of the recorder each minute.
    mutating func addDiagnostics() {
        let interval = settings.publish.health.interval
        guard interval > 0 else { return }
        let health = facts.topics.health
        let expiry = DiscoverySet.expiry(heartbeat: interval, interval: interval)
        addEntity(
            "sensor", "temperature", "Temperature",
            sensor(
                health,
                "{{ (2 * value_json.temperature) | round(0) / 2 if value_json.temperature is defined else 'None' }}",
                unit: "°C", decimals: 1, kind: "temperature"), expiry)
        addBinary(
            "problem", "Problem", health, "{{ 'ON' if value_json.problem | default(false) else 'OFF' }}",
            [
                "device_class": "problem", "entity_category": "diagnostic", "json_attributes_topic": .string(health),
                "json_attributes_template": "{{ {'problems': value_json.problems | default([])} | tojson }}",
            ], expiry)
        let diagnostic = expiry.adding(["entity_category": "diagnostic"])
        // Disabled by default: these change with every report and rarely matter.
        let hidden = diagnostic.adding(["enabled_by_default": false])
        addEntity(
            "sensor", "rate", "Sample rate",
            sensor(
                health, "{{ value_json.rate | round(0 if value_json.rate > 20 else 1) }}", unit: "Hz", decimals: 1,
                kind: "frequency"), diagnostic)
        addEntity(
            "sensor", "gaps", "Gaps", sensor(health, "{{ value_json.gaps }}", decimals: 0, counts: true), diagnostic)
        addEntity(
            "sensor", "bus_errors", "Bus errors",
            sensor(health, "{{ value_json.bus_errors.values() | sum }}", decimals: 0, counts: true), diagnostic)
        addEntity(
            "sensor", "queue", "Queue", sensor(health, "{{ value_json.outbox }}", decimals: 0), diagnostic)
        addEntity(
            "sensor", "cpu", "CPU", sensor(health, "{{ value_json.cpu_percent }}", unit: "%", decimals: 1), hidden)
        addEntity(
            "sensor", "memory", "Memory",
            sensor(health, "{{ value_json.memory_mb }}", unit: "MiB", decimals: 1, kind: "data_size"), hidden)
        addEntity(
            "sensor", "uptime", "Uptime",
            sensor(health, "{{ value_json.uptime }}", unit: "s", decimals: 0, kind: "duration", counts: true), hidden)
    }

    /// Adds the entity that shows how the device took the fleet's layers of its configuration: the worst status, and the
    /// layers with their revisions and errors as attributes.
    mutating func addConfiguration() {
        let reported = facts.topics.reported
        // In Home Assistant, a sensor whose template renders `None` has no value; the status `none` is another word.
        let words = LayerStatus.wordsFromWorst
        let template =
            "{% set found = (value_json.layers | default({})).values() | map(attribute='status') | list %}"
            + "{{ [\(words.dropLast().map { "'\($0)'" }.joined(separator: ", "))] "
            + "| select('in', found) | first | default('none') }}"
        addEntity(
            "sensor", "configuration", "Configuration",
            [
                "state_topic": .string(reported), "value_template": .string(template),
                "entity_category": "diagnostic", "icon": "mdi:cog-sync", "json_attributes_topic": .string(reported),
                "json_attributes_template": "{{ {'layers': value_json.layers | default({})} | tojson }}",
            ], DiscoverySet.words(words))
    }

    /// The fields of a sensor whose value is one of some words. Older versions ignore the list.
    private static func words(_ words: [String]) -> JSONValue {
        ["device_class": "enum", "options": .strings(words)]
    }

    /// The expiry of a value that is published at regular intervals: three missed messages.
    private static func expiry(heartbeat: Double, interval: Double) -> JSONValue {
        guard heartbeat > 0 else { return [:] }
        let seconds = (3 * max(heartbeat, interval, 10)).rounded(.up)
        return ["expire_after": .number(Int(seconds))]
    }

    private func sensor(
        _ topic: String, _ template: String, unit: String? = nil, decimals: Int, kind: String? = nil,
        counts: Bool = false, hasMean: Bool = true
    ) -> JSONValue {
        [
            "state_topic": .string(topic), "value_template": .string(template),
            "state_class": hasMean ? (counts ? "total_increasing" : "measurement") : nil,
            "suggested_display_precision": .number(decimals), "unit_of_measurement": unit.map { .string($0) },
            "device_class": kind.map { .string($0) },
        ]
    }

    private mutating func addBinary(
        _ object: String, _ name: String, _ topic: String, _ template: String, _ fields: JSONValue,
        _ expiry: JSONValue = [:]
    ) {
        addEntity(
            "binary_sensor", object, name,
            ["state_topic": .string(topic), "value_template": .string(template)], fields, expiry)
    }
}

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
            words = (1...3).filter(counts.contains(count:)).map { TapCounts.words[$0 - 1] }
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
        default:
            words = phases
            template = "{{ value_json.phase }}"
        }
    }
}

extension EventWords {
    /// How a template of an event begins.
    static let condition = "{% if value_json is defined and not value_json.delayed | default(false)"

    /// Wraps a template so that it renders nothing for a delayed event, or one of these phases. Then no trigger fires and no
    /// entity changes.
    static func timely(_ template: String, without phase: GesturePhase? = nil) -> String {
        let phase = phase.map { " and value_json.phase != '\($0.word)'" } ?? ""
        return "\(condition)\(phase) %}\(template){% endif %}"
    }
}

extension DiscoverySet {
    /// Adds the triggers and the event entity of each enabled gesture.
    mutating func addGestures() {
        for kind in settings.gestureKinds {
            guard settings[kind]?.isEnabled == true else { continue }
            if Gesture.needingGyroscope.contains(kind.gesture), !facts.hasGyroscope { continue }
            let events = EventWords(kind.gesture, settings)
            addTriggers(of: kind, events)
            addEvent(of: kind, events)
        }
    }

    /// Adds a trigger for each word, and for gestures with directions one for any direction. All are published before
    /// the first event.
    ///
    /// Event messages are never retained: a retained one would fire again at every restart of Home Assistant.
    private mutating func addTriggers(of kind: GestureKind, _ events: EventWords) {
        for word in events.words {
            addTrigger(kind, word, template: events.template, payload: word)
        }
        if kind.gesture == .flick || kind.gesture == .flip {
            addTrigger(kind, "any", template: "{{ value_json.phase }}", payload: GesturePhase.recognized.word)
        }
    }

    private mutating func addTrigger(_ kind: GestureKind, _ subtype: String, template: String, payload: String) {
        // QoS 0, because some versions of Home Assistant take 40 ms longer with QoS 1.
        addTrigger(
            "\(kind.word)_\(subtype)",
            [
                "type": .string(kind.word), "subtype": .string(subtype), "topic": .string(facts.topics.event(kind)),
                "qos": 0, "value_template": .string(EventWords.timely(template)),
                "payload": .string(payload),
            ])
    }

    /// Adds an entity that shows the last event, with the event's fields, `simulated` among them, as attributes.
    private mutating func addEvent(of kind: GestureKind, _ events: EventWords) {
        // Changes come ten times a second, and each would be a row of the recorder.
        let isLong = kind.gesture.phases.contains(.changed)
        // Rendered with `set`, because the template of the word may contain statements.
        let template = EventWords.timely(
            "{% set word %}\(events.template){% endset %}{{ dict(value_json, event_type=word) | tojson }}",
            without: isLong ? .changed : nil)
        let words = events.words.filter { !isLong || $0 != GesturePhase.changed.word }
        addEntity(
            "event", kind.word, kind.title,
            [
                "state_topic": .string(facts.topics.event(kind)), "qos": 0, "event_types": .strings(words),
                "value_template": .string(template), "icon": .string(kind.gesture.facts.icon),
            ])
    }
}

extension GestureKind {
    /// The gesture's name with a capital letter, and with spaces.
    var title: String { (word.prefix(1).uppercased() + word.dropFirst()).replacing("_", with: " ") }
}

extension DiscoverySet {
    /// Adds the controls: settings and commands.
    mutating func addControls() {
        for kind in settings.gestureKinds {
            if Gesture.needingGyroscope.contains(kind.gesture), !facts.hasGyroscope { continue }
            // Twenty controls are many; those of gestures that nobody uses are there for who enables them.
            let hidden: JSONValue = ["enabled_by_default": settings[kind]?.isEnabled == true ? nil : false]
            addSwitch(of: kind, hidden)
            addNumber(
                "\(kind.section).sensitivity", "\(kind.word)_sensitivity", "\(kind.title) sensitivity",
                ["min": 1, "max": 10, "step": 1, "mode": "slider"], hidden)
        }
        for name in settings.ruleNames { addSwitch(ofRule: name) }
        let rate: JSONValue = ["min": 0, "max": 200, "step": .number("0.1"), "mode": "box"]
        addNumber("publish.attitude.rate", "attitude_rate", "Attitude rate", rate, unit: "Hz")
        addNumber("publish.motion.rate", "motion_rate", "Motion rate", rate, unit: "Hz")
        addNumber(
            "attitude.low_pass", "attitude_low_pass", "Attitude low-pass",
            ["min": 0, "max": 500, "step": .number("0.1"), "mode": "box"], unit: "Hz")
        addZero()
        for button in DiscoverySet.buttons where facts.commands.contains(button.command) {
            if button.needsGyroscope, !facts.hasGyroscope { continue }
            add(button)
        }
    }

    private func reported(_ key: String) -> String { "value_json.settings.\(key)" }

    /// The topics and the category of the control for a setting.
    private func control(_ key: String) -> JSONValue {
        [
            "command_topic": .string(facts.topics.set(key)), "qos": 1,
            "state_topic": .string(facts.topics.reported), "entity_category": "config",
        ]
    }

    private mutating func addSwitch(of kind: GestureKind, _ fields: JSONValue) {
        let key = "\(kind.section).enabled"
        addEntity(
            "switch", "\(kind.word)_enabled", "\(kind.title) recognition",
            control(key),
            [
                "value_template": .string("{{ 'true' if \(reported(key)) else 'false' }}"),
                "payload_on": "true", "payload_off": "false",
            ], fields)
    }

    /// Adds a switch for a rule with a name. The report has the rules as a list, in which only a rule that is switched off
    /// says so.
    private mutating func addSwitch(ofRule name: String) {
        let rules = "\(reported("actions")) | selectattr('name', 'defined') | selectattr('name', 'eq', '\(name)')"
        let state =
            "{{ 'false' if \(rules) | selectattr('enabled', 'defined') | rejectattr('enabled') | list else 'true' }}"
        addEntity(
            "switch", "rule_\(name)_enabled", "Action \(name)",
            control(RuleSwitch(name).key),
            ["value_template": .string(state), "payload_on": "true", "payload_off": "false"])
    }

    private mutating func addNumber(
        _ key: String, _ object: String, _ name: String, _ range: JSONValue, _ fields: JSONValue = [:],
        unit: String? = nil
    ) {
        // Quantities are reported with their unit.
        let value = unit == nil ? reported(key) : "\(reported(key)).split(' ')[0]"
        let unit: JSONValue = ["unit_of_measurement": unit.map { .string($0) }]
        addEntity(
            "number", object, name,
            control(key), ["value_template": .string("{{ \(value) }}")], range, fields, unit)
    }

    /// Adds the choice of the attitude reference. Home Assistant interprets `none` as no value, so that option is
    /// renamed.
    private mutating func addZero() {
        let key = "attitude.reference"
        addEntity(
            "select", "attitude_reference", "Attitude zero",
            control(key),
            [
                "options": ["vertical", "start", "stored"],
                "value_template": .string("{{ \(reported(key)) | replace('none', 'vertical') }}"),
                "command_template": "{{ value | replace('vertical', 'none') }}",
            ])
    }

    /// A button that sends a command.
    private struct Button {
        var command: String
        var name: String
        /// The arguments of the command: a JSON object.
        var arguments = "{}"
        var needsGyroscope = false
        var fields: JSONValue
    }

    /// The commands that get a button if the device allows them.
    private static let buttons = [
        Button(command: "tare", name: "Tare", fields: ["icon": "mdi:axis-arrow"]),
        // A button can calibrate the gyroscope only. The accelerometer's calibration needs a person who follows
        // instructions.
        Button(
            command: "calibrate", name: "Calibrate", arguments: "{\"what\":\"gyroscope\"}", needsGyroscope: true,
            fields: ["entity_category": "config", "icon": "mdi:tune"]),
        Button(
            command: "identify", name: "Identify",
            fields: ["device_class": "identify", "entity_category": "diagnostic"]),
        Button(
            command: "restart", name: "Restart",
            fields: ["device_class": "restart", "entity_category": "config"]),
    ]

    private mutating func add(_ button: Button) {
        addEntity(
            "button", button.command, button.name,
            [
                "command_topic": .string(facts.topics.command(button.command)),
                "payload_press": .string(button.arguments), "qos": 1,
            ], button.fields)
    }
}

/// What discovery messages say about the device, apart from its settings.
struct DiscoveryFacts: Equatable, Sendable {
    /// The device's id in topics.
    var id: String
    var identity: BoardIdentity
    var topics: Topics
    var version: String
    /// The address of the project; `nil` while it has none.
    var supportURL: String?
    /// A short description of the sensor, `MPU-6050 at 0x68 on /dev/i2c-1`; `nil` if the agent did not look for one.
    var sensor: String?
    /// Without a gyroscope there are no turns and there is no heading.
    var hasGyroscope: Bool
    var board: BoardFacts
    /// The names of the commands that the device accepts.
    var commands: [String]
}

/// A discovery message.
struct DiscoveryMessage: Equatable, Sendable {
    var topic: String
    var payload: String

    /// The last level of every discovery topic.
    static let topicEnd = "/config"
    /// The level of a message for a whole device, in place of a component.
    static let deviceLevel = "device"
    /// Makes Home Assistant keep the entity, or those of the whole device, and wait for the message of the other form.
    static let migration = #"{"migrate_discovery":true}"#

    /// Whether a discovery message is one of Jostle's. Another program may use the same id for its device.
    static func isOurs(_ payload: [UInt8]) -> Bool {
        if payload.elementsEqual(migration.utf8) { return true }
        let tree = try? JSONReader.read(payload, source: .message("announcement"), limits: ReaderLimits(bytes: 262_144))
        return tree?["origin"]?["name"]?.text == DiscoverySet.originName
    }

    /// The device id and the form of a discovery topic. A device may be called `device`.
    static func device(ofTopic topic: String) -> (id: String, form: JostleSettings.HomeAssistant.DiscoveryForm)? {
        let parts = topic.split(separator: "/")
        guard topic.hasSuffix(topicEnd), parts.count >= 4 else { return nil }
        let (component, middle, object) = (parts[parts.count - 4], parts[parts.count - 3], parts[parts.count - 2])
        return middle == deviceLevel && !components.contains(component)
            ? (String(object), .device) : (String(middle), .component)
    }

    /// The components that Jostle has.
    private static let components: Set<Substring> = [
        "binary_sensor", "button", "device_automation", "event", "number", "select", "sensor", "switch",
    ]
}
