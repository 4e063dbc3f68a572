/// Reads the part of YAML that a configuration needs: one document of mappings, lists and scalars.
///
/// Refuses duplicate keys, anchors, aliases, merge keys, tags, further documents, and anything that exceeds the limits.
package enum YAMLReader {
    /// The tree of `bytes`; an empty text is a null node.
    ///
    /// - Throws: the first problem, with its line and column.
    package static func read(
        _ bytes: [UInt8], source: ConfigurationSource, limits: ReaderLimits = ReaderLimits()
    ) throws(ConfigurationProblem) -> ConfigurationNode {
        let start = ConfigurationPosition(source)
        guard bytes.count <= limits.bytes else {
            throw ConfigurationProblem(at: start, "longer than \(limits.bytes) bytes")
        }
        if let offset = TextPosition.firstMalformed(in: bytes) {
            throw ConfigurationProblem(
                at: TextPosition.position(of: offset, in: bytes, source: source), "not YAML: a byte is not UTF-8")
        }
        var builder = YAMLTreeBuilder(
            events: try YAMLEventSource(bytes, source: source), remainingNodes: limits.nodes, maximumDepth: limits.depth
        )
        return try builder.document(from: start)
    }
}

/// Builds a tree from libyaml's events.
private struct YAMLTreeBuilder: ~Copyable {
    var events: YAMLEventSource
    var remainingNodes: Int
    let maximumDepth: Int

    /// The only document of the stream.
    mutating func document(from start: ConfigurationPosition) throws(ConfigurationProblem) -> ConfigurationNode {
        var root = ConfigurationNode(.null, at: start)
        var hasDocument = false
        while true {
            let event = try events.next()
            switch event.kind {
            case .streamEnd:
                return root
            case .documentStart(let hasTagDirectives):
                guard !hasDocument else {
                    throw ConfigurationProblem(at: event.position, "more than one document")
                }
                guard !hasTagDirectives else {
                    throw ConfigurationProblem(at: event.position, "tags are not supported")
                }
                hasDocument = true
                root = try node(try events.next(), depth: 0)
            default:
                // The start of the stream and the ends of documents carry no content.
                continue
            }
        }
    }

    /// The node that begins with `event`.
    private mutating func node(_ event: YAMLEvent, depth: Int) throws(ConfigurationProblem) -> ConfigurationNode {
        guard remainingNodes > 0 else {
            throw ConfigurationProblem(at: event.position, "too many values")
        }
        remainingNodes -= 1
        guard !event.hasAnchor, event.kind != .alias else {
            throw ConfigurationProblem(at: event.position, "anchors and aliases are not supported; write the value out")
        }
        guard !event.hasTag else { throw ConfigurationProblem(at: event.position, "tags are not supported") }
        switch event.kind {
        case .mappingStart:
            return ConfigurationNode(.mapping(try entries(of: event, depth: depth + 1)), at: event.position)
        case .sequenceStart:
            return ConfigurationNode(.sequence(try elements(of: event, depth: depth + 1)), at: event.position)
        case .scalar(let text, .plain) where YAMLReader.isNull(text):
            return ConfigurationNode(.null, at: event.position)
        case .scalar(let text, let style):
            return ConfigurationNode(.scalar(text, style), at: event.position)
        default:
            throw ConfigurationProblem(at: event.position, "not YAML: a value is missing")
        }
    }

    private mutating func entries(
        of start: YAMLEvent, depth: Int
    ) throws(ConfigurationProblem) -> [ConfigurationNode.Entry] {
        guard depth <= maximumDepth else { throw ConfigurationProblem(at: start.position, "nested too deeply") }
        var entries: [ConfigurationNode.Entry] = []
        var keys: [String: ConfigurationPosition] = [:]
        while true {
            let event = try events.next()
            if event.kind == .mappingEnd { return entries }
            let name = try key(event)
            if let first = keys.updateValue(event.position, forKey: name) {
                throw ConfigurationProblem(
                    at: event.position,
                    "the key \(ConfigurationProblem.quoted(name)) occurs twice, first on line \(first.line)")
            }
            let value = try node(try events.next(), depth: depth)
            entries.append(ConfigurationNode.Entry(key: name, at: event.position, value))
        }
    }

    private mutating func elements(
        of start: YAMLEvent, depth: Int
    ) throws(ConfigurationProblem) -> [ConfigurationNode] {
        guard depth <= maximumDepth else { throw ConfigurationProblem(at: start.position, "nested too deeply") }
        var elements: [ConfigurationNode] = []
        while true {
            let event = try events.next()
            if event.kind == .sequenceEnd { return elements }
            elements.append(try node(event, depth: depth))
        }
    }

    /// The text of a key.
    private func key(_ event: YAMLEvent) throws(ConfigurationProblem) -> String {
        guard !event.hasAnchor, event.kind != .alias else {
            throw ConfigurationProblem(at: event.position, "anchors and aliases are not supported; write the key out")
        }
        guard !event.hasTag else { throw ConfigurationProblem(at: event.position, "tags are not supported") }
        guard case .scalar(let text, let style) = event.kind else {
            throw ConfigurationProblem(at: event.position, "a key must be text, not a list or mapping")
        }
        if style == .plain {
            guard !text.isEmpty else { throw ConfigurationProblem(at: event.position, "a key is missing") }
            guard text != "<<" else { throw ConfigurationProblem(at: event.position, "merge keys are not supported") }
        }
        return text
    }
}

extension YAMLReader {
    /// Whether a plain scalar is null (YAML 1.2.2, 10.3.2).
    static func isNull(_ text: String) -> Bool {
        switch text {
        case "", "~", "null", "Null", "NULL": true
        default: false
        }
    }
}
