internal import LinuxSystem

/// Writes values as YAML.
package enum YAMLText {
    /// The members of an object as a YAML file: sections over several lines, lists and empty objects on one line. Read
    /// again, it is the same value.
    package static func file(_ members: [JSONValue.Member]) -> String {
        members.isEmpty ? "{}\n" : block(members, indentation: "")
    }

    private static func block(_ members: [JSONValue.Member], indentation: String) -> String {
        members.map { member in
            let key = indentation + flow(.string(member.name), quotesNumbers: true) + ":"
            guard let inner = member.value.members, !inner.isEmpty else {
                return "\(key) \(flow(member.value, quotesNumbers: true))\n"
            }
            return "\(key)\n\(block(inner, indentation: indentation + "  "))"
        }.joined()
    }

    /// The value in YAML's flow style, on one line; ambiguous text is quoted.
    package static func flow(_ value: JSONValue) -> String { flow(value, quotesNumbers: false) }

    /// The same; on demand, text that looks like a number is quoted too.
    private static func flow(_ value: JSONValue, quotesNumbers: Bool) -> String {
        let inner = { flow($0, quotesNumbers: quotesNumbers) }
        switch value.content {
        case .string(let text):
            return isPlain(text) && !(quotesNumbers && NumberText.isJSON(text)) ? text : JSONText.quoted(text)
        case .array(let elements): return "[\(elements.map(inner).joined(separator: ", "))]"
        case .object(let members):
            return "{\(members.map { "\(inner(.string($0.name))): \(inner($0.value))" }.joined(separator: ", "))}"
        case .null, .bool, .number: return value.compactText
        }
    }

    /// Whether the text reads back unchanged without quotes, also within a list.
    ///
    /// Deliberately narrow: unnecessary quotes do no harm.
    private static func isPlain(_ text: String) -> Bool {
        let letters = text.unicodeScalars
        guard let first = letters.first, let last = letters.last,
            isAlphabetic(first) || isDigit(first) || first == "/",
            last != " ", last != ":", !JSONValue(plain: text).isNull, JSONValue(plain: text).bool == nil
        else { return false }
        return letters.allSatisfy { letter in
            isAlphabetic(letter) || isDigit(letter) || " /.:_-°²µ".unicodeScalars.contains(letter)
        } && !text.contains(text: ": ")
    }

    /// The table is only asked about what is not ASCII.
    private static func isAlphabetic(_ letter: UnicodeScalar) -> Bool {
        letter.isASCII ? letter.value | 0x20 >= 0x61 && letter.value | 0x20 <= 0x7A : letter.properties.isAlphabetic
    }

    private static func isDigit(_ letter: UnicodeScalar) -> Bool { letter >= "0" && letter <= "9" }
}
