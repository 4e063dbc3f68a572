package import Documents
internal import LinuxSystem

/// A text with placeholders for the fields of an event: `TOGGLE because of ${gesture}`.
///
/// `${field}` inserts a field, `${field:-text}` inserts `text` if the event lacks the field, and `$${` inserts the
/// characters `${`. Any other `$` or brace is literal, so that JSON needs no escapes.
package struct Template: Equatable, Sendable {
    /// A piece of the text.
    package enum Part: Equatable, Sendable {
        case text(String)
        case field(Field, fallback: String)
    }

    /// A field that a template can insert; the raw value is its name, the same as in an event's payload.
    package enum Field: String, CaseIterable, Sendable {
        /// The whole event, as it is published.
        case event
        case device
        case gesture
        case phase
        case id
        case t
        case strength
        case axis
        case reversals
        case direction
        case side
        case from
        case to
        case count
        case angle
        case rate
        case level
        case frequency
        case height
        case duration
        case confidence
        case reason
        case simulated
    }

    /// The pieces, in order.
    package private(set) var parts: [Part] = []

    /// The text from which the template was parsed.
    package let source: String

    package init(_ source: String) throws(ValueRefusal) {
        self.source = source
        var text = ""
        var rest = source[...]
        while let character = rest.first {
            if rest.hasPrefix("$${") {
                text += "${"
                rest = rest.dropFirst(3)
            } else if rest.hasPrefix("${") {
                guard let end = rest.firstIndex(of: "}") else {
                    throw ValueRefusal("has ${ without }; to write the characters ${, use $${")
                }
                if !text.isEmpty { parts.append(.text(text)) }
                text = ""
                parts.append(try Template.placeholder(rest[..<end].dropFirst(2)))
                rest = rest[end...].dropFirst()
            } else {
                text.append(character)
                rest = rest.dropFirst()
            }
        }
        if !text.isEmpty { parts.append(.text(text)) }
    }

    /// Creates a template that consists of one field.
    package init(_ field: Field) {
        source = "${\(field.rawValue)}"
        parts = [.field(field, fallback: "")]
    }

    /// The fields that the template inserts.
    package var fields: [Field] {
        parts.compactMap { if case .field(let field, _) = $0 { field } else { nil } }
    }

    /// Parses the text between `${` and `}`: a name, or a name and a fallback.
    private static func placeholder(_ inside: Substring) throws(ValueRefusal) -> Part {
        let separator = inside.firstRange(of: ":-")
        let name = String(inside[..<(separator?.lowerBound ?? inside.endIndex)])
        guard let field = Field(rawValue: name) else {
            let names = Field.allCases.map(\.rawValue)
            let advice =
                EditDistance.nearest(to: name, among: names).map { "; did you mean \"${\($0)}\"?" }
                ?? "; the fields are \(names.joined(separator: ", "))"
            throw ValueRefusal("has an unknown field \(DocumentProblem.quoted("${\(name)}"))\(advice)")
        }
        return .field(field, fallback: separator.map { String(inside[$0.upperBound...]) } ?? "")
    }
}
