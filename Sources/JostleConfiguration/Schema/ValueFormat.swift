internal import Documents

/// The format of one kind of value: how it is read, written, and described to people and editors.
///
/// A class, so that a table of keys passes pointers on: as a structure it is nine words, with code to copy them for each key.
final class ValueFormat<Value: Sendable>: Sendable {
    /// The values allowed, for messages. They and the constraints are made when somebody asks: most keys are only read.
    var allowed: String { makeAllowed() }

    /// Whether a message should add an example, because `allowed` does not contain one.
    let wantsExample: Bool

    /// The constraints as members of a JSON Schema.
    var constraints: [JSONValue.Member] { makeConstraints() }

    private let makeAllowed: @Sendable () -> String
    private let makeConstraints: @Sendable () -> [JSONValue.Member]

    /// Reads the value of a node; the second argument is the directory to which relative paths refer.
    let read: @Sendable (JSONValue, String?) throws(ValueRefusal) -> Value

    /// Writes a value; numbers without a unit get none.
    let write: @Sendable (Value) -> JSONValue

    init(
        _ allowed: @autoclosure @escaping @Sendable () -> String, wantsExample: Bool = false,
        _ constraints: @autoclosure @escaping @Sendable () -> [JSONValue.Member],
        read: @escaping @Sendable (JSONValue, String?) throws(ValueRefusal) -> Value,
        write: @escaping @Sendable (Value) -> JSONValue
    ) {
        makeAllowed = allowed
        self.wantsExample = wantsExample
        makeConstraints = constraints
        self.read = read
        self.write = write
    }

    /// The same format for a key that may have no value, which is null.
    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    var optional: ValueFormat<Value?> {
        ValueFormat<Value?>(
            self.allowed, wantsExample: wantsExample, self.constraints,
            read: { [read] node, directory throws(ValueRefusal) in
                node.isNull ? nil : try read(node, directory)
            },
            write: { [write] in $0.map(write) ?? .null })
    }
}

extension JSONValue {
    /// The text of a scalar; any other node is refused.
    func scalarText() throws(ValueRefusal) -> String {
        switch content {
        case .null: throw ValueRefusal("has no value")
        case .array: throw ValueRefusal("is a list, not a single value")
        case .object: throw ValueRefusal("is a mapping, not a single value")
        case .bool, .number, .string: return text ?? ""
        }
    }

    /// The text of a scalar; refuses empty and too long text and control characters.
    func lineOfText(_ maximum: Int) throws(ValueRefusal) -> String {
        let text = try scalarText()
        guard !text.isEmpty else { throw ValueRefusal("is empty") }
        guard text.utf8.count <= maximum else { throw ValueRefusal("is longer than \(maximum) bytes") }
        guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw ValueRefusal("has control characters")
        }
        return text
    }
}

extension UInt8 {
    /// The byte from decimal or, after `0x`, hexadecimal digits; `nil` if the text is malformed.
    package init?(decimalOrHexadecimal text: String) {
        let isHexadecimal = text.hasPrefix("0x") || text.hasPrefix("0X")
        let digits = isHexadecimal ? text.dropFirst(2) : text[...]
        // UInt8(_:radix:) would accept a sign.
        guard digits.allSatisfy(\.isHexDigit) else { return nil }
        self.init(digits, radix: isHexadecimal ? 16 : 10)
    }
}

extension [String] {
    /// `a, b or c`.
    func listed(_ conjunction: String = "or") -> String {
        guard let last, count > 1 else { return first ?? "" }
        return "\(dropLast().joined(separator: ", ")) \(conjunction) \(last)"
    }
}

extension ValueFormat<Double> {
    /// A quantity within bounds, which are in SI units; with `zeroIsOff`, zero is allowed as well.
    static func quantity(
        _ dimension: Dimension, _ bounds: ClosedRange<Double>, zeroIsOff: Bool = false
    ) -> ValueFormat {
        ValueFormat(
            (zeroIsOff ? "0 (off) or " : "")
                + "\(dimension.text(bounds.lowerBound)) … \(dimension.text(bounds.upperBound))",
            wantsExample: true,
            [.init("anyOf", .array((zeroIsOff ? [["const": 0]] : []) + alternatives(dimension, bounds)))],
            read: { node, _ throws(ValueRefusal) in
                let value = try dimension.read(try node.scalarText())
                if zeroIsOff && value == 0 { return 0 }
                guard bounds.contains(value) else { throw ValueRefusal("is out of bounds") }
                // Turns minus zero, which would be written as -0, into zero.
                return value + 0
            },
            write: { .string(dimension.text($0)) })
    }

    private static func alternatives(_ dimension: Dimension, _ bounds: ClosedRange<Double>) -> [JSONValue] {
        let unit = dimension.defaultUnit
        return [
            [
                "type": "number", "minimum": .number(NumberText.rounded(unit.count(bounds.lowerBound))),
                "maximum": .number(NumberText.rounded(unit.count(bounds.upperBound))),
            ], ["type": "string", "pattern": .string(dimension.pattern)],
        ]
    }

    /// A quantity for which a chip supports only a few values, in SI units; the counts in default units are for
    /// messages.
    static func oneOf(_ values: [(count: Double, si: Double)], _ dimension: Dimension) -> ValueFormat {
        ValueFormat(
            values.map { "\(NumberText.rounded($0.count)) \(dimension.defaultUnit.symbol)" }.listed(),
            [
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
            "\(bounds.lowerBound) … \(bounds.upperBound)",
            [
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
            "true or false", [.init("type", "boolean")],
            read: { node, _ throws(ValueRefusal) in
                if let value = node.bool { return value }
                throw ValueRefusal(
                    ["true", "false"].contains(try node.scalarText())
                        ? "is text because of its quotes" : "is neither true nor false")
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
    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    static func choice(_ pairs: [(key: String, value: Value)]) -> ValueFormat {
        ValueFormat(
            pairs.map { $0.key }.listed(),
            [.init("enum", .array(pairs.map { .string($0.key) }))],
            read: { node, _ throws(ValueRefusal) in
                let text = try node.scalarText()
                let names = pairs.map { $0.key }
                guard let index = names.firstIndex(of: text) else {
                    if let near = EditDistance.nearest(to: text, among: names) {
                        throw ValueRefusal("is unknown; did you mean \"\(near)\"?")
                    }
                    throw ValueRefusal("is unknown")
                }
                return pairs[index].value
            },
            write: { value in pairs.first { $0.value == value }.map { .string($0.key) } ?? .null })
    }
}

extension ValueFormat where Value: ContractNamed {
    /// One of the contract names.
    static var named: ValueFormat { choice(Value.allCases.map { ($0.word, $0) }) }
}

extension ValueFormat {
    /// One value, or a list of values; duplicates are dropped.
    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    static func oneOrMore<Element: Equatable & Sendable>(
        _ element: ValueFormat<Element>
    ) -> ValueFormat where Value == [Element] {
        ValueFormat(
            "\(element.allowed), or a list of them", wantsExample: element.wantsExample,
            [
                .init(
                    "anyOf",
                    [
                        .object(element.constraints),
                        ["type": "array", "minItems": 1, "items": .object(element.constraints)],
                    ])
            ],
            read: { node, directory throws(ValueRefusal) in
                guard let nodes = node.elements else { return [try element.read(node, directory)] }
                guard !nodes.isEmpty else { throw ValueRefusal("is an empty list") }
                return try element.readDistinct(nodes, directory)
            },
            write: { values in
                values.count == 1 ? element.write(values[0]) : .array(values.map(element.write))
            })
    }

    /// A list of values; it may be empty, and duplicates are dropped.
    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    static func anyNumber<Element: Equatable & Sendable>(
        of element: ValueFormat<Element>, atMost maximum: Int? = nil
    ) -> ValueFormat where Value == [Element] {
        ValueFormat(
            "a list of \(maximum.map { "at most \($0) " } ?? "")\(element.allowed)",
            [.init("type", "array"), .init("items", .object(element.constraints))]
                + (maximum.map { [.init("maxItems", .number("\($0)"))] } ?? []),
            read: { node, directory throws(ValueRefusal) in
                let nodes: [JSONValue]
                switch node.content {
                case .array(let elements): nodes = elements
                case .object: throw ValueRefusal("is a mapping, not a list")
                case .null: throw ValueRefusal("has no value")
                case .bool, .number, .string: throw ValueRefusal("is not a list")
                }
                if let maximum, nodes.count > maximum { throw ValueRefusal("has more than \(maximum) elements") }
                return try element.readDistinct(nodes, directory)
            },
            write: { .array($0.map(element.write)) })
    }
}

extension ValueFormat where Value: Equatable {
    /// The distinct values of a list's elements, in order; a refusal contains the element's position.
    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    fileprivate func readDistinct(
        _ nodes: [JSONValue], _ directory: String?
    ) throws(ValueRefusal) -> [Value] {
        var values: [Value] = []
        for node in nodes {
            do {
                let value = try read(node, directory)
                if !values.contains(value) { values.append(value) }
            } catch {
                throw ValueRefusal(error.reason, found: error.found ?? node.text, at: error.position ?? node.position)
            }
        }
        return values
    }
}

/// Adds a problem with an element of a list whose values are valid one by one: the key within the element, empty for the
/// element as a whole, the reason, and what is allowed.
typealias AddFault = (_ key: String, _ reason: String, _ allowed: String?) -> Void

extension ValueFormat {
    /// A list of mappings with the keys of `section`; `faults` checks an element as a whole.
    ///
    /// All problems of all elements are reported. A list with a problem is refused as a whole.
    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    static func list<Element: KeyedSettings>(
        of section: SectionOf<Element>, faults: @escaping @Sendable (Element, AddFault) -> Void
    ) -> ValueFormat where Value == [Element] {
        ValueFormat(
            "a list of mappings with the keys \(section.members.map(\.name).joined(separator: ", "))",
            [.init("type", "array"), .init("items", ConfigurationSchema.schema(of: section))],
            read: { node, directory throws(ValueRefusal) in
                let nodes: [JSONValue]
                switch node.content {
                case .array(let elements): nodes = elements
                case .object: throw ValueRefusal("is a mapping, not a list of mappings")
                case .null: throw ValueRefusal("has no value")
                case .bool, .number, .string: throw ValueRefusal("is a single value, not a list of mappings")
                }
                var elements: [Element] = []
                var problems: [DocumentProblem] = []
                for (index, node) in nodes.enumerated() where problems.count < DocumentProblem.maximumCount {
                    var reader = SectionReader(section)
                    reader.read(node, directory: directory)
                    elements.append(reader.value)
                    // Faults that merely follow from a refused value are not reported.
                    var found = reader.problems
                    if found.isEmpty {
                        faults(reader.value) { key, reason, allowed in
                            let place = key.split(separator: ".").reduce(node) { node, name in
                                node[String(name)] ?? node
                            }
                            found.append(
                                DocumentProblem(
                                    at: place.position, path: key, found: place.text, reason, allowed: allowed))
                        }
                    }
                    problems += found.map { problem in
                        var problem = problem
                        problem.path = "[\(index)]" + (problem.path.isEmpty ? "" : ".\(problem.path)")
                        return problem
                    }
                }
                guard problems.isEmpty else {
                    var refusal = ValueRefusal("has invalid elements")
                    refusal.inner = problems
                    throw refusal
                }
                return elements
            },
            write: { .array($0.map { .object(ConfigurationSchema.deviations(of: section, $0)) }) })
    }
}

extension [JSONValue.Member] {
    /// The constraints of a text that matches a regular expression (ECMA 262).
    static func matching(_ pattern: String) -> Self { [.init("type", "string"), .init("pattern", .string(pattern))] }

    /// The constraints of a text that is not empty.
    static var nonEmptyText: Self { [.init("type", "string"), .init("minLength", 1)] }
}

extension ValueFormat {
    /// A value that is written as text. With a `maximum` of bytes, an empty or longer text, and one with control
    /// characters, is refused before it is parsed.
    static func parsed(
        _ allowed: @autoclosure @escaping @Sendable () -> String, wantsExample: Bool = false,
        _ constraints: @autoclosure @escaping @Sendable () -> [JSONValue.Member], maximum: Int? = nil,
        write: @escaping @Sendable (Value) -> String,
        parse: @escaping @Sendable (String) throws(ValueRefusal) -> Value
    ) -> ValueFormat {
        ValueFormat(
            allowed(), wantsExample: wantsExample, constraints(),
            read: { node, _ throws(ValueRefusal) in
                let text = if let maximum { try node.lineOfText(maximum) } else { try node.scalarText() }
                return try parse(text)
            },
            write: { .string(write($0)) })
    }
}

extension ValueFormat<String> {
    /// The same for a text that is the value itself if it passes a check.
    static func checked(
        _ allowed: @autoclosure @escaping @Sendable () -> String,
        _ constraints: @autoclosure @escaping @Sendable () -> [JSONValue.Member], maximum: Int? = nil,
        check: @escaping @Sendable (String) throws(ValueRefusal) -> Void
    ) -> ValueFormat {
        parsed(allowed(), wantsExample: true, constraints(), maximum: maximum, write: { $0 }) {
            text throws(ValueRefusal) in
            try check(text)
            return text
        }
    }

    /// Free text of at most `maximum` bytes on one line.
    static func text(maximum: Int) -> ValueFormat {
        checked(
            "text of 1 … \(maximum) bytes on one line",
            .nonEmptyText + [.init("maxLength", .number("\(maximum)"))], maximum: maximum
        ) { _ throws(ValueRefusal) in }
    }

    /// A file's path; a relative one refers to the directory of the configuration file that contains it. A text that
    /// `isName` is left as it is.
    private static func path(
        _ allowed: String, unless isName: @escaping @Sendable (String) throws(ValueRefusal) -> Bool
    ) -> ValueFormat {
        ValueFormat(
            allowed, wantsExample: true, .nonEmptyText,
            read: { node, directory throws(ValueRefusal) in
                let text = try node.lineOfText(4095)
                guard try !isName(text), let directory, !directory.isEmpty, !text.hasPrefix("/") else { return text }
                return directory.hasSuffix("/") ? directory + text : "\(directory)/\(text)"
            },
            write: { .string($0) })
    }

    /// A file's path.
    static var path: ValueFormat { path("the path of a file") { _ throws(ValueRefusal) in false } }

    /// A file's path, or `credential:NAME` for a credential that systemd passes to the service (LoadCredential=).
    static var credentialPath: ValueFormat {
        path("the path of a file, or credential:NAME") { text throws(ValueRefusal) in
            guard let name = JostleSettings.MQTT.credentialName(text) else { return false }
            guard !name.isEmpty, !name.contains("/"), name != ".", name != ".." else {
                throw ValueRefusal("is not the name of a credential")
            }
            return true
        }
    }

    /// A name of letters and digits, or the path of a file. Any text with a slash or a dot is a path.
    static var nameOrPath: ValueFormat {
        path("demo, rest, or the path of a recording") { text throws(ValueRefusal) in
            !text.contains { $0 == "/" || $0 == "." }
        }
    }
}
