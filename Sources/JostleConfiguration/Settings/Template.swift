/// A text with places for what is known of an event: `TOGGLE because of ${gesture}`.
///
/// `${field}` stands for a field, `${field:-text}` for the text where the event lacks it, and `$${` for the characters
/// `${`. Any other `$` or brace is itself, so that JSON needs no escapes.
package struct Template: Equatable, Sendable {
    /// A piece of the text.
    package enum Part: Equatable, Sendable {
        case text(String)
        case field(Field, otherwise: String)
    }

    /// What a template can tell of an event; the raw value is its name, which is also the one in an event's payload.
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
        case level
        case frequency
        case height
        case duration
        case reason
        case simulated
    }

    /// Why a text is no template, in words that can follow it.
    package struct Malformed: Error, Equatable, Sendable {
        package var reason: String
    }

    /// The pieces, in order.
    package private(set) var parts: [Part] = []

    /// The text that it was made of.
    package let source: String

    /// Reads a template.
    package init(_ source: String) throws(Malformed) {
        self.source = source
        var text = ""
        var rest = source[...]
        while let character = rest.first {
            if rest.hasPrefix("$${") {
                text += "${"
                rest = rest.dropFirst(3)
            } else if rest.hasPrefix("${") {
                guard let end = rest.firstIndex(of: "}") else {
                    throw Malformed(reason: "has ${ without }; the characters themselves are written $${")
                }
                if !text.isEmpty { parts.append(.text(text)) }
                text = ""
                parts.append(try Template.place(rest[..<end].dropFirst(2)))
                rest = rest[end...].dropFirst()
            } else {
                text.append(character)
                rest = rest.dropFirst()
            }
        }
        if !text.isEmpty { parts.append(.text(text)) }
    }

    /// Makes a template of one field.
    package init(_ field: Field) {
        source = "${\(field.rawValue)}"
        parts = [.field(field, otherwise: "")]
    }

    /// The fields in it.
    package var fields: [Field] {
        parts.compactMap { if case .field(let field, _) = $0 { field } else { nil } }
    }

    /// What stands between `${` and `}`: a name, or a name and what is said without it.
    private static func place(_ inside: Substring) throws(Malformed) -> Part {
        let separator = inside.firstRange(of: ":-")
        let name = String(inside[..<(separator?.lowerBound ?? inside.endIndex)])
        guard let field = Field(rawValue: name) else {
            let names = Field.allCases.map(\.rawValue)
            let advice =
                EditDistance.nearest(to: name, among: names).map { "; did you mean \"${\($0)}\"?" }
                ?? "; there is \(names.joined(separator: ", "))"
            throw Malformed(reason: "has an unknown field \(ConfigurationProblem.quoted("${\(name)}"))\(advice)")
        }
        return .field(field, otherwise: separator.map { String(inside[$0.upperBound...]) } ?? "")
    }
}
