import BrokerTestSupport
import Foundation
import Testing

/// Requirement: a reader can type every command of README.md and docs/*.md as it stands.
///
/// A block that cannot be typed in a test says why: `<!-- not typed: it takes an hour -->`. Its commands are still those
/// that exist (CommandTests).
@Suite(.enabled(if: Stage.isComplete, "a program, the fake adapter, mosquitto, its clients, openssl or make is absent"))
struct TypingTests {
    @Test func blocksOfCommandsCanBeTyped() async throws {
        let stage = try await Stage()
        var (typed, untyped) = (0, 0)
        for page in try Documentation.pages() where page.path != "CONTRIBUTING.md" {
            for block in page.blocks {
                let text: String
                switch block.language {
                case "sh": text = block.text
                case "console":
                    text = block.lines.filter { $0.hasPrefix("$ ") }.map { $0.dropFirst(2) + "\n" }.joined()
                default: continue
                }
                // The marked ones are run by CommandTests, and their output is compared.
                if block.mark == "run" { continue }
                if block.mark?.wholeMatch(of: /not typed: .{10,}/) != nil {
                    untyped += 1
                    continue
                }
                typed += 1
                let (status, output) = try stage.type(text)
                #expect(status == 0, "\(page.path):\(block.line): \(output.suffix(1000))")
            }
        }
        #expect(typed > 50 && untyped <= 20)
    }
}
