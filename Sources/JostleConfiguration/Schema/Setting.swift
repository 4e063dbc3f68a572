/// A key of the configuration, with everything needed to read, check, report and document it.
///
/// The type of the value is erased: the closures capture the typed field and format.
struct SettingOf<Root: KeyedSettings>: Sendable {
    /// The key within its section.
    let name: String

    /// Meaning, unit, and what smaller and larger do, in one or two sentences.
    let summary: String

    /// The values allowed, with an example.
    let allowed: String

    /// Whether the key may have no value, which is then also its default.
    let isOptional: Bool

    /// The constraints as members of a JSON Schema.
    let constraints: [JSONValue.Member]

    /// Sets the value of a node; relative paths refer to the directory.
    let read: @Sendable (ConfigurationNode, _ directory: String?, inout Root) throws(ValueRefusal) -> Void

    /// The value in the form in which it is written; null if there is none.
    let write: @Sendable (Root) -> JSONValue

    /// Sets the default.
    let reset: @Sendable (inout Root) -> Void

    /// Gives the second settings the value that the first have.
    let copy: @Sendable (Root, inout Root) -> Void

    /// What a change takes to become effective in a running agent.
    var effect = SettingEffect.live

    /// Whether a change can affect the connection to the broker, because it changes how much is sent.
    var touchesNetwork = false

    /// For a list whose elements may have names: the keys of one element.
    var elements: NamedElements<Root>?

    /// A setting that always has a value.
    init<Value: Sendable>(
        _ name: String, _ field: WritableKeyPath<Root, Value> & Sendable, _ format: ValueFormat<Value>,
        _ summary: String
    ) {
        let example = format.write(Root()[keyPath: field])
        self.name = name
        self.summary = summary
        allowed = format.allowed + (format.wantsExample ? ", for example \(YAMLText.flow(example))" : "")
        isOptional = false
        constraints = format.constraints
        read = { node, directory, settings throws(ValueRefusal) in
            settings[keyPath: field] = try format.read(node, directory)
        }
        write = { format.write($0[keyPath: field]) }
        reset = { $0[keyPath: field] = Root()[keyPath: field] }
        copy = { $1[keyPath: field] = $0[keyPath: field] }
    }

    /// A setting that may have no value.
    init<Value: Sendable>(
        _ name: String, optional field: WritableKeyPath<Root, Value?> & Sendable,
        _ format: ValueFormat<Value>, example: String, _ summary: String
    ) {
        self.name = name
        self.summary = summary
        allowed = format.allowed + (format.wantsExample ? ", for example \(example)" : "")
        isOptional = true
        constraints = format.constraints
        read = { node, directory, settings throws(ValueRefusal) in
            if node.value == .null {
                settings[keyPath: field] = nil
            } else {
                settings[keyPath: field] = try format.read(node, directory)
            }
        }
        write = { $0[keyPath: field].map(format.write) ?? .null }
        reset = { $0[keyPath: field] = Root()[keyPath: field] }
        copy = { $1[keyPath: field] = $0[keyPath: field] }
    }
}

/// The elements of a list that can be addressed by their names: `actions: { lamp: { enabled: false } }`.
struct NamedElements<Root: KeyedSettings>: Sendable {
    /// The keys of the element with a name; `nil` if there is none.
    let section: @Sendable (_ name: String, Root) -> SectionOf<Root>?

    /// Why a name that no element has is refused.
    let unknown: @Sendable (_ name: String, Root) -> (reason: String, allowed: String)

    /// Whether a mapping is about elements by their names, and not a single element in place of a list.
    func matches(_ node: ConfigurationNode) -> [ConfigurationNode.Entry]? {
        guard case .mapping(let entries) = node.value, !entries.isEmpty else { return nil }
        let isByName = entries.allSatisfy { entry in
            switch entry.node.value {
            case .mapping, .null: true
            case .scalar, .sequence: false
            }
        }
        return isByName ? entries : nil
    }
}

/// What a changed setting takes to become effective.
package enum SettingEffect: Comparable, Sendable {
    /// Nothing: the running agent takes it over between two samples.
    case live
    /// The sensor is stopped, configured and started again, which takes some tenths of a second.
    case sensorRestart
    /// A new start of the agent.
    case agentRestart
}
