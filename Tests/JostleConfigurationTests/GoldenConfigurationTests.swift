import BrokerTestSupport
import Documents
import Testing

@testable import JostleConfiguration

/// Requirement: what is written about the configuration, and what is said about mistakes in it, does not change:
/// people, editors, fleets and homes read it.
@Suite struct GoldenConfigurationTests {
    // MARK: The schema

    @Test("The JSON schema, the reference and the defaults are the recorded ones")
    func schema() {
        expectGolden(ConfigurationSchema.jsonSchema, "configuration-schema.json")
        expectGolden(ConfigurationSchema.keyReference, "configuration-reference.md")
        expectGolden(ConfigurationSchema.describe(JostleSettings(), Provenance()), "configuration-defaults.yaml")
        expectGolden(
            ConfigurationSchema.values(of: JostleSettings()).compactText + "\n", "configuration-defaults.json")
    }

    // MARK: Values

    /// What became of a value: how it is reported, or what is wrong with it.
    private func outcome(
        _ path: String, _ read: () throws(DocumentProblem) -> JSONValue
    ) -> String {
        var builder = ConfigurationBuilder()
        do { builder.apply(try read()) } catch { return "\(error)" }
        guard builder.problems.isEmpty else { return builder.problems.map { "\($0)" }.joined(separator: "\n") }
        return ConfigurationSchema.value(of: path, in: builder.settings)?.compactText ?? "no such key"
    }

    private func outcome(yaml text: String, _ path: String) -> String {
        outcome(path) { () throws(DocumentProblem) in try yaml(SettingValueTests().nested(path, text)) }
    }

    private func outcome(json text: String, _ path: String) -> String {
        let names = path.split(separator: ".")
        let document = names.map { "{\"\($0)\":" }.joined() + text + String(repeating: "}", count: names.count)
        return outcome(path) { () throws(DocumentProblem) in try json(document) }
    }

    @Test("Values of all keys are read and reported, or refused, in the recorded way")
    func values() {
        var golden = GoldenText()
        func add(_ path: String, _ text: String) {
            golden.add("\(path) = \(text.prefix(100))", outcome(yaml: text, path))
        }
        golden.heading("accepted")
        for value in AcceptedValue.all { add(value.path, value.text) }
        golden.heading("refused")
        for value in RefusedValue.all { add(value.path, value.text) }
        expectGolden(golden, "configuration-values.txt")
    }

    /// The same word with and without quotes, and what no key of this kind has.
    @Test("Values of every kind are read from JSON and from YAML in the recorded way")
    func kinds() {
        let paths = [
            "sensor.rate", "sensor.enabled", "sensor.address", "sensor.driver", "sensor.bus", "sensor.identity",
            "sensor.mount_matrix", "gestures.shake.sensitivity", "gestures.shake.cooldown",
            "gestures.shake.when.still", "gestures.shake.when.side", "gestures.shake.when.quiet_hours",
            "gestures.tap.counts", "gestures.flick.directions", "attitude.reference", "attitude.low_pass",
            "device.id", "device.name", "device.groups", "settings.allow", "commands.allow", "mqtt.broker",
            "mqtt.password_file", "log.level", "actions",
        ]
        let texts = [
            "null", "true", "false", "yes", "7", "-1", "0x68", "1.5", "1e2", "01", "+7", ".5", "NaN", "\"7\"",
            "\"true\"", "\"\"", "\"null\"", "\"2 s\"", "\"100 Hz\"", "\"a\\u0000\\u001bb\\u202e\"", "[]", "[7]",
            "[\"left\",\"left\"]", "[[1]]", "[null]", "{}", "{\"a\":1}",
        ]
        var golden = GoldenText()
        for path in paths {
            golden.heading(path)
            for text in texts {
                let (written, sent) = (outcome(yaml: text, path), outcome(json: text, path))
                golden.add("YAML \(text)", written)
                golden.add("JSON \(text)", sent)
            }
        }
        expectGolden(golden, "configuration-kinds.txt")
    }

    // MARK: Reports of the values in force

    private static let file = #"""
        device: { name: "No: \"7\" #é\\", id: null1, area: "{x}", groups: [a, b-1] }
        sensor:
          address: 0x9
          bus: /dev/i2c-10
          mount_matrix: [[0.6, 0.8, 0], [-0.8, 0.6, 0], [0, 0, 1]]
          rate: 333.3
        attitude: { low_pass: 0 }
        gestures:
          shake: { enabled: false, when: { quiet_hours: "22:00-06:30", side: [+z, -x], tilt_above: 20 ° } }
          tap: { counts: [single, double] }
        actions:
          - on: shake
            name: lamp
            publish: { topic: cmnd/lamp/POWER, payload: "TOGGLE: \"${gesture}\" # no comment", qos: 0, retain: true }
          - { on: tap, count: [1, 2], consume: true }
          - on: turn
            phase: ended
            direction: left
            angle_above: 90 °
            publish: { topic: "a: b/${direction}", payload: "line 1\nline 2\ttab é 😀" , expires: 0 }
        publish: { attitude: { deadband: 0.3° }, health: { interval: 1 d } }
        mqtt: { broker: [mqtts://a, "mqtts://[::1]:1"], username: "true", password_file: ~/x, version: v3.1.1 }
        log: { level: debug }
        """#

    @Test("The report of the values in force has the recorded form, and loads as the same settings")
    func described() throws {
        var builder = try build(Self.file)
        builder.apply(override: "publish.motion.heartbeat=100ms")
        builder.apply(override: "actions.lamp.enabled=false")
        #expect(builder.problems.isEmpty, "\(builder.problems)")
        let text = ConfigurationSchema.describe(
            builder.settings, builder.provenance, notes: ["sensor.rate": "not in force: set at home"])
        var golden = GoldenText()
        golden.add("with origins", text)
        golden.add(
            "without origins",
            ConfigurationSchema.describe(builder.settings, builder.provenance, withOrigins: false))
        golden.add("as JSON", ConfigurationSchema.values(of: builder.settings).compactText)
        expectGolden(golden, "configuration-described.txt")
        let again = try build(text)
        #expect(again.problems.isEmpty && again.settings == builder.settings, "\(again.problems)")
    }

    /// Keys and values as layers, homes and stored files have them.
    @Test("A stored layer keeps its values in the recorded form, and reads back")
    func layer() throws {
        let values = [
            "7", "-0.50", "1e3", "true", "null", "text", "0.5 s", "\"quoted \\\" \\\\ \\/ \\u00e9 \\ud83d\\ude00\"",
            "\"\\u0000\\u001f\\u007f\\u009b\\u2028\\u202e\\b\\f\\n\\r\\t\"", "[]", "{}", "[1,[2,{\"a\":[]}],\"x\"]",
            "{\"b\" : 1 , \"a\":{\"\":null,\"é\\\"\":\"ü\"}}", "100000000000000000000000000000", "\"e\\u0301\"",
        ]
        var layer = ConfigurationLayer("local")
        for (index, text) in values.enumerated() {
            layer["key-\(index)"] = try JSONValue(message: Array(text.utf8), topic: "set")
        }
        layer["k\"\\\u{1B}é"] = try JSONValue(message: Array("1".utf8), topic: "set")
        var golden = GoldenText()
        golden.add("empty", ConfigurationLayer("local").text)
        golden.add("values", layer.text)
        let again = try ConfigurationLayer("local", reading: Array(layer.text.utf8), source: testFile)
        #expect(again == layer && again.text == layer.text)
        golden.heading("over several lines")
        for text in values {
            golden.add(
                text.isEmpty ? "(nothing)" : text,
                try JSONValue(message: Array(text.utf8), topic: "set").indentedText())
        }
        expectGolden(golden, "configuration-layer.txt")
    }

    // MARK: Mistakes

    @Test("Mistakes in JSON are reported with their place in the recorded words")
    func jsonProblems() {
        let texts = [
            "", "  ", "1 2", "tru", "NaN", "+1", ".5", "01", "-", "1.", "1.e5", "1e", "[1,]", "[1 2]", "[1",
            #"{"a":1,}"#, "{a:1}", #"{"a" 1}"#, #"{"a":1 "b":2}"#, "{\n \"ä\": 1, \"ä\": 2}", #"{"a":1,"\u0061":2}"#,
            "\"open", "\"a\nb\"", #""\x""#, #""\u12g4""#, #""\ud83d""#, #""\ud83dA""#, #""\ud83d\ud83d""#, #""\ude00""#,
            "// comment\n1", "\u{FEFF}1", "'a'", "{\"\(String(repeating: "k", count: 200))\":1,}", "[\u{7F}]",
            String(repeating: "[", count: 17), "{\"a\":\"é😀\",\n\t\"b\":?}",
        ]
        var golden = GoldenText()
        for text in texts {
            let found = problem { try json(text) }
            golden.add(text.isEmpty ? "(nothing)" : String(text.prefix(60)), found ?? "none")
        }
        expectGolden(golden, "json-problems.txt")
    }

    @Test("Mistakes in configuration files are reported with their place in the recorded words")
    func fileProblems() throws {
        let texts = [
            "sensor: [", "sensor:\n\trate: 1\n", "sensor: {}\nsensor: {}\n", "a: &x 1\nb: *x\n", "--- {}\n--- {}\n",
            "just text", "- a\n", "sensor: 1\n", "sensr: {}\n", "sensor:\n  rate: fast\n  acelerometer_range: 8 g\n",
            "gestures: { shake: [enabled] }\n", "gestures: { shake: { sensitvity: 7, enabled: yes } }\n",
            "mqtt: localhost\n", "mqtt: { password: secret }\n", "sensitivity: 7\n", "frobnicate: 1\n",
            "sensor: { identity: 0x68 }\n", "gestures: { shake: { when: { tilt_above: 50, tilt_below: 40 } } }\n",
            "actions: { on: shake }\n", "actions: [7]\n", "actions: [{ publish: { topic: a } }]\n",
            "actions: [{ on: shake, publish: { payload: x } }]\n",
            "actions: [{ on: tap, phase: ended, consume: true }]\n",
            "actions: [{ on: shake, count: 2, publish: { topic: 'a/+' } }]\n",
            "actions: [{ on: shake, name: a, consume: true }, { on: tap, name: a, consume: true }]\n",
            "actions: [{ on: shake, publish: { topic: '${speed}' } }]\n", "actions: { lamp: { enabled: false } }\n",
            "mqtt:\n  broker:\n    - mqtt://a\n    - http://b\n", "device: { id: a/b }\n",
            "device: { groups: [a, _b] }\n",
            "fleet: { trusted_keys: [ops-1] }\n", "sensor: { mount_matrix: [1, 0, 0, 0, x, 0, 0, 0, 1] }\n",
            "? [a]\n: 1\n", "sensor: !!str x\n", "\u{FEFF}sensor: {}\n", "sensor: { rate: \"100\\x07\" }\n",
        ]
        var golden = GoldenText()
        for text in texts {
            var builder = ConfigurationBuilder()
            do {
                builder.apply(try yaml(text))
                _ = try builder.finish()
                golden.add(text, "valid")
            } catch {
                golden.add(text, "\(error)")
            }
        }
        golden.heading("arguments")
        for argument in [
            "sensor.rate", "=5", "sensor..rate=5", "gestures.shake={enabled: ", "sensor.rate=[200] 1", "sensor=5",
            "sensor.rate.x=5", "mqqt={}", "device.nmae=x", "sensor.rate=", "actions.stove.enabled=false",
        ] {
            golden.add(argument, build(overrides: [argument]).problems.map { "\($0)" }.joined(separator: "\n"))
        }
        expectGolden(golden, "configuration-problems.txt")
    }

    // MARK: Editing

    @Test("A value is written into a file in the recorded way")
    func edits() {
        let texts = [
            "", "# nothing yet\n", "gestures:\n  shake:   # in the hall\n    sensitivity: 5   # was 4\n",
            "gestures: {shake: {sensitivity: 10}}", "{\"gestures\": {\"shake\": {\"sensitivity\": 10}}}",
            "gestures:\n  shake:\n    enabled: true\n", "gestures:\n    tap:\n        enabled: true\n",
            "gestures: { shake: { enabled: true } }\n", "gestures:\n  # shakes\nlog:\n  level: debug\n",
            "gestures:\n  shake:\n    sensitivity:\n", "log:\n  level: debug\n",
            "device: { name: Wäsche 🧺 }\ngestures: { shake: { cooldown: 0.5 s, sensitivity: '3' } } # größer\n",
            "gestures:\n  shake: yes\n", "gestures: {}\n", "gestures: ~\n", "- gestures\n", "log:\n  level: [\n",
        ]
        var golden = GoldenText()
        for text in texts {
            golden.add("before", text)
            do {
                let key = "gestures.shake.sensitivity"
                golden.add("after", try ConfigurationEdit.set(key, to: "7", in: text, source: testFile))
            } catch {
                golden.add("refused", "\(error)")
            }
        }
        expectGolden(golden, "configuration-edits.txt")
    }
}
