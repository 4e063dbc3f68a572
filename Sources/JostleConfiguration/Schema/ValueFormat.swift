internal import Documents

/// The format of one kind of value: how it is read, written, and described to people and editors.
struct ValueFormat<Value: Sendable>: Sendable {
    /// The values allowed, for messages.
    let allowed: String

    /// Whether a message should add an example, because `allowed` does not contain one.
    let wantsExample: Bool

    /// The constraints as members of a JSON Schema.
    let constraints: [JSONValue.Member]

    /// Reads the value of a node; the second argument is the directory to which relative paths refer.
    let read: @Sendable (JSONValue, String?) throws(ValueRefusal) -> Value

    /// Writes a value; numbers without a unit get none.
    let write: @Sendable (Value) -> JSONValue
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

extension ValueFormat where Value: ContractNamed {
    /// One of the contract names.
    static var named: ValueFormat { choice(Value.allCases.map { ($0.word, $0) }) }
}

extension ValueFormat {
    /// One value, or a list of values; duplicates are dropped.
    static func oneOrMore<Element: Equatable & Sendable>(
        _ element: ValueFormat<Element>
    ) -> ValueFormat where Value == [Element] {
        let one = JSONValue.object(element.constraints)
        return ValueFormat(
            allowed: "\(element.allowed), or a list of them", wantsExample: element.wantsExample,
            constraints: [.init("anyOf", [one, ["type": "array", "minItems": 1, "items": one]])],
            read: { node, directory throws(ValueRefusal) in
                guard let nodes = node.elements else { return [try element.read(node, directory)] }
                guard !nodes.isEmpty else { throw ValueRefusal("is an empty list") }
                return try element.readDistinct(nodes, directory)
            },
            write: { values in
                values.count == 1 ? element.write(values[0]) : .array(values.map(element.write))
            })
    }
}

extension ValueFormat {
    /// A list of names from a fixed set; it may be empty, and duplicates are dropped.
    static func names<Element: Equatable & Sendable>(
        _ pairs: [(key: String, value: Element)]
    ) -> ValueFormat where Value == [Element] {
        anyNumber(of: .choice(pairs))
    }

    /// A list of values; it may be empty, and duplicates are dropped.
    static func anyNumber<Element: Equatable & Sendable>(
        of element: ValueFormat<Element>, atMost maximum: Int? = nil
    ) -> ValueFormat where Value == [Element] {
        let limit = maximum.map { [JSONValue.Member("maxItems", .number("\($0)"))] } ?? []
        return ValueFormat(
            allowed: "a list of \(maximum.map { "at most \($0) " } ?? "")\(element.allowed)", wantsExample: false,
            constraints: [.init("type", "array"), .init("items", .object(element.constraints))] + limit,
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

/// A problem with an element of a list whose values are valid one by one.
struct ElementFault {
    /// The key within the element; empty for the element as a whole.
    var key: String
    var reason: String
    var allowed: String?
}

extension ValueFormat {
    /// A list of mappings with the keys of `section`; `faults` checks an element as a whole.
    ///
    /// All problems of all elements are reported. A list with a problem is refused as a whole.
    static func list<Element: KeyedSettings>(
        of section: SectionOf<Element>, faults: @escaping @Sendable (Element) -> [ElementFault]
    ) -> ValueFormat where Value == [Element] {
        let keys = section.members.map(\.name).joined(separator: ", ")
        return ValueFormat(
            allowed: "a list of mappings with the keys \(keys)", wantsExample: false,
            constraints: [.init("type", "array"), .init("items", ConfigurationSchema.schema(of: section))],
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
                    var reader = SectionReader<Element>(directory: directory)
                    reader.read(node, as: section)
                    elements.append(reader.value)
                    // Faults that merely follow from a refused value are not reported.
                    var found = reader.problems
                    if found.isEmpty { found = faults(reader.value).map { $0.problem(in: node) } }
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

extension ElementFault {
    /// The problem at the position of its key in the element.
    fileprivate func problem(in element: JSONValue) -> DocumentProblem {
        let place = key.split(separator: ".").reduce(element) { node, name in node[String(name)] ?? node }
        return DocumentProblem(at: place.position, path: key, found: place.text, reason, allowed: allowed)
    }
}

extension ValueFormat<String> {
    /// Free text of at most `maximum` bytes on one line.
    static func text(maximum: Int) -> ValueFormat {
        ValueFormat(
            allowed: "text of 1 … \(maximum) bytes on one line", wantsExample: true,
            constraints: [.init("type", "string"), .init("minLength", 1), .init("maxLength", .number("\(maximum)"))],
            read: { node, _ throws(ValueRefusal) in try lineOfText(node, maximum: maximum) },
            write: { .string($0) })
    }

    /// A file's path; a relative one refers to the directory of the configuration file that contains it.
    static var path: ValueFormat {
        ValueFormat(
            allowed: "the path of a file", wantsExample: true,
            constraints: [.init("type", "string"), .init("minLength", 1)],
            read: { node, directory throws(ValueRefusal) in
                resolved(try lineOfText(node, maximum: 4095), in: directory)
            },
            write: { .string($0) })
    }

    /// A file's path like `path`, or `credential:NAME` for a credential that systemd passes to the service
    /// (LoadCredential=).
    static var credentialPath: ValueFormat {
        ValueFormat(
            allowed: "the path of a file, or credential:NAME", wantsExample: true,
            constraints: [.init("type", "string"), .init("minLength", 1)],
            read: { node, directory throws(ValueRefusal) in
                let text = try lineOfText(node, maximum: 4095)
                guard let name = JostleSettings.MQTT.credentialName(text) else { return resolved(text, in: directory) }
                guard !name.isEmpty, !name.contains("/"), name != ".", name != ".." else {
                    throw ValueRefusal("is not the name of a credential")
                }
                return text
            },
            write: { .string($0) })
    }

    /// A name of letters and digits, or the path of a file. Any text with a slash or a dot is a path.
    static var nameOrPath: ValueFormat {
        ValueFormat(
            allowed: "demo, rest, or the path of a recording", wantsExample: true,
            constraints: [.init("type", "string"), .init("minLength", 1)],
            read: { node, directory throws(ValueRefusal) in
                let text = try lineOfText(node, maximum: 4095)
                return text.contains { $0 == "/" || $0 == "." } ? resolved(text, in: directory) : text
            },
            write: { .string($0) })
    }

    /// The version of a Debian package.
    static var packageVersion: ValueFormat {
        ValueFormat(
            allowed: "the version of a package: at most 64 letters, digits and .+~:-, beginning with a digit",
            wantsExample: true,
            constraints: [.init("type", "string"), .init("pattern", "^[0-9][A-Za-z0-9.+~:-]{0,63}$")],
            read: { node, _ throws(ValueRefusal) in
                let text = try node.scalarText()
                guard JostleSettings.Device.isVersion(text) else { throw ValueRefusal("is not a version") }
                return text
            },
            write: { .string($0) })
    }

    /// A device's id: `[A-Za-z0-9][A-Za-z0-9_-]{0,63}`; it fits into topics and cannot look like a fleet topic.
    static var deviceID: ValueFormat {
        ValueFormat(
            allowed: "1 … 64 letters, digits, _ and -, beginning with a letter or digit", wantsExample: true,
            constraints: [.init("type", "string"), .init("pattern", "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")],
            read: { node, _ throws(ValueRefusal) in
                let text = try node.scalarText()
                guard JostleSettings.Device.isID(text) else { throw ValueRefusal("is not a device's id") }
                return text
            },
            write: { .string($0) })
    }

    /// The first part of the topics: non-empty levels separated by slashes, no wildcards, none of the broker's own `$`
    /// topics.
    static var topicPrefix: ValueFormat {
        ValueFormat(
            allowed: "levels separated by /, without +, # and spaces, not beginning with $", wantsExample: true,
            constraints: [.init("type", "string"), .init("pattern", "^(?!\\$)[^/+#\\s]+(/[^/+#\\s]+)*$")],
            read: { node, _ throws(ValueRefusal) in
                let text = try lineOfText(node, maximum: 200)
                guard !text.hasPrefix("$") else {
                    throw ValueRefusal("begins with $, which is reserved for the broker")
                }
                guard !text.contains(where: { $0 == "+" || $0 == "#" || $0.isWhitespace }) else {
                    throw ValueRefusal("has a wildcard or a space")
                }
                guard text.split(separator: "/", omittingEmptySubsequences: false).allSatisfy({ !$0.isEmpty }) else {
                    throw ValueRefusal("has an empty level")
                }
                return text
            },
            write: { .string($0) })
    }

    /// A web page's URL: http or https, a host, no spaces.
    static var webAddress: ValueFormat {
        ValueFormat(
            allowed: "a URL that begins with http:// or https://", wantsExample: true,
            constraints: [.init("type", "string"), .init("pattern", "^https?://[^/\\s]+(/\\S*)?$")],
            read: { node, _ throws(ValueRefusal) in
                let text = try lineOfText(node, maximum: 1024)
                guard let scheme = ["http://", "https://"].first(where: text.hasPrefix) else {
                    throw ValueRefusal("is not a web page's URL: it begins neither with http:// nor with https://")
                }
                let rest = text.dropFirst(scheme.count)
                guard let first = rest.first, first != "/", !text.contains(where: \.isWhitespace) else {
                    throw ValueRefusal("is not a web page's URL: it has no host, or contains a space")
                }
                return text
            },
            write: { .string($0) })
    }

    /// `a, b or c`.
    static func list(_ names: [String], _ conjunction: String = "or") -> String {
        guard let last = names.last, names.count > 1 else { return names.first ?? "" }
        return "\(names.dropLast().joined(separator: ", ")) \(conjunction) \(last)"
    }

    /// The text of a node; refuses empty and too long text and control characters.
    static func lineOfText(_ node: JSONValue, maximum: Int) throws(ValueRefusal) -> String {
        let text = try node.scalarText()
        guard !text.isEmpty else { throw ValueRefusal("is empty") }
        guard text.utf8.count <= maximum else { throw ValueRefusal("is longer than \(maximum) bytes") }
        guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw ValueRefusal("has control characters")
        }
        return text
    }

    private static func resolved(_ path: String, in directory: String?) -> String {
        guard let directory, !directory.isEmpty, !path.hasPrefix("/") else { return path }
        return directory.hasSuffix("/") ? directory + path : "\(directory)/\(path)"
    }
}
