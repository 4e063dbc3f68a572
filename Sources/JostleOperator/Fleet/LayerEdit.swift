package import Documents
internal import JostleConfiguration
package import JostleMessages
internal import LinuxSystem

/// A change of a layer's configuration: what `jostle fleet set` and `unset` do.
package struct LayerEdit: Equatable, Sendable {
    /// A change of one key.
    package enum Change: Equatable, Sendable {
        /// Sets a key, or a section if the value is an object. Null takes the value of lower layers away.
        case set(path: [String], JSONValue)
        /// Removes a key or a section from the layer.
        case unset(path: [String])
    }

    package var changes: [Change]

    /// Whether keys that devices do not know are left out; `nil` keeps the document's setting.
    package var ignoresUnknownKeys: Bool?

    package init(_ changes: [Change], ignoresUnknownKeys: Bool? = nil) {
        self.changes = changes
        self.ignoresUnknownKeys = ignoresUnknownKeys
    }

    /// Parses `KEY=VALUE`; a value that begins with a bracket, brace or quote is YAML, any other is plain text.
    ///
    /// - Throws: if it has no value, or a key that is none.
    package static func set(_ argument: String) throws(DocumentProblem) -> Change {
        guard let separator = argument.firstIndex(of: "=") else {
            throw DocumentProblem(
                at: DocumentPosition(.layer(ForeignText.excerpt(argument))),
                "has no value; write KEY=VALUE")
        }
        let key = String(argument[..<separator])
        let path = try path(key)
        let position = DocumentPosition(.layer(ForeignText.excerpt(key)))
        let node = try Override.value(String(argument[argument.index(after: separator)...]), at: position)
        return .set(path: path, node)
    }

    /// Parses the key of `unset`.
    ///
    /// - Throws: if it is none.
    package static func unset(_ key: String) throws(DocumentProblem) -> Change { .unset(path: try path(key)) }

    private static func path(_ key: String) throws(DocumentProblem) -> [String] {
        let path = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard path.count <= Override.deepestPath, path.allSatisfy({ !$0.isEmpty }) else {
            throw DocumentProblem(
                at: DocumentPosition(.layer(ForeignText.excerpt(key))), "is not a key; write section.key")
        }
        return path
    }

    /// The changed configuration of a layer, `{}` for one that does not exist yet.
    ///
    /// - Throws: if a key lies below another key's value.
    package func applied(to config: JSONValue) throws(DocumentProblem) -> JSONValue {
        var config = config
        for change in changes {
            switch change {
            case .set(let path, let value): config = try LayerEdit.setting(path[...], to: value, in: config, path)
            case .unset(let path): config = LayerEdit.removing(path[...], from: config)
            }
        }
        return config
    }

    private static func setting(
        _ rest: ArraySlice<String>, to value: JSONValue, in config: JSONValue, _ path: [String]
    ) throws(DocumentProblem) -> JSONValue {
        guard let name = rest.first else { return value }
        guard var members = config.members else {
            let above = path.dropLast(rest.count).joined(separator: ".")
            throw DocumentProblem(
                at: DocumentPosition(.layer(path.joined(separator: "."))),
                "cannot be set: the layer sets \(above) to \(config.compactText); unset \(above) first")
        }
        if let index = members.firstIndex(where: { $0.name == name }) {
            members[index].value = try setting(rest.dropFirst(), to: value, in: members[index].value, path)
        } else {
            members.append(.init(name, try setting(rest.dropFirst(), to: value, in: .object([]), path)))
        }
        return .object(members)
    }

    /// Removes a key, and the sections that become empty.
    private static func removing(_ rest: ArraySlice<String>, from config: JSONValue) -> JSONValue {
        guard var members = config.members, let name = rest.first,
            let index = members.firstIndex(where: { $0.name == name })
        else { return config }
        if rest.count == 1 {
            members.remove(at: index)
        } else {
            let inner = removing(rest.dropFirst(), from: members[index].value)
            if inner == .object([]), inner != members[index].value {
                members.remove(at: index)
            } else {
                members[index].value = inner
            }
        }
        return .object(members)
    }

    /// The draft of the changed document; a candidate stays as it is. `nil` if the change alters nothing, unless the
    /// document has to be published again (`repeats`).
    ///
    /// - Throws: if the change cannot be made.
    package func draft(changing document: LayerDocument?, repeats: Bool = false) throws(DocumentProblem)
        -> DocumentDraft?
    {
        let old = document?.config ?? .object([])
        let new = try applied(to: old)
        let ignores = ignoresUnknownKeys ?? document?.ignoresUnknownKeys ?? false
        if let document, !repeats, ignores == document.ignoresUnknownKeys, LayerEdit.isEqual(new, old) { return nil }
        if document == nil, new == .object([]) { return nil }
        return DocumentDraft(config: new, candidate: document?.candidate?.json, ignoresUnknownKeys: ignores)
    }

    /// Whether two configurations are the same, whatever the order of their keys and the notation of their numbers.
    package static func isEqual(_ one: JSONValue, _ other: JSONValue) -> Bool {
        one == other || one.text(.canonical) == other.text(.canonical)
    }
}

extension LayerDocument.Candidate {
    /// The candidate as a member of a document.
    var json: JSONValue {
        ["config": config, "percent": .number(percent), "seed": .string(seed)]
    }
}

extension StoredDocument {
    /// What it says, a candidate included; `nil` if it cannot be used.
    package var draft: DocumentDraft? {
        switch content {
        case .layer(let layer):
            DocumentDraft(
                config: layer.config, candidate: layer.candidate?.json, ignoresUnknownKeys: layer.ignoresUnknownKeys)
        case .registry(let document): DocumentDraft(groups: document.groups)
        case .unreadable, .untrusted: nil
        }
    }

    /// Whether it says what a draft says, whoever published it, when and why.
    package func hasContent(of draft: DocumentDraft) -> Bool {
        self.draft.map { LayerEdit.isEqual(.object($0.content), .object(draft.content)) } ?? false
    }
}
