/// Builds a JSON object; fields appear in the order in which they are added.
///
/// Each number is written with the decimals that its quantity needs, and in exponent form only beyond 9·10¹⁵ units of
/// the last decimal. Numbers that are not finite are left out, because JSON cannot represent them.
package struct JSONObject: Sendable {
    /// The object as UTF-8, without the last brace.
    private var text: [UInt8] = []

    package init() {
        // Most payloads fit, so that they are written without growing.
        text.reserveCapacity(256)
        text.append(UInt8(ascii: "{"))
    }

    /// The object as JSON.
    package var description: String { String(decoding: bytes, as: UTF8.self) }

    /// The object's JSON as UTF-8.
    package var bytes: [UInt8] { text + CollectionOfOne(UInt8(ascii: "}")) }

    /// Adds a number with at most `decimals` decimals. `nil` adds nothing, in every method here.
    package mutating func add(_ name: String, _ value: Double?, decimals: Int) {
        guard let value, value.isFinite else { return }
        begin(name)
        NumberText.append(value, decimals, to: &text)
    }

    /// Adds an integer.
    package mutating func add(_ name: String, _ value: Int64?) {
        guard let value else { return }
        begin(name)
        NumberText.append(value, to: &text)
    }

    /// Adds a Boolean.
    package mutating func add(_ name: String, _ value: Bool?) {
        guard let value else { return }
        begin(name)
        text += (value ? "true" : "false").utf8
    }

    /// Adds a string.
    package mutating func add(_ name: String, _ value: String?) {
        guard let value else { return }
        begin(name)
        JSONText.append(value, to: &text)
    }

    /// Adds an array of numbers, or nothing if one of them is not finite.
    package mutating func add(_ name: String, _ values: [Double], decimals: Int) {
        guard values.allSatisfy(\.isFinite) else { return }
        begin(name)
        append(values) { $1.append($0, decimals: decimals) }
    }

    /// Adds an array of arrays of numbers, or nothing if one of them is not finite.
    package mutating func add(_ name: String, _ rows: [[Double]], decimals: Int) {
        guard rows.allSatisfy({ $0.allSatisfy(\.isFinite) }) else { return }
        begin(name)
        append(rows) { $1.append($0) { $1.append($0, decimals: decimals) } }
    }

    /// Adds an object.
    package mutating func add(_ name: String, _ object: JSONObject?) {
        guard let object else { return }
        begin(name)
        append(object)
    }

    /// Adds an array of strings.
    package mutating func add(_ name: String, _ texts: [String]) {
        begin(name)
        append(texts) { JSONText.append($0, to: &$1.text) }
    }

    /// Adds an array of objects.
    package mutating func add(_ name: String, _ objects: [JSONObject]) {
        begin(name)
        append(objects) { $1.append($0) }
    }

    /// Adds the fields of another object.
    package mutating func add(contentsOf object: JSONObject) { add(fields: object.text.dropFirst()) }

    /// The text between the braces.
    package var fields: String { String(decoding: text.dropFirst(), as: UTF8.self) }

    /// Adds fields in the form that `fields` returns.
    package mutating func add(fields: String) { add(fields: fields.utf8) }

    private mutating func add(fields: some Collection<UInt8>) {
        guard !fields.isEmpty else { return }
        separate()
        text += fields
    }

    private mutating func begin(_ name: String) {
        separate()
        JSONText.append(name, to: &text)
        text.append(UInt8(ascii: ":"))
    }

    private mutating func separate() {
        if text.count > 1 { text.append(UInt8(ascii: ",")) }
    }

    private mutating func append(_ value: Double, decimals: Int) { NumberText.append(value, decimals, to: &text) }

    private mutating func append(_ object: JSONObject) {
        text += object.text
        text.append(UInt8(ascii: "}"))
    }

    private mutating func append<Element>(_ elements: [Element], _ write: (Element, inout JSONObject) -> Void) {
        text.append(UInt8(ascii: "["))
        for (index, element) in elements.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            write(element, &self)
        }
        text.append(UInt8(ascii: "]"))
    }
}
