/// One key of the configuration: everything that reading, checking, reporting and documenting it takes.
///
/// Which type the value has is known only inside: the closures are made where field and format are still typed.
struct SettingOf<Root: KeyedSettings>: Sendable {
    /// The key within its section.
    let name: String

    /// Meaning, unit, and what smaller and larger do, in one or two sentences.
    let summary: String

    /// What may be written, with an example.
    let allowed: String

    /// Whether it may be without a value, which is then also its default.
    let isOptional: Bool

    /// The constraints as members of a JSON Schema.
    let constraints: [JSONValue.Member]

    /// Puts the value that a node means into the settings; the directory is the one of relative paths.
    let read: @Sendable (ConfigurationNode, _ directory: String?, inout Root) throws(ValueRefusal) -> Void

    /// The value in the settings as it would be written; null where it has none.
    let write: @Sendable (Root) -> JSONValue

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
    }
}
