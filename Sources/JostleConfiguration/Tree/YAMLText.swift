/// Writes values as YAML.
enum YAMLText {
    /// The value in YAML's flow style, on one line; ambiguous text is quoted.
    static func flow(_ value: JSONValue) -> String {
        switch value {
        case .string(let text): isPlain(text) ? text : JSONText.quoted(text)
        case .array(let elements): "[\(elements.map(flow).joined(separator: ", "))]"
        case .object(let members):
            "{\(members.map { "\(flow(.string($0.name))): \(flow($0.value))" }.joined(separator: ", "))}"
        case .null, .bool, .number: value.compactText
        }
    }

    /// Whether the text reads back unchanged without quotes, also within a list.
    ///
    /// Deliberately narrow: unnecessary quotes do no harm.
    private static func isPlain(_ text: String) -> Bool {
        let letters = text.unicodeScalars
        guard let first = letters.first, let last = letters.last,
            first.properties.isAlphabetic || isDigit(first) || first == "/",
            last != " ", last != ":", !YAMLReader.isNull(text), text != "true", text != "false"
        else { return false }
        return letters.allSatisfy { letter in
            letter.properties.isAlphabetic || isDigit(letter) || " /.:_-°²µ".unicodeScalars.contains(letter)
        } && !text.contains(": ")
    }

    private static func isDigit(_ letter: UnicodeScalar) -> Bool { letter >= "0" && letter <= "9" }
}
