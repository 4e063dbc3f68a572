/// Why a value was refused, in words that can follow it in a message.
struct ValueRefusal: Error {
    var reason: String

    /// What to show instead of the value as it was written: parts of it may be secret.
    var found: String?

    /// Where in a list it stands, if not where the value begins.
    var position: ConfigurationPosition?

    /// Everything that is wrong with the elements of a list, whose paths go on from the list's: `[0].publish.topic`. They
    /// stand for themselves.
    var inner: [ConfigurationProblem] = []

    init(_ reason: String, found: String? = nil, at position: ConfigurationPosition? = nil) {
        self.reason = reason
        self.found = found
        self.position = position
    }
}

/// How values of one kind are written: reading, writing, and telling people and editors what is allowed.
struct ValueFormat<Value: Sendable>: Sendable {
    /// What may be written, for messages.
    let allowed: String

    /// Whether a message should add an example, because `allowed` is none itself.
    let wantsExample: Bool

    /// The constraints as members of a JSON Schema.
    let constraints: [JSONValue.Member]

    /// The value that a node means; the second argument is the directory to which relative paths belong.
    let read: @Sendable (ConfigurationNode, String?) throws(ValueRefusal) -> Value

    /// The text that means a value, without a unit for numbers that have none.
    let write: @Sendable (Value) -> JSONValue
}

extension ConfigurationNode {
    /// The text of a scalar, or a refusal that names what stands there instead.
    func scalarText() throws(ValueRefusal) -> String {
        switch value {
        case .scalar(let text, _): return text
        case .null: throw ValueRefusal("has no value")
        case .sequence: throw ValueRefusal("is a list where one value is expected")
        case .mapping: throw ValueRefusal("is a mapping where one value is expected")
        }
    }
}

extension ValueFormat<Double> {
    /// A quantity within bounds, which are told and kept in SI units; with `zeroIsOff` also zero.
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
                // Minus zero would be written as such again.
                return value + 0
            },
            write: { .string(dimension.text($0)) })
    }

    /// A quantity of which a chip can do only a few values (in SI units); those in default units are for messages.
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
                // A thousandth forgives rounding in other units and turns it into the chip's value.
                guard let nearest = values.first(where: { abs($0.si - value) < 0.001 * $0.si }) else {
                    throw ValueRefusal("is not a range of the chip")
                }
                return nearest.si
            },
            write: { .string(dimension.text($0)) })
    }
}

extension ValueFormat<Int> {
    /// A whole number within bounds.
    static func integer(_ bounds: ClosedRange<Int>) -> ValueFormat {
        ValueFormat(
            allowed: "\(bounds.lowerBound) … \(bounds.upperBound)", wantsExample: false,
            constraints: [
                .init("type", "integer"), .init("minimum", .number("\(bounds.lowerBound)")),
                .init("maximum", .number("\(bounds.upperBound)")),
            ],
            read: { node, _ throws(ValueRefusal) in
                let text = try node.scalarText()
                // 5.0 and 5e0 are the whole number 5 for JSON, so they are here.
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
    /// One of a few names.
    static func choice(_ values: KeyValuePairs<String, Value>) -> ValueFormat {
        choice(Array(values))
    }

    /// The same of names that are not written down here.
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
