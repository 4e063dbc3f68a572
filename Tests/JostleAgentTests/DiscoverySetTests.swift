import Documents
import Foundation
import JostleConfiguration
import JostleMessages
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: Home Assistant discovers everything that the device can do before it first happens, in a form that all
/// its versions support, and everything once.
@Suite struct DiscoverySetTests {
    let facts = DiscoveryFacts(
        id: "dut", identity: BoardIdentity(id: "dut", hardware: ""), topics: Topics(prefix: "jostle", id: "dut"),
        version: "1.2.3",
        sensor: "MPU-6050 at 0x68 on /dev/i2c-1", hasGyroscope: true,
        board: BoardFacts(model: "Raspberry Pi 4", serial: "1000"), commands: ["tare", "simulate"])

    private func set(
        _ facts: DiscoveryFacts? = nil, _ change: (inout JostleSettings) -> Void = { _ in }
    ) -> [String: [String: Any]] {
        var settings = JostleSettings()
        change(&settings)
        let messages = DiscoverySet(settings, facts ?? self.facts).messages
        let pairs = messages.compactMap { message -> (String, [String: Any])? in
            let object = try? JSONSerialization.jsonObject(with: Data(message.payload.utf8)) as? [String: Any]
            return object.map { (message.topic.replacing("homeassistant/", with: ""), $0) }
        }
        #expect(pairs.count == messages.count)
        return Dictionary(pairs) { first, _ in
            Issue.record("a topic occurs twice")
            return first
        }
    }

    /// The subtypes of a gesture's triggers.
    private func subtypes(_ set: [String: [String: Any]], _ type: String) -> Set<String> {
        let triggers = set.values.filter {
            $0["automation_type"] as? String == "trigger" && $0["type"] as? String == type
        }
        return Set(triggers.compactMap { $0["subtype"] as? String })
    }

    @Test("The message for the whole device has every entity and trigger, under the same name and with the same fields")
    func wholeDevice() throws {
        let single = set()
        let all = set { $0.homeAssistant.discoveryForm = .device }
        let whole = try #require(all["device/dut/config"])
        #expect(all.count == 1 && Set(whole.keys) == ["device", "origin", "components"])
        let components = try #require(whole["components"] as? [String: [String: Any]])
        #expect(components.count == single.count)
        for (topic, fields) in single {
            let parts = topic.split(separator: "/").map(String.init)
            var component = try #require(components[parts[2]], "\(topic)")
            #expect(component.removeValue(forKey: "platform") as? String == parts[0])
            for name in ["device", "origin"] {
                component[name] = whole[name]
            }
            #expect(component as NSDictionary == fields as NSDictionary, "\(topic)")
        }
    }

    @Test func triggerHasExpectedFields() throws {
        let settings = JostleSettings()
        let message = try #require(
            DiscoverySet(settings, facts).messages.first {
                $0.topic == "homeassistant/device_automation/dut/shake_began/config"
            })
        #expect(
            message.payload == """
                {"automation_type": "trigger", "type": "shake", "subtype": "began", "topic": "jostle/dut/event/shake", \
                "qos": 0, "value_template": \
                "{% if value_json is defined and not value_json.delayed | default(false) %}{{ value_json.phase }}\
                {% endif %}", "payload": "began", "device": \
                {"identifiers": ["jostle_dut"], "name": "dut", "manufacturer": "Jostle", "model": \
                "Raspberry Pi 4 with MPU-6050", "hw_version": "MPU-6050 at 0x68 on /dev/i2c-1", "serial_number": "1000", \
                "sw_version": "1.2.3"}, "origin": {"name": "Jostle", "sw_version": "1.2.3"}}
                """)
    }

    @Test func flickHasTriggersForItsDirections() throws {
        let set = set { $0.motion.gestures.flick.directions = [MotionDirections(.left), MotionDirections(.up)] }
        #expect(subtypes(set, "flick") == ["left", "up", "any"])
        let event = try #require(set["event/dut/flick/config"])
        #expect(event["event_types"] as? [String] == ["left", "up"])
    }

    @Test func gesturesHaveMatchingTriggersAndEvents() throws {
        let set = set { $0.motion.gestures.tap.counts = [.single, .double, .triple] }
        let expected: [String: Set<String>] = [
            "shake": ["began", "ended", "cancelled"], "tap": ["single", "double", "triple"],
            "flick": ["left", "right", "up", "down", "forward", "backward", "any"],
            "turn": ["left", "right", "changed", "ended", "cancelled"],
            "flip": ["x_up", "x_down", "y_up", "y_down", "z_up", "z_down", "any"],
            "tilt": ["began", "ended", "cancelled"], "fall": ["began", "ended", "cancelled"],
            "impact": ["recognized"], "motion": ["began", "ended", "cancelled"],
            "vibration": ["began", "ended", "cancelled"],
        ]
        for (gesture, words) in expected {
            #expect(subtypes(set, gesture) == words, "\(gesture)")
            let event = try #require(set["event/dut/\(gesture)/config"])
            // Each change of a turn would be a row in the recorder.
            let types = Set(event["event_types"] as? [String] ?? [])
            #expect(types == words.subtracting(["any", "changed"]), "\(gesture)")
            let template = try #require(event["value_template"] as? String)
            #expect(template.contains("value_json.phase != 'changed'") == words.contains("changed"), "\(gesture)")
            #expect(event["state_topic"] as? String == "jostle/dut/event/\(gesture)")
        }
        // Type and subtype identify a trigger.
        let triggers = set.values.filter { $0["automation_type"] != nil }
        let names = triggers.compactMap { "\($0["type"] ?? "") \($0["subtype"] ?? "")" }
        #expect(Set(names).count == triggers.count && triggers.count == 38)
        #expect(triggers.allSatisfy { $0["retain"] == nil && $0["qos"] as? Int == 0 })
    }

    @Test func entitiesHaveCommonFields() {
        let set = set()
        let entities = set.filter { !$0.key.hasPrefix("device_automation/") }
        #expect(entities.count > 45)
        #expect(Set(entities.values.compactMap { $0["unique_id"] as? String }).count == entities.count)
        for (topic, entity) in set {
            #expect((entity["origin"] as? [String: String])?["name"] == "Jostle", "\(topic)")
            #expect((entity["device"] as? [String: Any])?["identifiers"] as? [String] == ["jostle_dut"], "\(topic)")
            guard entity["automation_type"] == nil else { continue }
            #expect(
                (entity["availability"] as? [[String: String]]) == [["topic": "jostle/dut/availability"]], "\(topic)")
            #expect(entity["name"] is String && entity["unique_id"] is String, "\(topic)")
            // Some versions require these fields, others reject them.
            #expect(entity["object_id"] == nil && entity["default_entity_id"] == nil)
        }
    }

    /// An empty payload removes a retained message, and is no JSON.
    @Test func templatesTakeAnEmptyPayload() {
        var facts = facts
        facts.commands = ["tare", "calibrate", "identify", "restart"]
        let set = set(facts) { settings in
            var rule = JostleSettings.Action()
            rule.name = "lamp"
            settings.actions = [rule]
        }
        for (topic, entity) in set {
            for key in ["value_template", "json_attributes_template"] {
                guard let template = entity[key] as? String else { continue }
                #expect(template.hasPrefix("{% if value_json is defined"), "\(topic) \(key): \(template)")
                #expect(template.hasSuffix("{% endif %}"), "\(topic) \(key): \(template)")
            }
        }
    }

    @Test func anglesInACircleHaveNoMeanAndAreOffAtFirst() throws {
        let set = set()
        for (angle, stateClass) in [("roll", nil), ("pitch", "measurement"), ("yaw", nil)] {
            let entity = try #require(set["sensor/dut/\(angle)/config"])
            #expect(entity["enabled_by_default"] as? Bool == false && entity["state_class"] as? String == stateClass)
        }
        #expect(set["sensor/dut/tilt_angle/config"]?["enabled_by_default"] == nil)
    }

    @Test func wordsAreOneOfAList() throws {
        let set = set()
        let lists = [
            "side": ["+x", "-x", "+y", "-y", "+z", "-z"],
            "configuration": [
                "rolled_back", "rejected", "conflict", "stale", "missing", "pending", "applied", "none",
            ],
        ]
        for (sensor, words) in lists {
            let entity = try #require(set["sensor/dut/\(sensor)/config"])
            #expect(entity["device_class"] as? String == "enum" && entity["options"] as? [String] == words)
            #expect(entity["state_class"] == nil && entity["unit_of_measurement"] == nil)
        }
    }

    @Test func disabledFeaturesKeepTheirControls() {
        let set = set { settings in
            settings.motion.gestures.shake.common.isEnabled = false
            settings.publish.attitude.rate = 0
            settings.publish.health.interval = 0
        }
        #expect(subtypes(set, "shake").isEmpty && set["event/dut/shake/config"] == nil)
        for control in ["switch/dut/shake_enabled/config", "number/dut/shake_sensitivity/config"] {
            #expect(set[control]?["enabled_by_default"] as? Bool == false, "\(control)")
        }
        #expect(set["switch/dut/tap_enabled/config"].map { $0["enabled_by_default"] == nil } == true)
        #expect(set["sensor/dut/roll/config"] == nil && set["number/dut/attitude_rate/config"] != nil)
        #expect(set["sensor/dut/temperature/config"] == nil && set["binary_sensor/dut/problem/config"] == nil)
        #expect(set["sensor/dut/tilt_angle/config"] != nil)
        #expect(self.set { $0.homeAssistant.discovery = false }.isEmpty)
    }

    /// The report has the rules as a list, in which only a rule that is switched off has `enabled`.
    @Test func rulesWithNamesHaveSwitches() throws {
        let set = set { settings in
            var rule = JostleSettings.Action()
            rule.name = "lamp-2"
            settings.actions = [rule, JostleSettings.Action()]
        }
        #expect(set.keys.filter { $0.hasPrefix("switch/dut/rule_") } == ["switch/dut/rule_lamp-2_enabled/config"])
        let entity = try #require(set["switch/dut/rule_lamp-2_enabled/config"])
        #expect(entity["name"] as? String == "Action lamp-2")
        #expect(entity["command_topic"] as? String == "jostle/dut/set/actions.lamp-2.enabled")
        #expect(entity["payload_on"] as? String == "true" && entity["payload_off"] as? String == "false")
        #expect(entity["state_topic"] as? String == "jostle/dut/config/reported")
        #expect((entity["value_template"] as? String)?.contains("selectattr('name', 'eq', 'lamp-2')") == true)
    }

    @Test func omitsTurnsAndYawWithoutGyroscope() {
        var facts = facts
        facts.hasGyroscope = false
        let set = set(facts)
        #expect(subtypes(set, "turn").isEmpty && set["switch/dut/turn_enabled/config"] == nil)
        #expect(set["sensor/dut/yaw/config"] == nil && set["sensor/dut/roll/config"] != nil)
    }

    @Test func buttonsMatchAllowedCommands() throws {
        var facts = facts
        #expect(set().keys.filter { $0.hasPrefix("button/") } == ["button/dut/tare/config"])
        facts.commands = ["tare", "calibrate", "identify", "restart", "ping"]
        let buttons = set(facts).filter { $0.key.hasPrefix("button/") }
        #expect(buttons.count == 4)
        #expect(buttons["button/dut/restart/config"]?["command_topic"] as? String == "jostle/dut/command/restart")
        // The payload of a press is a complete command that is accepted.
        for button in buttons.values {
            let topic = try #require(button["command_topic"] as? String)
            let arguments = try #require(button["payload_press"] as? String)
            #expect(throws: Never.self, "\(topic)") {
                try RemoteCommands.read(topic.replacing("jostle/dut/command/", with: ""), Array(arguments.utf8))
            }
        }
        facts.hasGyroscope = false
        #expect(set(facts)["button/dut/calibrate/config"] == nil && set(facts)["button/dut/tare/config"] != nil)
    }

    /// Home Assistant shows what has no category first, and refuses a sensor that has the category of controls.
    @Test func categoriesFollowPurpose() throws {
        var facts = facts
        facts.commands = ["tare", "calibrate", "identify", "restart"]
        let set = set(facts)
        func category(_ entity: String) throws -> String? {
            try #require(set["\(entity)/config"])["entity_category"] as? String
        }
        for entity in ["button/dut/tare", "sensor/dut/roll", "sensor/dut/side", "sensor/dut/temperature"] {
            #expect(try category(entity) == nil, "\(entity)")
        }
        for entity in [
            "button/dut/identify", "binary_sensor/dut/problem", "sensor/dut/configuration", "sensor/dut/rate",
            "sensor/dut/bus_errors",
        ] {
            #expect(try category(entity) == "diagnostic", "\(entity)")
        }
        for entity in ["button/dut/calibrate", "button/dut/restart"] {
            #expect(try category(entity) == "config", "\(entity)")
        }
        for (entity, description) in set {
            let isControl = entity.hasPrefix("number/") || entity.hasPrefix("switch/") || entity.hasPrefix("select/")
            let isSensor = entity.hasPrefix("sensor/") || entity.hasPrefix("binary_sensor/")
            let category = description["entity_category"] as? String
            #expect(isControl ? category == "config" : !isSensor || category != "config", "\(entity)")
        }
    }

    @Test func omitsUnknownSensor() throws {
        var facts = facts
        facts.sensor = nil
        let device = try #require(set(facts)["sensor/dut/side/config"]?["device"] as? [String: Any])
        #expect(device["model"] as? String == "Raspberry Pi 4" && device["hw_version"] == nil)
        facts.board.model = nil
        let other = try #require(set(facts)["sensor/dut/side/config"]?["device"] as? [String: Any])
        #expect(other["model"] == nil && other["identifiers"] as? [String] == ["jostle_dut"])
    }

    @Test func onlyPeriodicValuesExpire() {
        let set = set { $0.publish.attitude.heartbeat = 0 }
        #expect(set["sensor/dut/roll/config"]?["expire_after"] == nil)
        #expect(set["sensor/dut/temperature/config"]?["expire_after"] as? Int == 180)
        #expect(set["sensor/dut/tilt_angle/config"]?["expire_after"] == nil)
        #expect(self.set()["sensor/dut/roll/config"]?["expire_after"] as? Int == 90)
        // If the rate is lower than the heartbeat's, the rate determines the expiry.
        let slow = self.set { $0.publish.attitude.rate = 0.01 }
        #expect(slow["sensor/dut/roll/config"]?["expire_after"] as? Int == 300)
    }

    @Test func controlsUseSettableKeys() throws {
        let stack = ConfigurationStack(
            LoadedConfiguration(settings: JostleSettings(), provenance: Provenance()),
            layers: [ConfigurationLayer("local")])
        let topics = set().values.compactMap { $0["command_topic"] as? String }.filter { $0.contains("/set/") }
        #expect(topics.count == 24)
        for topic in topics {
            var stack = stack
            let key = topic.replacing("jostle/dut/set/", with: "")
            let value: JSONValue = key.hasSuffix("enabled") ? false : key == "attitude.reference" ? "start" : 7
            #expect(throws: Never.self, "\(key)") { try stack.set(key, to: value, in: "local") }
        }
    }

    @Test func configurationShowsWorstStatusAndLayers() throws {
        let entity = try #require(set { $0.publish.health.interval = 0 }["sensor/dut/configuration/config"])
        #expect(entity["state_topic"] as? String == "jostle/dut/config/reported")
        #expect(entity["json_attributes_topic"] as? String == "jostle/dut/config/reported")
        #expect(entity["entity_category"] as? String == "diagnostic" && entity["expire_after"] == nil)
        #expect(
            entity["value_template"] as? String == """
                {% if value_json is defined %}\
                {% set found = (value_json.layers | default({})).values() | map(attribute='status') | list %}\
                {{ ['rolled_back', 'rejected', 'conflict', 'stale', 'missing', 'pending', 'applied'] \
                | select('in', found) | first | default('none') }}\
                {% else %}None{% endif %}
                """)
        #expect(
            entity["json_attributes_template"] as? String == """
                {% if value_json is defined %}{{ {'layers': value_json.layers | default({})} | tojson }}\
                {% else %}{}{% endif %}
                """)
    }

    /// The access rules for mosquitto permit these components and no others.
    @Test func accessRulesPermitAllComponents() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("config/mosquitto/acl")
        let rules = try String(contentsOf: file, encoding: .utf8)
        let permitted = rules.matches(of: #/\npattern readwrite homeassistant\/(\w+)\/%u\/\+\/config/#).map {
            $0.output.1
        }
        let announced = set().keys.compactMap { $0.split(separator: "/").first }
        #expect(Set(permitted) == Set(announced))
    }

    @Test func deviceFieldsMatchConfiguration() throws {
        let set = set { settings in
            settings.device.name = "Lamp \"shaker\""
            settings.device.area = "Laundry"
            settings.device.configurationURL = "http://lamp.local/"
            settings.homeAssistant.prefix = "ha/x"
        }
        let device = try #require(set["ha/x/sensor/dut/roll/config"]?["device"] as? [String: Any])
        #expect(device["name"] as? String == "Lamp \"shaker\"" && device["suggested_area"] as? String == "Laundry")
        #expect(device["configuration_url"] as? String == "http://lamp.local/")
    }

    @Test(arguments: [nil, "https://codeberg.org/somebody/jostle"])
    func originHasTheAddressOfTheProject(address: String?) throws {
        var facts = facts
        facts.supportURL = address
        for object in set(facts).values {
            let origin = try #require(object["origin"] as? [String: String])
            #expect(origin["support_url"] == address && origin.count == (address == nil ? 2 : 3))
        }
    }

    /// The rows of a table in docs/home-assistant.md, cell by cell.
    private func rows(_ name: String) throws -> [[String]] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("docs/home-assistant.md")
        let page = try String(contentsOf: file, encoding: .utf8)
        let start = try #require(page.range(of: "<!-- \(name) -->\n"))
        let end = try #require(page.range(of: "<!-- /\(name) -->"))
        let lines = page[start.upperBound..<end.lowerBound].split(separator: "\n").dropFirst(2)
        return lines.map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
    }

    @Test func documentationListsAllTriggersAndEntities() throws {
        let set = set { $0.motion.gestures.tap.counts = [.single, .double, .triple] }
        let triggers = try rows("triggers")
        #expect(triggers.count == Gesture.builtIn.count)
        for row in triggers {
            // The words before a colon, without anything in brackets.
            let words = row[1].prefix { $0 != ":" }.replacing(#/ \([^)]*\)/#, with: "").split(separator: ", ").map(
                String.init)
            #expect(Set(words) == subtypes(set, row[0]), "\(row[0])")
        }
        let text = try rows("entities").map { $0[1] }.joined(separator: ", ")
        for (topic, entity) in set where entity["automation_type"] == nil {
            let name = try #require(entity["name"] as? String)
            let isOfAGesture = name.hasSuffix(" recognition") || name.hasSuffix(" sensitivity")
            let wanted = isOfAGesture ? "… \(name.split(separator: " ").last ?? "")" : name
            #expect(text.contains(wanted), "\(topic)")
        }
    }

    @Test(arguments: [
        ("Raspberry Pi 4 Model B Rev 1.2\u{0}", "Raspberry Pi 4 Model B Rev 1.2"), ("Standard  PC\n", "Standard PC"),
        ("To Be Filled By O.E.M.\n", nil), ("Default string", nil), ("", nil), ("\u{0}", nil), ("None", nil),
    ])
    func ignoresFirmwarePlaceholders(_ text: String, _ name: String?) {
        #expect(BoardFacts.cleaned(text) == name)
    }
}
