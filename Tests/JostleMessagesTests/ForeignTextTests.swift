import Foundation
import LinuxSystem
import Testing

/// Requirement: a log entry is one line, even if it quotes text from outside.
@Suite struct ForeignTextTests {
    @Test(
        arguments: [
            ("plain ü", "plain ü"), ("a\nb", "a\\u{a}b"), ("\r\n<0>all is lost", "\\u{d}\\u{a}<0>all is lost"),
            ("\u{1B}[2J\u{7F}", "\\u{1b}[2J\\u{7f}"), ("\u{9B}2J", "\\u{9b}2J"), ("a\u{202E}b", "a\\u{202e}b"),
            ("a\u{2028}b\u{2067}", "a\\u{2028}b\\u{2067}"),
        ])
    func escapesControlCharacters(text: String, line: String) {
        #expect(ForeignText.oneLine(text) == line)
    }

    @Test func textOfSeveralLinesKeepsLineFeedsOnly() {
        #expect(ForeignText.lines("a\n\tb\r\n\u{9B}2J\n") == "a\n\\u{9}b\\u{d}\n\\u{9b}2J\n")
    }

    /// A reader gets the same value from the escaped JSON as from the original.
    @Test func jsonBecomesOneLineWithSameValue() throws {
        let text = "{\"a\":\r\n\t[\"\u{9B}31m\u{202E}é\u{7F}\", \"\u{2028}\u{1F600}\"]}"
        let line = ForeignText.json(text)
        #expect(!line.unicodeScalars.contains(where: ForeignText.isControl))
        #expect(line == #"{"a":   ["\u009b31m\u202eé\u007f", "\u2028😀"]}"#)
        let before = try JSONDecoder().decode([String: [String]].self, from: Data(text.utf8))
        #expect(try JSONDecoder().decode([String: [String]].self, from: Data(line.utf8)) == before)
    }
}
