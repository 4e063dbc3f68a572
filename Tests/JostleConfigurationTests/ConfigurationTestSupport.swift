import Documents
import Foundation

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

/// The message for the first problem of a YAML or JSON text.
func problem(_ read: () throws(DocumentProblem) -> JSONValue) -> String? {
    do {
        _ = try read()
        return nil
    } catch {
        return error.description
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

/// A directory that is removed with the object.
final class TemporaryDirectory {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("jostle-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// Writes a file and returns its path.
    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        let file = url.appendingPathComponent(name)
        try text.write(to: file, atomically: true, encoding: .utf8)
        return file.path
    }
}

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
