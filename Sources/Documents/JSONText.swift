internal import LinuxSystem

/// How JSON is written.
package enum JSONStyle: Sendable {
    /// On one line, with a space after commas and colons: files and documents that people read.
    case spaced
    /// The canonical form (RFC 8785): equal values have equal bytes, whatever program wrote them. Members are sorted by
    /// the UTF-16 code units of their names, and numbers are written as ECMAScript does.
    case canonical
}

extension JSONValue {
    /// The value on one line, with spaces.
    package var compactText: String { text(.spaced) }

    /// The value on one line.
    package func text(_ style: JSONStyle) -> String {
        var text: [UInt8] = []
        write(to: &text, style)
        return String(decoding: text, as: UTF8.self)
    }

    private func write(to text: inout [UInt8], _ style: JSONStyle) {
        switch content {
        case .null: text += "null".utf8
        case .bool(let value): text += (value ? "true" : "false").utf8
        case .number(let number): text += (style == .canonical ? NumberText.canonical(number) : number).utf8
        case .string(let string): JSONText.append(string, style, to: &text)
        case .array(let elements):
            text.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { text += (style == .spaced ? ", " : ",").utf8 }
                element.write(to: &text, style)
            }
            text.append(UInt8(ascii: "]"))
        case .object(let members):
            text.append(UInt8(ascii: "{"))
            for (index, member) in (style == .canonical ? JSONText.sorted(members) : members).enumerated() {
                if index > 0 { text += (style == .spaced ? ", " : ",").utf8 }
                JSONText.append(member.name, style, to: &text)
                text += (style == .spaced ? ": " : ":").utf8
                member.value.write(to: &text, style)
            }
            text.append(UInt8(ascii: "}"))
        }
    }

    /// The value in the canonical form.
    ///
    /// - Throws: for a number beyond the range of a double.
    package func canonicalText() throws(DocumentProblem) -> String {
        try checkNumbers()
        return text(.canonical)
    }

    private func checkNumbers() throws(DocumentProblem) {
        switch content {
        case .number(let text) where number == nil:
            throw DocumentProblem(at: position, found: text, "is not a number in the range of JSON")
        case .array(let elements): for element in elements { try element.checkNumbers() }
        case .object(let members): for member in members { try member.value.checkNumbers() }
        default: break
        }
    }

    /// The value over several lines, indented by two spaces per level; short parts stay on one line.
    package func indentedText(level: Int = 0) -> String {
        let compact = compactText
        if compact.count + 2 * level <= 100, !isNested { return compact }
        let inner = String(repeating: "  ", count: level + 1)
        let outer = String(repeating: "  ", count: level)
        switch content {
        case .array(let elements):
            let lines = elements.map { inner + $0.indentedText(level: level + 1) }
            return "[\n\(lines.joined(separator: ",\n"))\n\(outer)]"
        case .object(let members):
            let lines = members.map {
                "\(inner)\(JSONText.quoted($0.name)): \($0.value.indentedText(level: level + 1))"
            }
            return "{\n\(lines.joined(separator: ",\n"))\n\(outer)}"
        default:
            return compact
        }
    }

    /// Whether this is an object that contains an object or a list of objects.
    private var isNested: Bool {
        members?.contains { member in
            member.value.members != nil || member.value.elements?.contains { $0.members != nil } ?? false
        } ?? false
    }
}

/// Writes JSON strings.
package enum JSONText {
    /// A text as a JSON string, also valid as a double-quoted YAML scalar. Terminal control characters are escaped too,
    /// but in the canonical form, which escapes only what JSON requires, in the shortest form.
    package static func quoted(_ text: String, _ style: JSONStyle = .spaced) -> String {
        var json: [UInt8] = []
        append(text, style, to: &json)
        return String(decoding: json, as: UTF8.self)
    }

    /// Appends the text of `quoted`.
    static func append(_ text: String, _ style: JSONStyle = .spaced, to json: inout [UInt8]) {
        json.append(UInt8(ascii: "\""))
        var text = text
        let isWritten = text.withUTF8 { bytes in
            guard bytes.allSatisfy(isPlain) else { return false }
            json += bytes
            return true
        }
        if !isWritten { for scalar in text.unicodeScalars { append(scalar, style, to: &json) } }
        json.append(UInt8(ascii: "\""))
    }

    private static func append(_ scalar: Unicode.Scalar, _ style: JSONStyle, to json: inout [UInt8]) {
        switch scalar {
        case "\"": json += "\\\"".utf8
        case "\\": json += "\\\\".utf8
        case "\n": json += "\\n".utf8
        case "\r": json += "\\r".utf8
        case "\t": json += "\\t".utf8
        case "\u{8}" where style == .canonical: json += "\\b".utf8
        case "\u{C}" where style == .canonical: json += "\\f".utf8
        case _ where style == .canonical ? scalar.value < 0x20 : ForeignText.isControl(scalar):
            json += ForeignText.jsonEscape(scalar).utf8
        default: json += scalar.utf8
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x20..<0x7F).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    fileprivate static func sorted(_ members: [JSONValue.Member]) -> [JSONValue.Member] {
        members.sorted { $0.name.utf16.lexicographicallyPrecedes($1.name.utf16) }
    }
}
