import BrokerTestSupport
import Documents
import Foundation
import Testing

@testable import JostleConfiguration

/// Requirement: what a reader copies from the documentation works.
///
/// Every block has a language. A `yaml` block is a configuration or a part of one, unless a comment before it says
/// otherwise: `<!-- Home Assistant -->` for an automation, `<!-- Prometheus: … -->` for its configuration or rules,
/// `<!-- wrong: FILE -->` for a configuration with mistakes.
@Suite(.needsProgram) struct BlockTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test func blocksHaveALanguage() throws {
        for page in try Documentation.pages() {
            for block in page.blocks {
                #expect(
                    ["sh", "console", "yaml", "json", "swift", "text"].contains(block.language),
                    "\(page.path):\(block.line): \"\(block.language)\" is none of sh, console, yaml, json, swift, text")
                guard block.language == "text" else { continue }
                for line in block.lines {
                    #expect(
                        !line.contains(#/^(\$|jostle|sudo|make|mosquitto_pub|mosquitto_sub) /#),
                        "\(page.path):\(block.line): a block of commands is sh or console: \(line)")
                }
            }
        }
    }

    @Test func configurationsAreValid() throws {
        // The file that a configuration names.
        _ = try directory.write(Documentation.text(of: "Tests/Golden/circle.gesture"), to: "circle.gesture")
        var count = 0
        for page in try Documentation.pages() {
            for block in page.blocks where block.language == "yaml" && block.isConfiguration {
                let file = try directory.write(block.text, to: "block.yaml")
                let result = try Program.run(["check-config", file, "--no-files"], in: directory)
                let isWrong = block.mark?.hasPrefix("wrong: ") == true
                #expect(result.status == (isWrong ? 78 : 0), "\(page.path):\(block.line): \(result.output)")
                count += 1
            }
        }
        #expect(count > 5)
    }

    @Test(.enabled(if: OptionalProgram.path("promtool") != nil, "there is no promtool; Scripts/setup test unpacks it"))
    func prometheusAcceptsItsConfigurations() throws {
        let tool = try #require(OptionalProgram.path("promtool"))
        var kinds: Set<String> = []
        for page in try Documentation.pages() {
            for block in page.blocks where block.language == "yaml" {
                guard let mark = block.mark, mark.hasPrefix("Prometheus: ") else { continue }
                let file = try directory.write(block.text, to: "prometheus.yml")
                let arguments =
                    mark == "Prometheus: rules"
                    ? ["check", "rules", file] : ["check", "config", "--syntax-only", file]
                let child = try ChildProcess([tool] + arguments, in: directory, errors: directory.path("errors"))
                let status = child.wait()
                let errors = try String(contentsOfFile: directory.path("errors"), encoding: .utf8)
                #expect(status == 0, "\(page.path):\(block.line): \(errors)")
                kinds.insert(mark)
            }
        }
        #expect(kinds == ["Prometheus: rules", "Prometheus: configuration"])
    }

    @Test func automationsForHomeAssistantAreYAML() throws {
        var count = 0
        for page in try Documentation.pages() {
            for block in page.blocks where block.language == "yaml" && block.mark == "Home Assistant" {
                let source = DocumentSource.file("\(page.path):\(block.line)")
                let automation = try YAMLReader.read(Array(block.text.utf8), source: source)
                #expect(automation["triggers"] != nil && automation["actions"] != nil, "\(page.path):\(block.line)")
                count += 1
            }
        }
        #expect(count >= 2)
    }

    @Test func payloadsAreJSON() throws {
        var count = 0
        for page in try Documentation.pages() {
            for block in page.blocks where block.language == "json" {
                #expect(throws: Never.self, "\(page.path):\(block.line)") {
                    try JSONSerialization.jsonObject(with: Data(block.text.utf8))
                }
                count += 1
            }
        }
        #expect(count > 5)
    }
}
