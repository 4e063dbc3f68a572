internal import Documents
package import JostleMessages

/// A document to be published.
package struct FleetChange: Equatable, Sendable {
    package let document: FleetDocumentID
    package let draft: DocumentDraft
    /// The revision that it gets.
    package let revision: RevisionPlan
    /// Why `apply` publishes it; empty for other commands.
    package let reason: String

    package init(_ document: FleetDocumentID, _ draft: DocumentDraft, _ revision: RevisionPlan, reason: String = "") {
        self.document = document
        self.draft = draft
        self.revision = revision
        self.reason = reason
    }
}

/// What `jostle fleet apply` publishes to make the broker hold what the files of a directory say.
package struct ApplyPlan: Equatable, Sendable {
    /// The documents to be published, lowest layer first, and why: `new`, `changed`, `lost by the broker`, `held in two
    /// versions`, `older at another broker`, `older than this machine has seen`, `not signed by a trusted key`, `in a new
    /// epoch`, `not in the directory`.
    package private(set) var items: [FleetChange] = []

    /// The documents that the broker holds already.
    package private(set) var unchanged: [FleetDocumentID] = []

    /// The documents that the broker holds, or devices have, and that are not in the directory.
    package private(set) var extra: [FleetDocumentID] = []

    /// The layers whose candidate stays as it is.
    package private(set) var candidates: [FleetDocumentID] = []

    private let beginsEpoch: Bool

    /// Plans the publications; with `prunes`, documents that are not in the directory are emptied. With `newEpoch` all
    /// documents are published, in a new epoch. Without `ignoresUnknownKeys`, the documents at the broker say what devices
    /// do with keys that they do not know.
    package init(
        _ directory: FleetDirectory, _ model: FleetModel, prunes: Bool = false, newEpoch: Bool = false,
        ignoresUnknownKeys: Bool? = nil
    ) {
        beginsEpoch = newEpoch
        for (id, config) in directory.layers.sorted(by: { $0.key < $1.key }) {
            plan(id, config, model, ignoresUnknownKeys)
        }
        for (device, groups) in directory.registry.sorted(by: { $0.key < $1.key }) {
            plan(.registry(device), groups, model)
        }
        let wanted = Set(directory.layers.keys).union(directory.registry.keys.map { .registry($0) })
        extra = ApplyPlan.known(in: model).subtracting(wanted).sorted()
        guard prunes else { return }
        for id in extra {
            let isRegistry = if case .registry = id { true } else { false }
            let draft = isRegistry ? DocumentDraft(groups: []) : DocumentDraft(config: .object([]))
            let revision = RevisionPlan(for: id, in: model, newEpoch: newEpoch)
            items.append(FleetChange(id, draft, revision, reason: "not in the directory"))
        }
    }

    private mutating func plan(_ id: FleetDocumentID, _ config: JSONValue, _ model: FleetModel, _ wanted: Bool?) {
        let stored = model.documents[id]
        let revision = RevisionPlan(for: id, in: model, newEpoch: beginsEpoch)
        let ignores = wanted ?? stored?.layer?.ignoresUnknownKeys ?? false
        let isEqual = stored?.layer.map {
            $0.ignoresUnknownKeys == ignores && LayerEdit.isEqual($0.config, config)
        }
        if stored?.rollout != nil { candidates.append(id) }
        if revision.isUpToDate {
            if isEqual == true { return unchanged.append(id) }
            if stored == nil, config == .object([]) { return }
        }
        let draft = DocumentDraft(
            config: config, candidate: stored?.layer?.candidate?.json, ignoresUnknownKeys: ignores)
        add(id, draft, revision, stored, isEqual: isEqual)
    }

    private mutating func plan(_ id: FleetDocumentID, _ groups: [String], _ model: FleetModel) {
        let stored = model.documents[id]
        let revision = RevisionPlan(for: id, in: model, newEpoch: beginsEpoch)
        let isEqual = stored?.registry.map { $0.groups == groups }
        if isEqual == true, revision.isUpToDate { return unchanged.append(id) }
        add(id, DocumentDraft(groups: groups), revision, stored, isEqual: isEqual)
    }

    private mutating func add(
        _ id: FleetDocumentID, _ draft: DocumentDraft, _ revision: RevisionPlan, _ stored: StoredDocument?,
        isEqual: Bool?
    ) {
        let reason =
            if stored?.isUntrusted == true {
                "not signed by a trusted key"
            } else if revision.lost != nil {
                "lost by the broker"
            } else if stored == nil {
                "new"
            } else if isEqual == nil {
                "unreadable on the broker"
            } else if isEqual == true {
                revision.beginsEpoch
                    ? "in a new epoch" : revision.repetition?.rawValue ?? "older than this machine has seen"
            } else {
                "changed"
            }
        items.append(FleetChange(id, draft, revision, reason: reason))
    }

    /// The documents that say anything: on the broker, or lost by it.
    private static func known(in model: FleetModel) -> Set<FleetDocumentID> {
        var known: Set<FleetDocumentID> = []
        for (id, stored) in model.documents {
            switch stored.content {
            case .layer(let layer):
                if layer.config != .object([]) || layer.candidate != nil { known.insert(id) }
            case .registry(let document): if !document.groups.isEmpty { known.insert(id) }
            case .unreadable, .untrusted: known.insert(id)
            }
        }
        var claimed: Set<FleetDocumentID> = []
        for board in model.boards.values {
            // Of a layer that the device does not read any more, it has nothing in force.
            for (id, layer) in board.statuses where layer.status != .none { claimed.insert(id) }
        }
        return known.union(claimed.subtracting(known).filter { RevisionPlan(for: $0, in: model).lost != nil })
    }
}
