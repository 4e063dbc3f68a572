import Foundation
import Testing

/// Requirement: every command writes through `Output`, which lets no text control the terminal.
@Suite struct OutputTests {
    /// The programs' source files by their paths.
    private func sources() throws -> [String: String] {
        var sources: [String: String] = [:]
        for target in ["jostle", "JostleCommandLine", "JostlePage", "jostle-page"] {
            let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
                "../../Sources/\(target)"
            ).standardizedFileURL
            let names = try #require(FileManager.default.enumerator(atPath: root.path)).compactMap { $0 as? String }
            for name in names where name.hasSuffix(".swift") {
                sources["\(target)/\(name)"] = try String(
                    contentsOf: root.appendingPathComponent(name), encoding: .utf8)
            }
        }
        return sources
    }

    private static func isOutput(_ name: String) -> Bool {
        ["JostleCommandLine/Output.swift", "jostle/Terminal/TerminalScreen.swift"].contains(name)
    }

    @Test func onlyOutputWrites() throws {
        let sources = try sources()
        #expect(sources.count > 40 && sources["JostleCommandLine/Output.swift"] != nil)
        let writes = /\b(?:print|debugPrint|dump|puts|fputs|putchar|fputc|fwrite|printf|vprintf|write)\((?!\s*_)/
        let descriptors = /FileHandle|TextOutputStream|write\(STD|\b(?:stdout|stderr)\b/
        for (name, text) in sources where !OutputTests.isOutput(name) {
            for line in text.split(separator: "\n") {
                let code = String(line.prefix(upTo: line.range(of: "//")?.lowerBound ?? line.endIndex))
                // A method with such a name is allowed: `output.write(row)`, or one that the file defines.
                for match in code.matches(of: writes) {
                    let before = code[..<match.range.lowerBound]
                    let isMethod = before.hasSuffix(".") || before.hasSuffix("func ")
                    let isOwn = text.contains("func write(") && match.output.hasPrefix("write(")
                    #expect(isMethod && !before.hasSuffix("Glibc.") || isOwn, "\(name): \(line)")
                }
                #expect(code.firstMatch(of: descriptors) == nil, "\(name): \(line)")
            }
        }
    }

    /// Escape sequences are allowed only in what draws whole screens, or as static terminal commands.
    @Test func onlyOutputControlsTerminal() throws {
        for (name, text) in try sources() where !OutputTests.isOutput(name) {
            for line in text.split(separator: "\n") where line.contains("\\u{1B}") || line.contains("\\u{9B}") {
                #expect(line.contains("Output.writes(command: \""), "\(name): \(line)")
            }
        }
    }
}
