import Documents
import Testing

@testable import JostleConfiguration

/// Requirement: a layer is checked before it is published, as far as that is possible without the boards.
@Suite struct PatchCheckTests {
    private func check(_ text: String, ignoring: Bool = false) throws -> PatchCheck {
        PatchCheck(ConfigurationPatch(try yaml(text), ignoresUnknownKeys: ignoring))
    }

    @Test func valuesAreInTheFormOfReports() throws {
        let check = try check("sensor: { rate: 50, batch: null }\ngestures: { shake: { sensitivity: 7 } }\n")
        #expect(check.problems.isEmpty)
        #expect(check.values.map(\.key) == ["sensor.rate", "sensor.batch", "gestures.shake.sensitivity"])
        #expect(check.values.map(\.value) == [.string("50 Hz"), nil, .number("7")])
        let section = try self.check("publish: null\n")
        #expect(section.values.count > 3 && section.values.allSatisfy { $0.value == nil })
    }

    @Test func whatNoMessageMaySetIsRefused() throws {
        for key in ["mqtt: { prefix: x }", "device: { id: x }", "fleet: { remote: [] }", "actions: []", "mqtt: null"] {
            let problems = try check(key).problems
            #expect(problems.first?.reason == "cannot be set over MQTT", "\(key)")
            #expect(try !check(key, ignoring: true).problems.isEmpty, "\(key)")
        }
        // A device's fleet.remote may allow it.
        #expect(try check("log: { level: debug }").problems.isEmpty)
    }

    @Test func unknownKeysAreProblemsUnlessIgnored() throws {
        let text = "gestures: { shak: {} }\n"
        #expect(
            try check(text).problems.map(\.description) == [
                "jostle.yaml:1:13: gestures.shak: unknown key; did you mean \"shake\"?"
            ])
        let ignored = try check(text, ignoring: true)
        #expect(ignored.problems.isEmpty && ignored.ignoredKeys == ["gestures.shak"])
    }

    @Test func valuesThatContradictEachOtherAreRefused() throws {
        let text = "gestures: { shake: { when: { tilt_above: 60, tilt_below: 30 } } }\n"
        #expect(try check(text).problems.count == 1)
    }

    @Test(arguments: ["50 Hz", "true", "1e3", "-0.5", "07", "+1", ".5", "1e999", "0x68", "null", "1 ", "'7'", "no"])
    func yamlScalarsBecomeJSON(text: String) throws {
        let value = (try yaml(text))
        let expected: JSONValue =
            switch text {
            case "true": true
            case "1e3", "-0.5": .number(text)
            case "1 ": 1
            case "null": .null
            case "'7'": "7"
            default: .string(text)
            }
        #expect(value == expected)
        // What is written is valid JSON of the same value.
        #expect(try json(value.compactText) == value)
    }

    @Test func yamlFileReadsBackUnchanged() throws {
        let text =
            #"{"a": {"b": {"c": "7", "d": 7, "e": "true", "f": null}, "g": [], "h": {}}, "i": ["1", 1, {"k": "x: y"}], "7": "", "l m": "\u001b"}"#
        let value = try json(text)
        guard let members = value.members else { return }
        let file = YAMLText.file(members)
        #expect(try yaml(file) == value, "\(file)")
        #expect(file.hasPrefix("a:\n  b:\n    c: \"7\"\n    d: 7\n"))
        #expect(YAMLText.file([]) == "{}\n")
    }
}
