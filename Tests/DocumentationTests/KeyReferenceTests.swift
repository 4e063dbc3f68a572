import Foundation
import JostleConfiguration
import Testing

/// Requirement: the key reference in the documentation is the one of the program.
@Suite struct KeyReferenceTests {
    private static let path = "docs/configuration.md"
    private static let begin = "<!-- key reference -->\n"
    private static let end = "<!-- /key reference -->"

    /// With `JOSTLE_WRITE_DOCS` set, as `make docs-reference` sets it, writes the reference before comparing it.
    @Test func theKeyReferenceIsTheOneOfTheSchema() throws {
        let text = try Documentation.text(of: Self.path)
        let begin = try #require(text.range(of: Self.begin), "\(Self.path) has no \(Self.begin)")
        let end = try #require(text.range(of: Self.end), "\(Self.path) has no \(Self.end)")
        let generated = "\n\(ConfigurationSchema.keyReference)\n"
        let written = String(text[begin.upperBound..<end.lowerBound])
        if written != generated, ProcessInfo.processInfo.environment["JOSTLE_WRITE_DOCS"] != nil {
            var page = text
            page.replaceSubrange(begin.upperBound..<end.lowerBound, with: generated)
            try page.write(
                to: Documentation.repository.appendingPathComponent(Self.path), atomically: true, encoding: .utf8)
            return
        }
        let expected = generated.split(separator: "\n")
        let found = written.split(separator: "\n")
        let difference = zip(expected, found).first { $0 != $1 }.map { "\nexpected: \($0)\nfound:    \($1)" }
        #expect(
            written == generated,
            "The key reference in \(Self.path) is out of date. Run: make docs-reference\(difference ?? "")")
    }

    @Test func theReferenceHasEveryKeyOnce() {
        let lines = ConfigurationSchema.keyReference.split(separator: "\n")
        for key in ConfigurationSchema.keys where key.path != "actions" {
            var paths = [key.path]
            let names = key.path.split(separator: ".")
            if names[0] == "gestures" {
                paths.append((["gestures", "<gesture>"] + names[2...]).joined(separator: "."))
            }
            let rows = lines.filter { line in paths.contains { line.hasPrefix("| `\($0)` | ") } }
            #expect(rows.count == 1, "\(key.path)")
            #expect(rows.first?.split(separator: "|").count == 5, "\(key.path)")
        }
        for key in ["on", "phase", "strength_above", "publish.topic", "publish.payload", "consume"] {
            #expect(lines.contains { $0.hasPrefix("| `actions[].\(key)` | ") }, "\(key)")
        }
    }
}
