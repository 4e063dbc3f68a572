/// A group of keys.
struct Section: Sendable {
    /// The key within the section around it; empty for the whole.
    let name: String

    /// What the keys are about.
    let summary: String

    /// The keys, in the order in which they are documented.
    let members: [Member]

    init(_ name: String, _ summary: String, _ members: [Member]) {
        self.name = name
        self.summary = summary
        self.members = members
    }

    /// A key or a group of keys.
    enum Member: Sendable {
        case setting(Setting)
        case section(Section)

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
    func settings(under path: String = "") -> [(path: String, setting: Setting)] {
        members.flatMap { member in
            let inner = path.isEmpty ? member.name : "\(path).\(member.name)"
            switch member {
            case .setting(let setting): return [(inner, setting)]
            case .section(let section): return section.settings(under: inner)
            }
        }
    }
}

extension Section.Member {
    /// A key that always has a value.
    static func key<Value: Sendable>(
        _ name: String, _ field: WritableKeyPath<JostleSettings, Value> & Sendable, _ format: ValueFormat<Value>,
        _ summary: String
    ) -> Section.Member {
        .setting(Setting(name, field, format, summary))
    }

    /// A key that may have no value.
    static func key<Value: Sendable>(
        _ name: String, optional field: WritableKeyPath<JostleSettings, Value?> & Sendable,
        _ format: ValueFormat<Value>, example: String, _ summary: String
    ) -> Section.Member {
        .setting(Setting(name, optional: field, format, example: example, summary))
    }

    /// A group of keys.
    static func group(_ name: String, _ summary: String, _ members: [Section.Member]) -> Section.Member {
        .section(Section(name, summary, members))
    }
}
