import Documents
import Testing

@testable import JostleConfiguration

/// The JSON reader: RFC 8259, strict and with limits. `GoldenConfigurationTests` has what it refuses.
@Suite struct JSONReaderTests {
    @Test(arguments: [
        (" null\n", "null"),
        ("true", "true"),
        ("\"true\"", "\"true\""),
        ("[]", "[]"),
        ("{}", "{}"),
        ("[1,-0.5e+3 , 0, 9007199254740993]", "[1, -0.5e+3, 0, 9007199254740993]"),
        (#"{"a" : {"b":[null,false,"x"]}}"#, "{a: {b: [null, false, \"x\"]}}"),
        (#""\" \\ \/ \b\f\n\r\t""#, "\"\" \\ / \u{8}\u{C}\n\r\t\""),
        (#""\u00e9 \u20AC \ud83d\ude00 é😀""#, "\"é € 😀 é😀\""),
        (#"{"":1}"#, "{: 1}"),
    ])
    func reads(_ text: String, _ expected: String) throws {
        #expect(shape(try json(text)) == expected)
    }

    @Test func keysAndValuesHavePositions() throws {
        let tree = try json("{\n  \"ä\": [\"ö\", 7]\n}")
        guard let entries = tree.members, let elements = entries.first?.value.elements else {
            Issue.record("not the expected tree")
            return
        }
        #expect(entries.map { "\($0.position)" } == ["topic:2:3"])
        #expect(elements.map { "\($0.position)" } == ["topic:2:9", "topic:2:14"])
    }

    @Test(
        arguments: [
            [0x22, 0xC3, 0x28, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xC0, 0x80, 0x22],
            [0x22, 0xF5, 0x80, 0x80, 0x80],
        ] as [[UInt8]])
    func refusesMalformedUTF8(_ bytes: [UInt8]) {
        #expect(
            problem { try JSONReader.read(bytes, source: .message("topic")) }
                == "topic:1:2: not JSON: a byte is not UTF-8")
    }

    @Test func limitsDepthToSixteen() throws {
        let deepest = String(repeating: "[", count: 16) + String(repeating: "]", count: 16)
        #expect(throws: Never.self) { try json(deepest) }
        #expect(
            problem { try json("[\(deepest)]") } == "topic:1:17: nested too deeply")
        #expect(throws: DocumentProblem.self) { try json(String(repeating: "[{\"a\":", count: 100_000)) }
    }

    @Test func limitsLengthAndNodes() throws {
        var limits = ReaderLimits()
        limits.bytes = 5
        #expect(throws: Never.self) { try json("[1,2]", limits: limits) }
        #expect(throws: DocumentProblem.self) { try json("[1,23]", limits: limits) }
        limits = ReaderLimits()
        limits.nodes = 3
        #expect(throws: Never.self) { try json("[1,2]", limits: limits) }
        #expect(throws: DocumentProblem.self) { try json("[1,2,3]", limits: limits) }
    }
}
