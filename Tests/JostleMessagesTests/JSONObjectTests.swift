import Documents
import Foundation
import JostleConfiguration
import MotionCore
import Testing

@testable import JostleMessages

/// Requirement: every payload is JSON that any reader accepts, with only the decimals that its quantity needs.
@Suite struct JSONObjectTests {
    @Test func writesEmptyObject() {
        #expect(JSONObject().description == "{}")
    }

    @Test func keepsOrderOfFields() {
        var inner = JSONObject()
        inner.add("b", Int64(-2))
        var object = JSONObject()
        object.add("z", true)
        object.add("a", "text")
        object.add("n", Int64.min)
        object.add("inner", inner)
        object.add("list", [inner, JSONObject()])
        object.add("vector", Vector3(1.25, -2.5, 0.001), decimals: 2)
        #expect(
            object.description
                == #"{"z":true,"a":"text","n":-9223372036854775808,"inner":{"b":-2},"list":[{"b":-2},{}],"#
                + #""vector":[1.25,-2.5,0]}"#)
        #expect(object.bytes == Array(object.description.utf8))
    }

    @Test func addsFieldsOfAnotherObject() {
        var details = JSONObject()
        details.add("b", "two")
        details.add("c", true)
        var object = JSONObject()
        object.add(contentsOf: JSONObject())
        #expect(object.description == "{}")
        object.add(contentsOf: details)
        object.add("d", Int64(4))
        object.add(contentsOf: JSONObject())
        object.add(contentsOf: details)
        #expect(object.description == #"{"b":"two","c":true,"d":4,"b":"two","c":true}"#)
    }

    @Test func omitsNil() {
        var object = JSONObject()
        object.add("a", nil as Double?, decimals: 1)
        object.add("b", nil as Int64?)
        object.add("c", nil as Bool?)
        object.add("d", nil as String?)
        #expect(object.description == "{}")
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func omitsNonFiniteNumbers(value: Double) {
        var object = JSONObject()
        object.add("a", value, decimals: 1)
        object.add("b", [1, value, 2], decimals: 1)
        object.add("c", Vector3(1, 2, value), decimals: 1)
        object.add("d", 1, decimals: 1)
        #expect(object.description == #"{"d":1}"#)
    }

    @Test(
        arguments: [
            (1.0, 0, "1"), (2.5, 0, "3"), (-2.5, 0, "-3"), (0.05, 1, "0.1"), (-0.05, 1, "-0.1"), (0.049, 1, "0"),
            (1.005, 3, "1.005"), (-0.0004, 3, "0"), (-0.0, 2, "0"), (-0.0006, 3, "-0.001"), (12.30, 2, "12.3"),
            (100, 2, "100"), (0.000001, 6, "0.000001"), (-179.996, 2, "-180"), (-0.707107, 6, "-0.707107"),
            (1e15, 0, "1000000000000000"),
        ] as [(Double, Int, String)])
    func roundsNumbersWithoutTrailingZeros(value: Double, decimals: Int, text: String) {
        #expect(NumberText.decimal(value, decimals) == text)
    }

    @Test(arguments: [9e15, 1e16, -1e17, 1.5e300, -.greatestFiniteMagnitude])
    func preservesHugeNumbers(value: Double) throws {
        var object = JSONObject()
        object.add("a", value, decimals: 3)
        let read = try JSONSerialization.jsonObject(with: Data(object.bytes)) as? [String: Double]
        #expect(read == ["a": value])
    }

    @Test(
        arguments: [
            ("plain", #""plain""#), ("a\"b\\c", #""a\"b\\c""#), ("\n\r\t", #""\n\r\t""#), ("\r\n", #""\r\n""#),
            ("\u{0}\u{1F}", #""\u0000\u001f""#), ("ü€😀/", #""ü€😀/""#), ("e\u{301}", "\"e\u{301}\""), ("", #""""#),
            ("\u{7F}\u{9B}2J", #""\u007f\u009b2J""#), ("a\u{202E}\u{2028}", #""a\u202e\u2028""#),
        ])
    func escapesText(text: String, quoted: String) {
        #expect(JSONText.quoted(text) == quoted)
    }

    @Test func escapesNames() {
        var object = JSONObject()
        object.add("a\"b", true)
        #expect(object.description == #"{"a\"b":true}"#)
    }

    @Test func foundationReadsSameValues() throws {
        let text = String(String.UnicodeScalarView((0..<0x300).compactMap { Unicode.Scalar($0) }))
        var object = JSONObject()
        object.add("text", text)
        object.add("number", -12.345, decimals: 3)
        let read = try JSONSerialization.jsonObject(with: Data(object.bytes)) as? [String: Any]
        #expect(read?["text"] as? String == text)
        #expect(read?["number"] as? Double == -12.345)
    }
}
