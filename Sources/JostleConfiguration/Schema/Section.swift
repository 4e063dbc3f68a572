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
