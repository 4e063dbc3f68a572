/// A JSON value to be written; members keep their order, and numbers keep their text.
package enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// A member of an object.
    package struct Member: Equatable, Sendable {
        package var name: String
        package var value: JSONValue

        package init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// A finite number in the shortest exact notation.
    package static func number(_ value: Double) -> JSONValue { .number(NumberText.exact(value)) }

    /// The value on one line.
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

    /// The value over several lines, indented by two spaces per level; short parts stay on one line.
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

    /// Whether this is an object that contains an object or a list of objects.
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
    package init(stringLiteral value: String) { self = .string(value) }

    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// The members keep their order.
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }

    package init(booleanLiteral value: Bool) { self = .bool(value) }

    package init(integerLiteral value: Int) { self = .number("\(value)") }
}
