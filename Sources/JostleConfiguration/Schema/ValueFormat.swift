/// Why a value was refused, phrased to follow the value in a message.
struct ValueRefusal: Error {
    var reason: String

    /// What to show instead of the value as it was written, because parts of it may be secret; `nil` shows the value.
    var found: String?

    /// The position of the refused element of a list; `nil` if the value as a whole is refused.
    var position: ConfigurationPosition?

    /// The problems of a list's elements, with paths relative to the list: `[0].publish.topic`. If there are any, they
    /// are reported instead of this refusal.
    var inner: [ConfigurationProblem] = []

    init(_ reason: String, found: String? = nil, at position: ConfigurationPosition? = nil) {
        self.reason = reason
        self.found = found
        self.position = position
    }
}

/// The format of one kind of value: how it is read, written, and described to people and editors.
struct ValueFormat<Value: Sendable>: Sendable {
    /// The values allowed, for messages.
    let allowed: String

    /// Whether a message should add an example, because `allowed` does not contain one.
    let wantsExample: Bool

    /// The constraints as members of a JSON Schema.
    let constraints: [JSONValue.Member]

    /// Reads the value of a node; the second argument is the directory to which relative paths refer.
    let read: @Sendable (ConfigurationNode, String?) throws(ValueRefusal) -> Value

    /// Writes a value; numbers without a unit get none.
    let write: @Sendable (Value) -> JSONValue
}

extension ConfigurationNode {
    /// The text of a scalar; any other node is refused.
    func scalarText() throws(ValueRefusal) -> String {
        switch value {
        case .scalar(let text, _): return text
        case .null: throw ValueRefusal("has no value")
        case .sequence: throw ValueRefusal("is a list, not a single value")
        case .mapping: throw ValueRefusal("is a mapping, not a single value")
        }
    }
}

extension ValueFormat<Double> {
    /// A quantity within bounds, which are in SI units; with `zeroIsOff`, zero is allowed as well.
    static func quantity(
        _ dimension: Dimension, _ bounds: ClosedRange<Double>, zeroIsOff: Bool = false
    ) -> ValueFormat {
        let range = "\(dimension.text(bounds.lowerBound)) … \(dimension.text(bounds.upperBound))"
        let unit = dimension.defaultUnit
        let number: JSONValue = [
            "type": "number", "minimum": .number(NumberText.rounded(unit.count(bounds.lowerBound))),
            "maximum": .number(NumberText.rounded(unit.count(bounds.upperBound))),
        ]
        let text: JSONValue = ["type": "string", "pattern": .string(dimension.pattern)]
        return ValueFormat(
            allowed: zeroIsOff ? "0 (off) or \(range)" : range, wantsExample: true,
            constraints: [.init("anyOf", .array((zeroIsOff ? [["const": 0]] : []) + [number, text]))],
            read: { node, _ throws(ValueRefusal) in
                let value = try dimension.read(try node.scalarText())
                if zeroIsOff && value == 0 { return 0 }
                guard bounds.contains(value) else { throw ValueRefusal("is out of bounds") }
                // Turns minus zero, which would be written as -0, into zero.
                return value + 0
            },
            write: { .string(dimension.text($0)) })
    }

    /// A quantity for which a chip supports only a few values, in SI units; the counts in default units are for
    /// messages.
    static func oneOf(_ values: [(count: Double, si: Double)], _ dimension: Dimension) -> ValueFormat {
        let names = values.map { "\(NumberText.rounded($0.count)) \(dimension.defaultUnit.symbol)" }
        return ValueFormat(
            allowed: ValueFormat<String>.list(names), wantsExample: false,
            constraints: [
                .init(
                    "anyOf",
                    [
                        ["enum": .array(values.map { .number($0.count) })],
                        ["type": "string", "pattern": .string(dimension.pattern)],
                    ])
            ],
            read: { node, _ throws(ValueRefusal) in
                let value = try dimension.read(try node.scalarText())
                // The tolerance of a thousandth accepts values rounded in other units.
                guard let nearest = values.first(where: { abs($0.si - value) < 0.001 * $0.si }) else {
                    throw ValueRefusal("is not a range of the chip")
                }
                return nearest.si
            },
            write: { .string(dimension.text($0)) })
    }
}

extension ValueFormat<Int> {
    /// An integer within bounds.
    static func integer(_ bounds: ClosedRange<Int>) -> ValueFormat {
        ValueFormat(
            allowed: "\(bounds.lowerBound) … \(bounds.upperBound)", wantsExample: false,
            constraints: [
                .init("type", "integer"), .init("minimum", .number("\(bounds.lowerBound)")),
                .init("maximum", .number("\(bounds.upperBound)")),
            ],
            read: { node, _ throws(ValueRefusal) in
                let text = try node.scalarText()
                // In JSON 5.0 and 5e0 are the integer 5, so they are accepted here.
                guard let number = NumberText.whole(text), number == number.rounded() else {
                    throw ValueRefusal("is not a whole number")
                }
                guard number >= Double(bounds.lowerBound), number <= Double(bounds.upperBound) else {
                    throw ValueRefusal("is out of bounds")
                }
                return Int(number)
            },
            write: { .number("\($0)") })
    }
}

extension ValueFormat<Bool> {
    /// `true` or `false`.
    static var boolean: ValueFormat {
        ValueFormat(
            allowed: "true or false", wantsExample: false, constraints: [.init("type", "boolean")],
            read: { node, _ throws(ValueRefusal) in
                switch (try node.scalarText(), node.value) {
                case ("true", .scalar(_, .plain)): return true
                case ("false", .scalar(_, .plain)): return false
                case ("true", _), ("false", _): throw ValueRefusal("is text because of its quotes")
                default: throw ValueRefusal("is neither true nor false")
                }
            },
            write: { .bool($0) })
    }
}

extension ValueFormat where Value: Equatable {
    /// One of a fixed set of names.
    static func choice(_ values: KeyValuePairs<String, Value>) -> ValueFormat {
        choice(Array(values))
    }

    /// The same for names from an array.
    static func choice(_ pairs: [(key: String, value: Value)]) -> ValueFormat {
        let names = pairs.map(\.key)
        return ValueFormat(
            allowed: ValueFormat<String>.list(names), wantsExample: false,
            constraints: [.init("enum", .array(names.map { .string($0) }))],
            read: { node, _ throws(ValueRefusal) in
                let text = try node.scalarText()
                guard let pair = pairs.first(where: { $0.key == text }) else {
                    if let near = EditDistance.nearest(to: text, among: pairs.map(\.key)) {
                        throw ValueRefusal("is unknown; did you mean \"\(near)\"?")
                    }
                    throw ValueRefusal("is unknown")
                }
                return pair.value
            },
            write: { value in pairs.first { $0.value == value }.map { .string($0.key) } ?? .null })
    }
}
