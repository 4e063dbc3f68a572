import Documents
import JostleConfiguration
import Testing

/// Requirement: an edit changes one key of a hand-written file, and nothing else in it.
@Suite struct ConfigurationEditTests {
    private func edit(_ text: String, _ path: String = "gestures.shake.sensitivity") throws -> String {
        try ConfigurationEdit.set(path, to: "7", in: text, source: .file("jostle.yaml"))
    }

    /// The error for a text that cannot be edited; empty if it can.
    private func problem(in text: String) -> String {
        do {
            _ = try edit(text)
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test func replacesValueInPlace() throws {
        let text = """
            # My board.
            gestures:
              shake:   # in the hall
                enabled: true
                sensitivity: 5   # was 4

            mqtt: { broker: embedded }

            """
        #expect(try edit(text) == text.replacing("sensitivity: 5 ", with: "sensitivity: 7 "))
        #expect(try edit("gestures: {shake: {sensitivity: 10}}") == "gestures: {shake: {sensitivity: 7}}")
        #expect(try edit("{\"gestures\": {\"shake\": {\"sensitivity\": 10}}}").contains("\"sensitivity\": 7}"))
    }

    @Test func addsMissingKeyToSection() throws {
        #expect(
            try edit("gestures:\n  shake:\n    enabled: true\n")
                == "gestures:\n  shake:\n    sensitivity: 7\n    enabled: true\n")
        #expect(
            try edit("gestures:\n    tap:\n        enabled: true\n")
                == "gestures:\n    shake:\n      sensitivity: 7\n    tap:\n        enabled: true\n")
        #expect(
            try edit("gestures: { shake: { enabled: true } }\n")
                == "gestures: { shake: {sensitivity: 7,  enabled: true } }\n")
        #expect(
            try edit("gestures:\n  # shakes and more\nlog:\n  level: debug\n")
                == "gestures:\n  shake:\n    sensitivity: 7\n  # shakes and more\nlog:\n  level: debug\n")
        #expect(
            try edit("gestures:\n  shake:\n    sensitivity:\n") == "gestures:\n  shake:\n    sensitivity: 7\n")
    }

    @Test func addsMissingSection() throws {
        #expect(
            try edit("log:\n  level: debug\n")
                == "gestures:\n  shake:\n    sensitivity: 7\nlog:\n  level: debug\n")
        #expect(try edit("# nothing yet\n") == "# nothing yet\ngestures:\n  shake:\n    sensitivity: 7\n")
        #expect(try edit("") == "gestures:\n  shake:\n    sensitivity: 7\n")
    }

    @Test func handlesMultibyteText() throws {
        let text = "device: { name: Wäsche 🧺 }\ngestures: { shake: { cooldown: 0.5 s, sensitivity: '3' } } # größer\n"
        #expect(try edit(text) == text.replacing("'3'", with: "7"))
    }

    @Test(arguments: [
        "gestures:\n  shake: yes\n", "gestures:\n  shake:\n    sensitivity: [5]\n", "- gestures\n",
        "gestures: {}\n", "gestures:\n  shake:\n    sensitivity: >\n      5\n", "gestures: ~\n",
    ])
    func refusesUneditableLayout(text: String) throws {
        let problem = problem(in: text)
        #expect(problem.contains("set it to 7 by hand"), "\(problem)")
    }

    @Test func reportsInvalidYAMLWithPosition() {
        let problem = problem(in: "log:\n  level: [\n")
        #expect(problem.hasPrefix("jostle.yaml:") && !problem.contains("by hand"), "\(problem)")
    }
}
