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
                guard case .sequence(let nodes) = node.value else { return [try element.read(node, directory)] }
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
                let nodes: [ConfigurationNode]
                switch node.value {
                case .sequence(let elements): nodes = elements
                case .mapping: throw ValueRefusal("is a mapping, not a list")
                case .scalar: throw ValueRefusal("is not a list")
                case .null: throw ValueRefusal("has no value")
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
        _ nodes: [ConfigurationNode], _ directory: String?
    ) throws(ValueRefusal) -> [Value] {
        var values: [Value] = []
        for node in nodes {
            do throws(ValueRefusal) {
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
                let nodes: [ConfigurationNode]
                switch node.value {
                case .sequence(let elements): nodes = elements
                case .mapping: throw ValueRefusal("is a mapping, not a list of mappings")
                case .scalar: throw ValueRefusal("is a single value, not a list of mappings")
                case .null: throw ValueRefusal("has no value")
                }
                var elements: [Element] = []
                var problems: [ConfigurationProblem] = []
                for (index, node) in nodes.enumerated() where problems.count < ConfigurationProblem.maximumCount {
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
    fileprivate func problem(in element: ConfigurationNode) -> ConfigurationProblem {
        let place = key.split(separator: ".").reduce(element) { node, name in node[String(name)] ?? node }
        return ConfigurationProblem(at: place.position, path: key, found: place.text, reason, allowed: allowed)
    }
}
