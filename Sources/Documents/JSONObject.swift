/// Builds a JSON object; fields appear in the order in which they are added.
///
/// Each number is written with the decimals that its quantity needs, and in exponent form only beyond 9·10¹⁵ units of
/// the last decimal. Numbers that are not finite are left out, because JSON cannot represent them.
package struct JSONObject: Sendable {
    private var text = "{"

    package init() {}

    /// The object as JSON.
    package var description: String { text + "}" }

    /// The object's JSON as UTF-8.
    package var bytes: [UInt8] { Array(description.utf8) }

    /// Adds a number with at most `decimals` decimals. `nil` adds nothing, in every method here.
    package mutating func add(_ name: String, _ value: Double?, decimals: Int) {
        guard let value, value.isFinite else { return }
        add(name, text: NumberText.decimal(value, decimals))
    }

    /// Adds an integer.
    package mutating func add(_ name: String, _ value: Int64?) {
        if let value { add(name, text: String(value)) }
    }

    /// Adds a Boolean.
    package mutating func add(_ name: String, _ value: Bool?) {
        if let value { add(name, text: value ? "true" : "false") }
    }

    /// Adds a string.
    package mutating func add(_ name: String, _ value: String?) {
        if let value { add(name, text: JSONText.quoted(value)) }
    }

    /// Adds an array of numbers, or nothing if one of them is not finite.
    package mutating func add(_ name: String, _ values: [Double], decimals: Int) {
        guard values.allSatisfy(\.isFinite) else { return }
        add(name, elements: values.map { NumberText.decimal($0, decimals) })
    }

    /// Adds an array of arrays of numbers, or nothing if one of them is not finite.
    package mutating func add(_ name: String, _ rows: [[Double]], decimals: Int) {
        guard rows.allSatisfy({ $0.allSatisfy(\.isFinite) }) else { return }
        add(
            name,
            elements: rows.map { row in "[\(row.map { NumberText.decimal($0, decimals) }.joined(separator: ","))]" })
    }

    /// Adds an object.
    package mutating func add(_ name: String, _ object: JSONObject?) {
        if let object { add(name, text: object.description) }
    }

    /// Adds an array of strings.
    package mutating func add(_ name: String, _ texts: [String]) {
        add(name, elements: texts.map { JSONText.quoted($0) })
    }

    /// Adds an array of objects.
    package mutating func add(_ name: String, _ objects: [JSONObject]) {
        add(name, elements: objects.map(\.description))
    }

    /// Adds the fields of another object.
    package mutating func add(contentsOf object: JSONObject) { add(fields: object.fields) }

    /// The text between the braces.
    package var fields: String { String(text.dropFirst()) }

    /// Adds fields in the form that `fields` returns.
    package mutating func add(fields: String) {
        guard !fields.isEmpty else { return }
        if text.utf8.count > 1 { text += "," }
        text += fields
    }

    private mutating func add(_ name: String, elements: [String]) {
        add(name, text: "[\(elements.joined(separator: ","))]")
    }

    private mutating func add(_ name: String, text value: String) { add(fields: "\(JSONText.quoted(name)):\(value)") }
}
