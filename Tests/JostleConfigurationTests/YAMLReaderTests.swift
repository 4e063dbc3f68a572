import Documents
import Testing

@testable import JostleConfiguration

/// The YAML reader: the supported part of YAML, what is refused, and the positions of problems.
@Suite struct YAMLReaderTests {
    @Test(arguments: [
        ("", "null"),
        ("# only a comment\n", "null"),
        ("---\n...\n", "null"),
        ("a:\nb: ~\nc: null\n", "{a: null, b: null, c: null}"),
        ("a: no\nb: 'no'\nc: \"1\"\nd: 0x68\ne: 1e3", "{a: \"no\", b: \"no\", c: \"1\", d: \"0x68\", e: 1e3}"),
        ("a: 'null'", "{a: \"null\"}"),
        ("a: [1, [2, x y], {b: c}]", "{a: [1, [2, \"x y\"], {b: \"c\"}]}"),
        ("- 1\n- - 2\n", "[1, [2]]"),
        ("url: mqtt://host:1883 # a comment", "{url: \"mqtt://host:1883\"}"),
        ("a: |\n  two\n  lines\n", "{a: \"two\nlines\n\"}"),
        ("'<<': x", "{<<: \"x\"}"),
        ("\u{FEFF}a: °", "{a: \"°\"}"),
        ("\u{FEFF}a: 1\nb: 2\n", "{a: 1, b: 2}"),
        ("\u{FEFF}---\na: 1\nb: 2\n", "{a: 1, b: 2}"),
    ])
    func reads(_ text: String, _ expected: String) throws {
        #expect(shape(try yaml(text)) == expected)
    }

    @Test(arguments: [
        ("a: 1\nb: 2\na: 3\n", "3:1", "\"a\" occurs twice, first on line 1"),
        ("s: {x: 1, x: 2}", "1:11", "\"x\" occurs twice"),
        ("a: &anchor 1", "1:4", "anchors and aliases"),
        ("a: &anchor [1]", "1:4", "anchors and aliases"),
        ("&anchor a: 1", "1:1", "anchors and aliases"),
        ("a: *other", "1:4", "anchors and aliases"),
        ("<<: {a: 1}", "1:1", "merge keys"),
        ("a: !!int 1", "1:4", "tags"),
        ("a: !mine {b: 1}", "1:4", "tags"),
        ("%TAG ! tag:example.org,2000:\n---\na: 1", "1:1", "tags"),
        ("a: 1\n---\nb: 2", "2:1", "more than one document"),
        ("[1]: 2", "1:1", "a key must be text"),
        ("?\n: 1", "1:2", "a key is missing"),
        ("a: 1\n\tb: 2", "2:1", "a tab"),
        ("a: [1, 2\nb: 3", "2:2", "not YAML"),
        ("a: 'open", "1:9", "not YAML"),
        ("a: 1\n b: 2", "2:3", "not YAML"),
        ("ä: @x", "1:4", "not YAML"),
        ("a: 1\nb: \u{7}", "2:4", "control characters"),
        ("a: \"\\ud800\"", "1:7", "not YAML"),
        ("\u{FEFF}a: 1\na: 2", "2:1", "occurs twice"),
    ])
    func refuses(_ text: String, _ position: String, _ reason: String) {
        let problem = problem { try yaml(text) }
        #expect(problem?.hasPrefix("jostle.yaml:\(position): ") == true, "\(problem ?? "no problem")")
        #expect(problem?.contains(reason) == true, "\(problem ?? "no problem")")
    }

    @Test func keysAndValuesHavePositions() throws {
        let tree = try yaml("device:\n  name: Wäsche\n  id:   'x'\nlist: [ä, b]\n")
        guard let entries = tree.members else {
            Issue.record("not a mapping")
            return
        }
        #expect(entries.map { "\($0.position)" } == ["jostle.yaml:1:1", "jostle.yaml:4:1"])
        #expect(tree["device"]?["id"]?.position == DocumentPosition(testFile, line: 3, column: 9))
        guard let elements = tree["list"]?.elements else {
            Issue.record("not a list")
            return
        }
        // Columns count characters, not bytes.
        #expect(elements.map(\.position.column) == [8, 11])
    }

    @Test func namesUTF16() {
        let text: [UInt8] = [0xFF, 0xFE] + "a: 1".utf8.flatMap { [$0, 0] }
        #expect(
            problem { try YAMLReader.read(text, source: testFile) }
                == "jostle.yaml:1:1: not YAML: it is UTF-16; save it as UTF-8")
    }

    @Test func reportsPositionOfMalformedUTF8() {
        let bytes = Array("a: 1\nb: ä".utf8) + [0xC3, 0x28]
        #expect(
            problem { try YAMLReader.read(bytes, source: testFile) }
                == "jostle.yaml:2:5: not YAML: a byte is not UTF-8")
    }

    @Test func limitsLengthDepthAndNodes() throws {
        var limits = ReaderLimits()
        limits.bytes = 8
        #expect(throws: Never.self) { try yaml("a: [1,2]", limits: limits) }
        #expect(throws: DocumentProblem.self) { try yaml("a: [1,23]", limits: limits) }

        limits = ReaderLimits()
        limits.depth = 3
        #expect(throws: Never.self) { try yaml("a: {b: [1]}", limits: limits) }
        #expect(
            problem { try yaml("a: {b: [[1]]}", limits: limits) }
                == "jostle.yaml:1:9: nested too deeply")

        limits = ReaderLimits()
        limits.nodes = 4
        #expect(throws: Never.self) { try yaml("[1, 2, 3]", limits: limits) }
        #expect(
            problem { try yaml("[1, 2, 3, 4]", limits: limits) }
                == "jostle.yaml:1:11: too many values")
    }

    @Test(arguments: ["[", "{", "- ", "a: {", "{a: ", "? "])
    func refusesMegabyteOfNesting(_ opening: String) {
        let text = String(repeating: opening, count: (1 << 20) / opening.utf8.count)
        #expect(throws: DocumentProblem.self) { try yaml(text) }
    }

    @Test func readsMegabyteOfText() throws {
        let text = "a: " + String(repeating: "x", count: (1 << 20) - 3)
        #expect(try yaml(text)["a"]?.text?.utf8.count == (1 << 20) - 3)
    }
}
