internal import Documents

/// A type whose fields are set by the keys of a section; `init()` gives the defaults.
protocol KeyedSettings: Equatable, Sendable {
    init()
}

extension JostleSettings: KeyedSettings {}

/// A section of the configuration itself, as opposed to the elements of a list.
typealias Section = SectionOf<JostleSettings>

/// A key of the configuration itself.
typealias Setting = SettingOf<JostleSettings>

/// A section: a group of keys that set fields of `Root`.
struct SectionOf<Root: KeyedSettings>: Sendable {
    /// The key within the enclosing section; empty for the root.
    let name: String

    /// A description of the section.
    let summary: String

    /// The keys, in the order of the documentation.
    let members: [Member]

    /// The keys that must be present.
    let required: [String]

    init(_ name: String, _ summary: String, _ members: [Member], required: [String] = []) {
        self.name = name
        self.summary = summary
        self.members = members
        self.required = required
    }

    /// A key or a section.
    enum Member: Sendable {
        case setting(SettingOf<Root>)
        case section(SectionOf<Root>)

        var name: String {
            switch self {
            case .setting(let setting): setting.name
            case .section(let section): section.name
            }
        }
    }

    /// The member with this name.
    func member(_ name: String) -> Member? { members.first { $0.name == name } }

    /// All settings below this section with their paths, in order.
    func settings(under path: String = "") -> [(path: String, setting: SettingOf<Root>)] {
        members.flatMap { member in
            let inner = path.isEmpty ? member.name : "\(path).\(member.name)"
            switch member {
            case .setting(let setting): return [(inner, setting)]
            case .section(let section): return section.settings(under: inner)
            }
        }
    }
}

extension SectionOf.Member {
    /// A key that always has a value.
    static func key<Value: Sendable>(
        _ name: String, _ field: WritableKeyPath<Root, Value> & Sendable, _ format: ValueFormat<Value>,
        _ summary: String
    ) -> Self {
        .setting(SettingOf(name, field, format, summary))
    }

    /// A key that may have no value.
    static func key<Value: Sendable>(
        _ name: String, optional field: WritableKeyPath<Root, Value?> & Sendable,
        _ format: ValueFormat<Value>, example: String, _ summary: String
    ) -> Self {
        .setting(SettingOf(name, optional: field, format, example: example, summary))
    }

    /// The same key, whose change needs the sensor to be restarted.
    var restartingSensor: Self { changed { $0.effect = .sensorRestart } }

    /// The same key, whose change can affect the connection to the broker.
    var touchingNetwork: Self { changed { $0.touchesNetwork = true } }

    /// The same keys, whose changes need a new start of the agent.
    var restartingAgent: Self { changed { $0.effect = max($0.effect, .agentRestart) } }

    /// The same key, a list, whose elements have keys of their own by their names.
    func withElements(
        _ section: @escaping @Sendable (_ name: String, Root) -> SectionOf<Root>?,
        _ unknown: @escaping @Sendable (_ name: String, Root) -> (reason: String, allowed: String)
    ) -> Self {
        changed { $0.elements = NamedElements(section: section, unknown: unknown) }
    }

    private func changed(_ change: (inout SettingOf<Root>) -> Void) -> Self {
        switch self {
        case .setting(var setting):
            change(&setting)
            return .setting(setting)
        case .section(let section):
            return .section(
                SectionOf(
                    section.name, section.summary, section.members.map { $0.changed(change) },
                    required: section.required))
        }
    }

    /// A nested section.
    static func group(_ name: String, _ summary: String, _ members: [Self], required: [String] = []) -> Self {
        .section(SectionOf(name, summary, members, required: required))
    }
}

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
    let read: @Sendable (JSONValue, _ directory: String?, inout Root) throws(ValueRefusal) -> Void

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
            if node.isNull {
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
    func matches(_ node: JSONValue) -> [JSONValue.Member]? {
        guard let entries = node.members, !entries.isEmpty else { return nil }
        let isByName = entries.allSatisfy { entry in
            entry.value.isNull || entry.value.members != nil
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
