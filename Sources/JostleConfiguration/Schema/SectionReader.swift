/// Reads a tree as a section: puts what is right into the section's settings and remembers what is wrong.
///
/// It serves the configuration itself and each element of a list of sections.
struct SectionReader<Root: KeyedSettings> {
    /// The settings, with what was read.
    private(set) var value: Root

    /// Where each key that was read stands.
    private(set) var provenance: Provenance

    /// What was refused, in the order in which it was read.
    private(set) var problems: [ConfigurationProblem]

    /// Where relative paths belong.
    private let directory: String?

    /// All keys, for suggestions.
    private var whole: SectionOf<Root>?

    init(
        _ value: Root = Root(), _ provenance: Provenance = Provenance(), _ problems: [ConfigurationProblem] = [],
        directory: String?
    ) {
        self.value = value
        self.provenance = provenance
        self.problems = problems
        self.directory = directory
    }

    /// Reads a node as the whole section.
    mutating func read(_ node: ConfigurationNode, as section: SectionOf<Root>) {
        whole = section
        read(node, as: section, path: "")
    }

    private mutating func read(_ node: ConfigurationNode, as section: SectionOf<Root>, path: String) {
        switch node.value {
        case .null:
            // All its keys are commented out.
            lookForRequired([], of: section, path: path, at: node.position)
        case .mapping(let entries):
            for entry in entries {
                let inner = path.isEmpty ? entry.key : "\(path).\(entry.key)"
                switch section.member(entry.key) {
                case .section(let section): read(entry.node, as: section, path: inner)
                case .setting(let setting): read(entry.node, as: setting, path: inner)
                // Finding a suggestion takes time: not for what nobody will read.
                case nil where problems.count >= ConfigurationProblem.maximumCount: continue
                case nil: report(unknownKey(entry, in: section, path: inner))
                }
            }
            lookForRequired(entries, of: section, path: path, at: node.position)
        case .scalar, .sequence:
            report(
                ConfigurationProblem(
                    at: node.position, path: path, found: node.text, "is not a mapping of keys to values",
                    allowed: section.members.map { "\($0.name): …" }.joined(separator: ", ")))
        }
    }

    private mutating func read(_ node: ConfigurationNode, as setting: SettingOf<Root>, path: String) {
        do throws(ValueRefusal) {
            try setting.read(node, directory, &value)
            provenance.note(node, at: path)
        } catch {
            guard error.inner.isEmpty else {
                for problem in error.inner { report(problem.below(path)) }
                return
            }
            report(
                ConfigurationProblem(
                    at: error.position ?? node.position, path: path, found: error.found ?? node.text, error.reason,
                    allowed: setting.allowed))
        }
    }

    private mutating func lookForRequired(
        _ entries: [ConfigurationNode.Entry], of section: SectionOf<Root>, path: String,
        at position: ConfigurationPosition
    ) {
        for name in section.required where !entries.contains(where: { $0.key == name }) {
            report(ConfigurationProblem(at: position, path: path, "lacks the key \"\(name)\""))
        }
    }

    private mutating func report(_ problem: ConfigurationProblem) {
        if problems.count < ConfigurationProblem.maximumCount { problems.append(problem) }
    }

    /// A problem that suggests the key of that name further down, or else the nearest key of the section, or else the key
    /// of that name elsewhere.
    private func unknownKey(
        _ entry: ConfigurationNode.Entry, in section: SectionOf<Root>, path: String
    ) -> ConfigurationProblem {
        let names = section.members.map(\.name)
        let namesakes = (whole ?? section).settings().map(\.path).filter { $0.hasSuffix(".\(entry.key)") }
        let below = namesakes.filter { $0.hasPrefix(String(path.dropLast(entry.key.count))) }
        var reason = "unknown key"
        var allowed: String?
        let near = EditDistance.nearest(to: entry.key, among: names)
        if let near, below.isEmpty {
            reason += "; did you mean \"\(near)\"?"
        } else if !namesakes.isEmpty {
            let meant = below.isEmpty ? namesakes : below
            reason += "; did you mean \(meant.map { "\"\($0)\"" }.joined(separator: " or "))?"
        } else {
            allowed = names.joined(separator: ", ")
        }
        return ConfigurationProblem(
            at: entry.keyPosition, path: ConfigurationProblem.escaped(path), reason, allowed: allowed)
    }
}

extension ConfigurationProblem {
    /// How many are remembered: nobody reads more.
    static let maximumCount = 100

    /// The same problem, of an element of the list with this path.
    fileprivate func below(_ path: String) -> ConfigurationProblem {
        var problem = self
        problem.path = path + self.path
        return problem
    }
}

extension Provenance {
    /// Notes where a value stands and, of a list of mappings, where each of their keys does: `actions[0].publish.topic`.
    fileprivate mutating func note(_ node: ConfigurationNode, at path: String) {
        forget(below: path)
        self[path] = node.position
        guard case .sequence(let elements) = node.value else { return }
        for (index, element) in elements.enumerated() { noteKeys(of: element, at: "\(path)[\(index)]") }
    }

    private mutating func noteKeys(of node: ConfigurationNode, at path: String) {
        guard case .mapping(let entries) = node.value else { return }
        self[path] = node.position
        for entry in entries {
            self["\(path).\(entry.key)"] = entry.node.position
            noteKeys(of: entry.node, at: "\(path).\(entry.key)")
        }
    }
}
