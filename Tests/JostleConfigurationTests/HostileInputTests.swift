import Documents
import Testing

@testable import JostleConfiguration

/// Random and damaged input: the readers and the schema refuse it, and never crash.
@Suite struct HostileInputTests {
    @Test(arguments: 0..<8)
    func randomBytes(_ seed: UInt64) {
        var generator = SeededGenerator(state: seed)
        for _ in 0..<200 {
            let bytes = (0..<Int.random(in: 0...60, using: &generator)).map { _ in
                UInt8.random(in: .min ... .max, using: &generator)
            }
            feed(bytes)
        }
    }

    @Test(arguments: 0..<8)
    func randomTokens(_ seed: UInt64) {
        var generator = SeededGenerator(state: 1000 + seed)
        let tokens = [
            "{", "}", "[", "]", ":", ",", "\"", "'", "\n", "  ", "- ", "? ", "&a ", "*a ", "!t ", "|", ">", "#", "%",
            "\\u",
            "d83d", "\\", "null", "true", "-1e9", "0.", "sensor", "rate", "mount_matrix", "mqtt", "broker", "mqtt://",
            "°", "±",
            "<<", "---", "...", "\t", "\0",
        ]
        for _ in 0..<300 {
            let text = (0..<Int.random(in: 0...25, using: &generator)).map { _ in
                tokens.randomElement(using: &generator) ?? ""
            }.joined()
            feed(Array(text.utf8))
        }
    }

    @Test(arguments: 0..<4)
    func damagedConfigurations(_ seed: UInt64) {
        var generator = SeededGenerator(state: 2000 + seed)
        let whole = Array(ConfigurationSchema.describe(JostleSettings(), Provenance()).utf8)
        let message = Array(ConfigurationSchema.values(of: JostleSettings()).compactText.utf8)
        for original in [whole, message] {
            for _ in 0..<50 {
                var bytes = original
                for _ in 0..<Int.random(in: 1...4, using: &generator) {
                    let place = Int.random(in: 0..<bytes.count, using: &generator)
                    switch Int.random(in: 0..<3, using: &generator) {
                    case 0: bytes[place] = UInt8.random(in: .min ... .max, using: &generator)
                    case 1: bytes.remove(at: place)
                    default: bytes.removeSubrange(place..<min(bytes.count, place + 9))
                    }
                }
                feed(bytes)
            }
        }
    }

    private func feed(_ bytes: [UInt8]) {
        examine(bytes) { () throws(DocumentProblem) in try YAMLReader.read(bytes, source: testFile) }
        examine(bytes) { () throws(DocumentProblem) in try JSONReader.read(bytes, source: testFile) }
    }

    /// The schema must handle whatever a reader accepts; positions must lie inside the text, and messages must be one
    /// line.
    private func examine(_ bytes: [UInt8], _ read: () throws(DocumentProblem) -> JSONValue) {
        var builder = ConfigurationBuilder()
        do {
            builder.apply(try read(), directory: "/etc/jostle")
        } catch {
            builder.report(error)
        }
        let lines = bytes.filter { $0 == 0x0A || $0 == 0x0D }.count + 1
        for problem in builder.problems {
            #expect((1...lines + 1).contains(problem.position.line), "\(bytes)")
            #expect((1...bytes.count + 2).contains(problem.position.column), "\(bytes)")
            #expect(!problem.description.contains("\n"), "\(bytes)")
        }
    }
}
