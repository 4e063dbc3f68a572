// Searching by UTF-8. The standard library can do this too, but in a module whose regular expressions are linked with it:
// 1.3 MB in each program. Release builds do not import that module (Scripts/swift-build).
extension StringProtocol {
    /// The first place of a text; `nil` if it is not there.
    package func firstRange(of text: String) -> Range<Index>? {
        let wanted = text.utf8
        var start = startIndex
        while true {
            let rest = utf8[start...]
            if rest.starts(with: wanted) { return start..<utf8.index(start, offsetBy: wanted.count) }
            guard start < endIndex else { return nil }
            utf8.formIndex(after: &start)
        }
    }

    /// Whether a text is in this one.
    package func contains(text: String) -> Bool { firstRange(of: text) != nil }

    /// The text with another one in each place of `text`, which is not empty.
    package func replacing(_ text: String, with other: String) -> String {
        var result = ""
        var rest = Substring(self)
        while let range = rest.firstRange(of: text) {
            result += rest[..<range.lowerBound] + other
            rest = rest[range.upperBound...]
        }
        return result + rest
    }
}
