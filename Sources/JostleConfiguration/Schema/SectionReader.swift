internal import Documents

/// Reads a tree as a section: sets the valid values and collects the problems.
///
/// Used for the configuration itself and for each element of a list of sections. Several trees can be read one after the
/// other: each overrides those before.
struct SectionReader<Root: KeyedSettings> {
    /// The settings read so far.
    var value = Root()

    /// The position of each key read so far.
    var provenance = Provenance()

    /// The refused values, in the order in which they were read; at most a hundred.
    private(set) var problems: [DocumentProblem] = []

    /// The keys that the last patch set or restored, and the unknown ones that it left out.
    private(set) var patched: [String] = []
    private(set) var ignored: [String] = []

    /// The outermost section, for suggestions.
    private let root: SectionOf<Root>

    /// The directory to which relative paths of the tree refer.
    private var directory: String?

    /// The rules if the tree is a merge patch (RFC 7396), in which `null` restores a key's default.
    private var patch: PatchRules?

    init(_ root: SectionOf<Root>) {
        self.root = root
    }

    /// Reads a tree as the outermost section. The problems of its values go to `problems`.
    mutating func read(_ tree: JSONValue, directory: String? = nil, patch: PatchRules? = nil) {
        self.directory = directory
        self.patch = patch
        patched = []
        ignored = []
        read(tree, as: root, path: "")
    }

    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    private mutating func read(_ node: JSONValue, as section: SectionOf<Root>, path: String) {
        switch node.content {
        case .null where patch != nil:
            for (inner, setting) in section.settings(under: path, in: value) { read(node, as: setting, path: inner) }
        case .null:
            // All keys are commented out.
            lookForRequired([], of: section, path: path, at: node.position)
        case .object(let entries):
            for entry in entries {
                let inner = path.isEmpty ? entry.name : "\(path).\(entry.name)"
                switch section.member(entry.name) {
                case .section(let section): read(entry.value, as: section, path: inner)
                case .table(_, _, let elements): read(entry.value, asTableOf: elements, path: inner)
                case .setting(let setting):
                    if let elements = setting.elements, let named = elements.matches(entry.value) {
                        read(named, of: elements, path: inner)
                    } else {
                        read(entry.value, as: setting, path: inner)
                    }
                // Finding a suggestion takes time, and beyond the limit no problem is reported.
                case nil where problems.count >= DocumentProblem.maximumCount: continue
                case nil where patch?.ignoresUnknownKeys == true && !RemoteKeys.isLocalOnly(inner):
                    ignored.append(DocumentProblem.shortenedPath(inner))
                case nil: report(unknownKey(entry, in: section, path: inner))
                }
            }
            lookForRequired(entries, of: section, path: path, at: node.position)
        case .bool, .number, .string, .array:
            report(
                DocumentProblem(
                    at: node.position, path: path, found: node.text, "is not a mapping of keys to values",
                    allowed: section.members.map { "\($0.name): …" }.joined(separator: ", ")))
        }
    }

    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    private mutating func read(_ node: JSONValue, asTableOf elements: NamedElements<Root>, path: String) {
        if let entries = node.members {
            read(entries, of: elements, path: path)
        } else if !node.isNull {
            report(
                DocumentProblem(
                    at: node.position, path: path, found: node.text, "is not a mapping of names to their keys"))
        } else if patch != nil {
            for name in elements.names(value) {
                if let section = elements.section(name, value) { read(node, as: section, path: "\(path).\(name)") }
            }
        }
    }

    /// Reads the keys of elements of a list or a table by their names.
    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    private mutating func read(
        _ entries: [JSONValue.Member], of elements: NamedElements<Root>, path: String
    ) {
        for entry in entries where problems.count < DocumentProblem.maximumCount {
            let inner = "\(path).\(entry.name)"
            if let section = elements.section(entry.name, value) {
                read(entry.value, as: section, path: inner)
            } else if patch?.ignoresUnknownKeys == true {
                ignored.append(DocumentProblem.shortenedPath(inner))
            } else {
                let (reason, allowed) = elements.unknown(entry.name, value)
                // The path of the value, if there is one: it is what a message set.
                var whole = inner
                if let values = entry.value.members, values.count == 1 { whole += ".\(values[0].name)" }
                report(DocumentProblem(at: entry.position, path: whole, reason, allowed: allowed))
            }
        }
    }

    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    private mutating func read(_ node: JSONValue, as setting: SettingOf<Root>, path: String) {
        if let patch {
            guard patch.keys.allows(path) else { return report(patch.keys.refusal(path, at: node.position)) }
            patched.append(path)
            if node.isNull {
                setting.reset(&value)
                provenance.forget(path)
                return
            }
        }
        do {
            try setting.read(node, directory, &value)
            provenance.note(node, at: path)
        } catch {
            guard error.inner.isEmpty else {
                for problem in error.inner { report(problem.below(path)) }
                return
            }
            report(
                DocumentProblem(
                    at: error.position ?? node.position, path: path, found: error.found ?? node.text, error.reason,
                    allowed: setting.allowed))
        }
    }

    private mutating func lookForRequired(
        _ entries: [JSONValue.Member], of section: SectionOf<Root>, path: String,
        at position: DocumentPosition
    ) {
        for name in section.required where !entries.contains(where: { $0.name == name }) {
            report(DocumentProblem(at: position, path: path, "has no key \"\(name)\""))
        }
    }

    /// Adds a problem, up to the limit.
    mutating func report(_ problem: DocumentProblem) {
        if problems.count < DocumentProblem.maximumCount { problems.append(problem) }
    }

    /// A problem that suggests the key of this name further down, else the nearest key of the section, else the key of
    /// this name elsewhere.
    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    private func unknownKey(
        _ entry: JSONValue.Member, in section: SectionOf<Root>, path: String
    ) -> DocumentProblem {
        let names = section.members.map(\.name)
        let namesakes = root.settings().map(\.path).filter { $0.hasSuffix(".\(entry.name)") }
        let below = namesakes.filter { $0.hasPrefix(String(path.dropLast(entry.name.count))) }
        var reason = "unknown key"
        var allowed: String?
        let near = EditDistance.nearest(to: entry.name, among: names)
        if let near, below.isEmpty {
            reason += "; did you mean \"\(near)\"?"
        } else if !namesakes.isEmpty {
            let suggestions = below.isEmpty ? namesakes : below
            reason += "; did you mean \(suggestions.map { "\"\($0)\"" }.joined(separator: " or "))?"
        } else {
            allowed = names.joined(separator: ", ")
        }
        return DocumentProblem(at: entry.position, path: path, reason, allowed: allowed)
    }
}

/// What a merge patch may change.
struct PatchRules {
    var keys: RemoteKeys
    /// Whether keys that the program does not know are left out instead of refused.
    var ignoresUnknownKeys: Bool
}

extension DocumentProblem {
    /// The most problems that are reported.
    static let maximumCount = 100

    /// The same problem with the path of the enclosing list in front.
    fileprivate func below(_ path: String) -> DocumentProblem {
        var problem = self
        problem.path = path + self.path
        return problem
    }
}
