/// A JSON value to be written; members keep their order and numbers the text they are given.
package enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// One member of an object.
    package struct Member: Equatable, Sendable {
        package var name: String
        package var value: JSONValue

        /// Makes a member.
        package init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// A finite number, as short as it can be told.
    package static func number(_ value: Double) -> JSONValue { .number(NumberText.exact(value)) }

    /// The value in one line.
    package var compactText: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let text): text
        case .string(let text): JSONText.quoted(text)
        case .array(let elements): "[\(elements.map(\.compactText).joined(separator: ", "))]"
        case .object(let members):
            "{\(members.map { "\(JSONText.quoted($0.name)): \($0.value.compactText)" }.joined(separator: ", "))}"
        }
    }

    /// The value over several lines, two spaces a level; what fits into one short line stays in it.
    package func indentedText(level: Int = 0) -> String {
        let compact = compactText
        if compact.count + 2 * level <= 100, !isNested { return compact }
        let inner = String(repeating: "  ", count: level + 1)
        let outer = String(repeating: "  ", count: level)
        switch self {
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

    /// Whether it is an object that has an object or a list of objects inside.
    private var isNested: Bool {
        guard case .object(let members) = self else { return false }
        return members.contains {
            switch $0.value {
            case .object: true
            case .array(let elements): elements.contains { if case .object = $0 { true } else { false } }
            default: false
            }
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral
{
    /// Makes a string.
    package init(stringLiteral value: String) { self = .string(value) }

    /// Makes an array.
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// Makes an object with its members in the order in which they are written.
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }

    /// Makes a truth value.
    package init(booleanLiteral value: Bool) { self = .bool(value) }

    /// Makes a number.
    package init(integerLiteral value: Int) { self = .number("\(value)") }
}
