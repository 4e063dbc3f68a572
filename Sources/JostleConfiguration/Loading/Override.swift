package import Documents
internal import LinuxSystem

/// The argument of `--set`: `key=value`.
package enum Override {
    /// The most names in a key's path: as deep as a file may be nested.
    package static let deepestPath = ReaderLimits().depth

    /// The argument as a tree with this one key.
    ///
    /// A value that begins with a bracket, brace or quote is YAML. Any other value is plain text, so that users of a
    /// shell do not have to think of YAML's special characters.
    static func parse(_ argument: String) throws(DocumentProblem) -> JSONValue {
        guard let separator = argument.firstIndex(of: "=") else {
            throw DocumentProblem(
                at: DocumentPosition(.argument(ForeignText.excerpt(argument))), "has no value; write key=value")
        }
        let path = String(argument[..<separator])
        let position = DocumentPosition(.argument(DocumentProblem.shortenedPath(path)))
        let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard names.count <= deepestPath else {
            throw DocumentProblem(
                at: DocumentPosition(.argument(ForeignText.excerpt(path))),
                "is not a key: more than \(deepestPath) levels")
        }
        guard names.allSatisfy({ !$0.isEmpty }) else {
            throw DocumentProblem(
                at: position, "\(DocumentProblem.quoted(path)) is not a key; write section.key=value")
        }
        let value = try value(String(argument[argument.index(after: separator)...]), at: position)
        return JSONValue(value, below: names, at: position)
    }

    /// The value of an argument: YAML if it begins with a bracket, brace or quote, else plain text.
    package static func value(
        _ text: String, at position: DocumentPosition
    ) throws(DocumentProblem) -> JSONValue {
        guard let first = text.first, "[{\"'".contains(first) else {
            return JSONValue(plain: text, at: position)
        }
        return try YAMLReader.read(Array(text.utf8), source: position.source)
    }
}
