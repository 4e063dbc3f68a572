import Documents
import Testing

@testable import JostleConfiguration

/// The JSON reader: RFC 8259, strict and with limits.
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

    @Test(arguments: [
        ("", "1:1", "ends where a value should be"),
        ("  ", "1:3", "ends where a value should be"),
        ("1 2", "1:3", "after the value"),
        ("tru", "1:1", "\"t\" where a value"),
        ("NaN", "1:1", "\"N\" where a value"),
        ("+1", "1:1", "\"+\" where a value"),
        (".5", "1:1", "\".\" where a value"),
        ("01", "1:2", "after the value"),
        ("-", "1:2", "ends where a digit"),
        ("1.", "1:3", "ends where a digit"),
        ("1.e5", "1:3", "\"e\" where a digit"),
        ("1e", "1:3", "ends where a digit"),
        ("[1,]", "1:4", "\"]\" where a value"),
        ("[1 2]", "1:4", "\"2\" where a comma or ]"),
        ("[1", "1:3", "ends where a comma or ]"),
        (#"{"a":1,}"#, "1:8", "where a key in quotes"),
        ("{a:1}", "1:2", "where a key in quotes"),
        (#"{"a" 1}"#, "1:6", "where a colon"),
        (#"{"a":1 "b":2}"#, "1:8", "where a comma or }"),
        ("{\n \"ä\": 1, \"ä\": 2}", "2:10", "\"ä\" occurs twice"),
        (#"{"a":1,"\u0061":2}"#, "1:8", "\"a\" occurs twice"),
        ("\"open", "1:6", "ends in a string"),
        ("\"a\nb\"", "1:3", "must be escaped"),
        (#""\x""#, "1:2", "unknown escape"),
        (#""\u12g4""#, "1:2", "four hexadecimal digits"),
        (#""\ud83d""#, "1:2", "surrogate"),
        (#""\ud83dA""#, "1:2", "surrogate"),
        (#""\ud83d\ud83d""#, "1:2", "surrogate"),
        (#""\ude00""#, "1:2", "surrogate"),
        ("// comment\n1", "1:1", "\"/\" where a value"),
        ("\u{FEFF}1", "1:1", "character 239 where a value"),
        ("'a'", "1:1", "where a value"),
    ])
    func refuses(_ text: String, _ position: String, _ reason: String) {
        let problem = problem { () throws(DocumentProblem) in try json(text) }
        #expect(problem?.hasPrefix("topic:\(position): ") == true, "\(problem ?? "no problem")")
        #expect(problem?.contains(reason) == true, "\(problem ?? "no problem")")
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
            problem { () throws(DocumentProblem) in try JSONReader.read(bytes, source: .message("topic")) }
                == "topic:1:2: not JSON: a byte is not UTF-8")
    }

    @Test func limitsDepthToSixteen() throws {
        let deepest = String(repeating: "[", count: 16) + String(repeating: "]", count: 16)
        #expect(throws: Never.self) { try json(deepest) }
        #expect(
            problem { () throws(DocumentProblem) in try json("[\(deepest)]") } == "topic:1:17: nested too deeply")
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
