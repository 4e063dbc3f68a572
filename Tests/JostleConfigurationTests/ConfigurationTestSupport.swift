import Documents
import Foundation
import Testing

@testable import JostleConfiguration

/// The source of the texts in these tests.
let testFile = DocumentSource.file("jostle.yaml")

/// The tree of a YAML text.
func yaml(_ text: String, limits: ReaderLimits = ReaderLimits()) throws(DocumentProblem) -> JSONValue {
    try YAMLReader.read(Array(text.utf8), source: testFile, limits: limits)
}

/// The tree of a JSON text.
func json(_ text: String, limits: ReaderLimits = ReaderLimits()) throws(DocumentProblem) -> JSONValue {
    try JSONReader.read(Array(text.utf8), source: .message("topic"), limits: limits)
}

/// The configuration from a YAML text.
func build(_ text: String, directory: String? = nil) throws(DocumentProblem) -> ConfigurationBuilder {
    var builder = ConfigurationBuilder()
    builder.apply(try yaml(text), directory: directory)
    return builder
}

/// The configuration from arguments of `--set`.
func build(overrides: [String]) -> ConfigurationBuilder {
    var builder = ConfigurationBuilder()
    for override in overrides { builder.apply(override: override) }
    return builder
}

/// The message of the error that a body throws; `nil` if it throws none.
func problem(_ body: () throws -> Any) -> String? {
    do {
        _ = try body()
        return nil
    } catch {
        return "\(error)"
    }
}

extension ConfigurationStack {
    /// The error for a value that the local layer refuses; `nil` if it takes it.
    func refusal(_ key: String, _ value: JSONValue?) -> String? {
        var changed = self
        let refusal = problem { try changed.set(key, to: value, in: "local") }
        #expect(refusal == nil || changed == self)
        return refusal
    }
}

/// A value without escapes, for comparisons: `{a: [1, "x", null]}`.
func shape(_ value: JSONValue) -> String {
    switch value.content {
    case .null: "null"
    case .bool(let value): "\(value)"
    case .number(let text): text
    case .string(let text): "\"\(text)\""
    case .array(let elements): "[\(elements.map(shape).joined(separator: ", "))]"
    case .object(let members): "{\(members.map { "\($0.name): \(shape($0.value))" }.joined(separator: ", "))}"
    }
}

/// The repository's `config` directory.
let configDirectory = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("config")

/// Pseudorandom numbers, the same in every run (Steele, Lea & Flood 2014: SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
