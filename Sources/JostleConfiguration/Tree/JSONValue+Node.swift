// Conversions between trees that were read, which have positions, and values to be written, which have none.
extension JSONValue {
    /// The value of a node that was read from JSON.
    package init(_ node: ConfigurationNode) {
        switch node.value {
        case .null: self = .null
        case .scalar("true", .plain): self = .bool(true)
        case .scalar("false", .plain): self = .bool(false)
        case .scalar(let text, .plain): self = .number(text)
        case .scalar(let text, .quoted): self = .string(text)
        case .sequence(let nodes): self = .array(nodes.map { JSONValue($0) })
        case .mapping(let entries): self = .object(entries.map { Member($0.key, JSONValue($0.node)) })
        }
    }
}

extension JSONValue {
    /// The value of a node that was read from YAML: plain text that is no number in JSON's notation, such as `200 Hz`,
    /// is a string.
    package init(yaml node: ConfigurationNode) {
        switch node.value {
        case .scalar(let text, .plain) where !["true", "false"].contains(text) && !JSONReader.isNumber(text):
            self = .string(text)
        case .sequence(let nodes): self = .array(nodes.map { JSONValue(yaml: $0) })
        case .mapping(let entries): self = .object(entries.map { Member($0.key, JSONValue(yaml: $0.node)) })
        default: self.init(node)
        }
    }
}

extension ConfigurationNode {
    /// The tree of a value, with one position for all nodes.
    package init(of value: JSONValue, at position: ConfigurationPosition) {
        switch value {
        case .null: self.init(.null, at: position)
        case .bool(let value): self.init(.scalar(value ? "true" : "false", .plain), at: position)
        case .number(let text): self.init(.scalar(text, .plain), at: position)
        case .string(let text): self.init(.scalar(text, .quoted), at: position)
        case .array(let values): self.init(.sequence(values.map { Self(of: $0, at: position) }), at: position)
        case .object(let members):
            self.init(
                .mapping(members.map { Entry(key: $0.name, at: position, Self(of: $0.value, at: position)) }),
                at: position)
        }
    }
}
