/// What the keys of a section are fields of: made without arguments it has all defaults.
protocol KeyedSettings: Equatable, Sendable {
    init()
}

extension JostleSettings: KeyedSettings {}

/// A section of the configuration itself; one of a list's elements is a section of theirs.
typealias Section = SectionOf<JostleSettings>

/// A key of the configuration itself.
typealias Setting = SettingOf<JostleSettings>

/// A group of keys that are fields of `Root`.
struct SectionOf<Root: KeyedSettings>: Sendable {
    /// The key within the section around it; empty for the whole.
    let name: String

    /// What the keys are about.
    let summary: String

    /// The keys, in the order in which they are documented.
    let members: [Member]

    /// Those of its keys without which it means nothing.
    let required: [String]

    init(_ name: String, _ summary: String, _ members: [Member], required: [String] = []) {
        self.name = name
        self.summary = summary
        self.members = members
        self.required = required
    }

    /// A key or a group of keys.
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

    /// The member of that name.
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

    /// A group of keys.
    static func group(_ name: String, _ summary: String, _ members: [Self], required: [String] = []) -> Self {
        .section(SectionOf(name, summary, members, required: required))
    }
}
