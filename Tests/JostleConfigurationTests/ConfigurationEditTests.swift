import Documents
import JostleConfiguration
import Testing

/// Requirement: an edit changes one key of a hand-written file, and nothing else in it. `GoldenConfigurationTests` has
/// the other layouts.
@Suite struct ConfigurationEditTests {
    private func edit(_ text: String) throws -> String {
        try ConfigurationEdit.set("gestures.shake.sensitivity", to: "7", in: text, source: testFile)
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
    }

    @Test(arguments: [
        "gestures:\n  shake:\n    sensitivity: [5]\n", "gestures:\n  shake:\n    sensitivity: >\n      5\n",
    ])
    func refusesUneditableLayout(text: String) throws {
        let problem = problem { try edit(text) }
        #expect(problem?.contains("set it to 7 by hand") == true, "\(problem ?? "no problem")")
    }
}
