import LinuxSystem
import Testing

/// Requirement: a text is found in a text, wherever it is.
@Suite struct TextSearchTests {
    @Test(arguments: [
        ("mqtt://host", "://", "mqtt|host"), ("://", "://", "|"), ("a::b", ":::", nil), ("aab", "ab", "a|"),
        ("größer als", "ß", "grö|er als"), ("", "a", nil), ("ab", "abc", nil), ("a\r\nb", "\n", "a\r|b"),
    ])
    func findsTheFirstPlace(_ text: String, _ wanted: String, _ parts: String?) {
        let range = text.firstRange(of: wanted)
        #expect(range.map { "\(text[..<$0.lowerBound])|\(text[$0.upperBound...])" } == parts)
        #expect(text.contains(text: wanted) == (parts != nil))
        #expect(text[...].firstRange(of: wanted) == range)
    }

    @Test func everyTextHasTheEmptyOne() {
        #expect("ab".contains(text: "") && "".contains(text: ""))
    }

    @Test func replacesEveryPlace() {
        #expect("a|b||".replacing("|", with: "\\|") == "a\\|b\\|\\|")
        #expect("aaa".replacing("aa", with: "a") == "aa")
        #expect("x < y & z"[...].replacing("<", with: "&lt;") == "x &lt; y & z")
        #expect("".replacing("a", with: "b") == "")
    }
}
