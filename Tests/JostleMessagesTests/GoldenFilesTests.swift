import BrokerTestSupport
import Testing

/// Requirement: a text that differs from its recorded file is named with its first line that differs.
@Suite struct GoldenFilesTests {
    private func difference(_ old: String, _ new: String) -> String? {
        goldenDifference(Array(old.utf8), Array(new.utf8))
    }

    @Test("The first line that differs is shown as recorded and as it is now")
    func firstDifference() {
        #expect(difference("a\nb\n", "a\nb\n") == nil)
        #expect(
            difference("a\nbcd\ne\n", "a\nbxd\nf\n") == "line 2 differs at byte 2\n  recorded: bcd\n  now:      bxd")
        #expect(difference("a\n", "a") == "line 2 differs at byte 1\n  recorded: \n  now:      (the end of the text)")
        #expect(difference("a", "a\r")?.hasPrefix("line 1 differs at byte 2") == true)
    }

    @Test("Of a long line, what is around the difference is shown")
    func longLine() throws {
        let start = String(repeating: "s", count: 1000)
        let end = String(repeating: "e", count: 1000)
        let shown = try #require(difference(start + "1" + end, start + "2" + end))
        #expect(shown.hasPrefix("line 1 differs at byte 1001\n  recorded: …sss") && shown.utf8.count < 1000)
        #expect(shown.contains("s1e") && shown.contains("s2e"))
    }

    @Test("A block keeps every byte of a text of several lines")
    func blocks() {
        var golden = GoldenText()
        golden.add("empty", "")
        golden.add("line", "a: b")
        golden.add("file", "{\n\n}\n")
        golden.add("cut", "a\nb")
        golden.add("feed", "\n")
        #expect(
            golden.text
                == "empty:\nline: a: b\nfile:\n| {\n|\n| }\ncut:\n| a\n| b\n\\ no line feed at the end\nfeed:\n|\n")
    }
}
