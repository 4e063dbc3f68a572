/// A value of JSON, read or to be written: with its position if it was read. Members keep their order, and numbers their
/// text.
///
/// YAML is read into the same values: plain text that is a number in JSON's notation is one, `true` and `false` are
/// Booleans, and any other scalar is a string.
package struct JSONValue: Equatable, Sendable {
    /// The value itself.
    package var content: Content

    /// The position of its first character; that of no text if it was not read.
    package var position: DocumentPosition

    package init(_ content: Content, at position: DocumentPosition = .none) {
        self.content = content
        self.position = position
    }

    /// The kinds of value.
    package enum Content: Equatable, Sendable {
        /// No value: JSON's `null`, and in YAML also `~` and an empty value.
        case null
        case bool(Bool)
        case number(String)
        case string(String)
        case array([JSONValue])
        /// Names and values in the order in which they were written; when read, no name occurs twice.
        case object([Member])
    }

    /// A member of an object.
    package struct Member: Equatable, Sendable {
        package var name: String
        package var value: JSONValue

        /// The position of the name.
        package var position: DocumentPosition

        package init(_ name: String, _ value: JSONValue, at position: DocumentPosition = .none) {
            self.name = name
            self.value = value
            self.position = position
        }

        /// Whether both have the same name and value, wherever they stand.
        package static func == (one: Member, other: Member) -> Bool {
            one.name == other.name && one.value == other.value
        }
    }

    /// Whether both are the same value, wherever they stand.
    package static func == (one: JSONValue, other: JSONValue) -> Bool { one.content == other.content }
}

// MARK: Making values

extension JSONValue {
    package static var null: JSONValue { JSONValue(.null) }
    package static func bool(_ value: Bool) -> JSONValue { JSONValue(.bool(value)) }
    package static func string(_ text: String) -> JSONValue { JSONValue(.string(text)) }
    package static func array(_ elements: [JSONValue]) -> JSONValue { JSONValue(.array(elements)) }
    package static func object(_ members: [Member]) -> JSONValue { JSONValue(.object(members)) }

    /// A number in JSON's notation.
    package static func number(_ text: String) -> JSONValue { JSONValue(.number(text)) }

    /// An integer.
    package static func number(_ value: some BinaryInteger) -> JSONValue { JSONValue(.number("\(value)")) }

    /// A finite number in the shortest exact notation.
    package static func number(_ value: Double) -> JSONValue { JSONValue(.number(NumberText.exact(value))) }

    /// An array of strings.
    package static func strings(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }

    /// A value; null if there is none.
    package static func optional(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
    package static func optional(_ value: Bool?) -> JSONValue { value.map { .bool($0) } ?? .null }
    package static func optional(_ number: Int64?) -> JSONValue { number.map { .number($0) } ?? .null }

    /// What YAML means by a scalar without quotes.
    package init(plain text: String, at position: DocumentPosition = .none) {
        let content: Content =
            switch text {
            case "", "~", "null", "Null", "NULL": .null  // YAML 1.2.2, 10.3.2
            case "true": .bool(true)
            case "false": .bool(false)
            default: NumberText.isJSON(text) ? .number(text) : .string(text)
            }
        self.init(content, at: position)
    }

    /// A value at the end of a path, as objects of one member each.
    package init(_ value: JSONValue, below path: [String], at position: DocumentPosition) {
        self = path.reversed().reduce(value) { value, name in
            JSONValue(.object([Member(name, value, at: position)]), at: position)
        }
    }

    /// This object with the members of another one after its own.
    package func adding(_ other: JSONValue) -> JSONValue { .object((members ?? []) + (other.members ?? [])) }

    /// The same value with one position for all its parts.
    package func placed(at position: DocumentPosition) -> JSONValue {
        switch content {
        case .array(let elements):
            JSONValue(.array(elements.map { $0.placed(at: position) }), at: position)
        case .object(let members):
            JSONValue(
                .object(members.map { Member($0.name, $0.value.placed(at: position), at: position) }), at: position)
        default: JSONValue(content, at: position)
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }

    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// The members keep their order. One without a value is left out.
    package init(dictionaryLiteral elements: (String, JSONValue?)...) {
        self = .object(elements.compactMap { name, value in value.map { Member(name, $0) } })
    }

    package init(booleanLiteral value: Bool) { self = .bool(value) }

    package init(integerLiteral value: Int) { self = .number(value) }
}

// MARK: Looking into values

extension JSONValue {
    /// The members of an object.
    package var members: [Member]? { if case .object(let members) = content { members } else { nil } }

    /// The elements of an array.
    package var elements: [JSONValue]? { if case .array(let elements) = content { elements } else { nil } }

    /// A string, not a number or a Boolean.
    package var string: String? { if case .string(let text) = content { text } else { nil } }

    package var bool: Bool? { if case .bool(let value) = content { value } else { nil } }

    /// A finite number.
    package var number: Double? {
        guard case .number(let text) = content, let number = Double(text), number.isFinite else { return nil }
        return number
    }

    /// A whole number. In JSON, 5.0 and 5e0 are the integer 5; digits alone are not rounded.
    package var integer: Int64? {
        guard case .number(let text) = content else { return nil }
        return Int64(text) ?? Double(text).flatMap { Int64(exactly: $0) }
    }

    /// The text of a scalar as it was written, without quotes.
    package var text: String? {
        switch content {
        case .string(let text), .number(let text): text
        case .bool(let value): value ? "true" : "false"
        case .null, .array, .object: nil
        }
    }

    package var isNull: Bool { content == .null }

    /// The value of a member; `nil` if this is not an object or lacks the member.
    package subscript(name: String) -> JSONValue? { members?.first { $0.name == name }?.value }
}
