// Searching by UTF-8. The standard library can do this too, but in a module whose regular expressions are linked with it:
// 1.3 MB in each program. Release builds do not import that module (Scripts/swift-build).
extension StringProtocol {
    /// The first place of a text; `nil` if it is not there.
    package func firstRange(of text: String) -> Range<Index>? {
        // Not generic, so that every byte is a comparison and not a call.
        Substring(self).utf8.firstRange(of: text.utf8)
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

extension Substring.UTF8View {
    fileprivate func firstRange(of text: String.UTF8View) -> Range<Index>? {
        guard let first = text.first else { return startIndex..<startIndex }
        var rest = self
        while let start = rest.firstIndex(of: first) {
            rest = rest[start...]
            if rest.starts(with: text) { return start..<index(start, offsetBy: text.count) }
            rest = rest.dropFirst()
        }
        return nil
    }
}
