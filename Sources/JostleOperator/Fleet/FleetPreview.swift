package import Documents
internal import JostleConfiguration
internal import JostleMessages

/// What proposed documents would change, device by device: from the reports of the devices and from the documents that
/// the broker holds.
package struct FleetPreview: Sendable {
    /// A value that would change.
    package struct Change: Hashable, Sendable {
        package var key: String
        /// The values as a device writes them; `nil` if they are not known: the device then falls back to a value of
        /// its own.
        package var old: String?
        package var new: String?
        /// The layer that decides: `all`, `group:laundry`, `device`; `nil` if no layer sets the key any more.
        package var layer: String?
    }

    package struct Board: Equatable, Sendable {
        package var id: String
        package var isOnline: Bool?
        package var changes: [Change]
        /// The keys that the device does not let its fleet set, and that make it refuse a layer.
        package var refusedKeys: [String]
    }

    /// The documents that would be published: the configuration of layers, and the groups of devices.
    package struct Proposal: Equatable, Sendable {
        package var layers: [FleetDocumentID: JSONValue] = [:]
        package var groups: [String: [String]] = [:]

        package init(_ changes: [FleetChange] = []) {
            for change in changes {
                if let config = change.draft.config { layers[change.document] = config }
                guard case .registry(let id) = change.document, let names = change.draft.content.first?.value.elements
                else { continue }
                groups[id] = names.compactMap(\.string)
            }
        }
    }

    /// The devices that would change, or that would refuse a layer, in the order of their ids.
    package let boards: [Board]

    package init(_ proposal: Proposal, _ model: FleetModel) {
        var checks = Checks()
        boards = model.allBoards.compactMap { board in
            let oldGroups = model.groups(of: board.id)
            let newGroups = proposal.groups[board.id] ?? oldGroups
            let ids = [.all] + (oldGroups + newGroups).map { FleetDocumentID.group($0) } + [.device(board.id)]
            guard newGroups != oldGroups || ids.contains(where: { proposal.layers[$0] != nil }) else { return nil }
            let before = checks.values(of: board.id, oldGroups, [:], model)
            let after = checks.values(of: board.id, newGroups, proposal.layers, model)
            return FleetPreview.board(board, before, after)
        }
    }

    private static func board(_ board: FleetBoard, _ before: [String: Source], _ after: [String: Source]) -> Board? {
        let keys = Set(before.filter { after[$0.key] != $0.value }.keys)
            .union(after.filter { before[$0.key] != $0.value }.keys)
        let reported = board.report?.settings() ?? BoardReport.Settings()
        let values = Dictionary(reported.values.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
        var changes: [Change] = []
        for key in keys.sorted() {
            let old = (values[key] ?? before[key]?.value).map(\.compactText)
            var new: String?
            if let source = after[key] {
                new = source.value.compactText
            } else if let origin = reported.origins[key], ["file", "argument", "local"].contains(origin) {
                // The device does not have the former layer yet.
                new = values[key]?.compactText
            }
            guard old == nil || old != new else { continue }
            changes.append(Change(key: key, old: old, new: new, layer: after[key]?.layer))
        }
        let refused = refusedKeys(keys.filter { after[$0] != nil }, values["fleet.remote"])
        guard !changes.isEmpty || !refused.isEmpty else { return nil }
        return Board(id: board.id, isOnline: board.isOnline, changes: changes, refusedKeys: refused)
    }

    private static func refusedKeys(_ keys: Set<String>, _ remote: JSONValue?) -> [String] {
        guard let elements = remote?.elements else { return [] }
        let patterns = elements.compactMap(\.string)
        return keys.filter { !RemoteKeys.allows($0, patterns: patterns) }.sorted()
    }

    // MARK: Layers

    /// What decides a key: the highest layer that sets it.
    fileprivate struct Source: Equatable {
        var value: JSONValue
        var layer: String
    }

    /// The checked configurations, each of which many devices have in common.
    private struct Checks {
        private static let defaults = Dictionary(
            ConfigurationSchema.keys.map { ($0.path, $0.defaultValue) }, uniquingKeysWith: { first, _ in first })

        private var held: [FleetDocumentID: [PatchCheck.Value]] = [:]
        private var candidates: [FleetDocumentID: [PatchCheck.Value]] = [:]
        private var proposed: [FleetDocumentID: [PatchCheck.Value]] = [:]

        mutating func values(
            of id: String, _ groups: [String], _ proposal: [FleetDocumentID: JSONValue], _ model: FleetModel
        ) -> [String: Source] {
            var values: [String: Source] = [:]
            for document in [.all] + groups.map({ FleetDocumentID.group($0) }) + [.device(id)] {
                let name = document.layer?.text ?? ""
                for value in self.values(document, id, proposal, model) {
                    values[value.key] = Source(value: value.value ?? Checks.defaults[value.key] ?? .null, layer: name)
                }
            }
            return values
        }

        private mutating func values(
            _ document: FleetDocumentID, _ id: String, _ proposal: [FleetDocumentID: JSONValue], _ model: FleetModel
        ) -> [PatchCheck.Value] {
            let layer = model.documents[document]?.layer
            let status = model.boards[id]?.status(of: document)
            // What the device has refused of the present document is not in force, and would be refused again.
            let isAnswered = layer != nil && status?.revision == layer?.envelope.revision.number
            if let candidate = layer?.candidate, candidate.selects(id), !isAnswered || status?.isCandidate == true {
                return Checks.look(document, in: &candidates) { candidate.config }
            }
            if let config = proposal[document] {
                return Checks.look(document, in: &proposed) {
                    config.placed(at: DocumentPosition(.layer(document.text)))
                }
            }
            guard let layer, !isAnswered || ![.rejected, .rolledBack].contains(status?.status) else { return [] }
            return Checks.look(document, in: &held) { layer.config }
        }

        private static func look(
            _ document: FleetDocumentID, in cache: inout [FleetDocumentID: [PatchCheck.Value]],
            _ config: () -> JSONValue
        ) -> [PatchCheck.Value] {
            if let values = cache[document] { return values }
            let values = PatchCheck(ConfigurationPatch(config(), ignoresUnknownKeys: true)).values
            cache[document] = values
            return values
        }
    }
}
