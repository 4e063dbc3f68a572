internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator

/// The JSON that `jostle fleet` prints: see "For programs" in docs/fleet.md.
enum FleetJSON {
    /// A device as `list` and `show` print it.
    static func board(_ board: FleetBoard, in model: FleetModel) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("id", .string(board.id)), .init("online", board.isOnline.map { .bool($0) } ?? .null),
            .init("version", text(board.health?.version)), .init("chip", text(board.health?.sensor)),
            .init("groups", .array(model.groups(of: board.id).map { .string($0) })),
            .init("state", .string(model.state(of: board).word)),
            .init(
                "layers",
                .object(
                    board.statuses.compactMap { document, layer in
                        document.layer.map { .init($0.text, status(layer)) }
                    })),
            .init("registry", board.report?.registry.map(status) ?? .null),
            .init("problems", .array(board.problems.map { .string($0) })),
        ]
        if let event = board.lastEvent {
            members.append(
                .init(
                    "last_event",
                    .object([
                        .init("gesture", .string(event.gesture)), .init("phase", .string(event.phase)),
                        .init("t", event.time.map { .number("\($0)") } ?? .null),
                    ])))
        }
        return members
    }

    /// What a device reports of a document.
    static func status(_ layer: BoardReport.Layer) -> JSONValue {
        var members: [JSONValue.Member] = [.init("status", .string(layer.status.word))]
        if let revision = layer.revision { members.append(.init("revision", .number("\(revision)"))) }
        if let inForce = layer.inForce { members.append(.init("in_force", .number("\(inForce)"))) }
        if let hash = layer.hash { members.append(.init("hash", .string(hash))) }
        if layer.isCandidate { members.append(.init("candidate", true)) }
        if layer.isOnProbation { members.append(.init("probation", true)) }
        if !layer.candidateErrors.isEmpty {
            members.append(.init("candidate_errors", .array(layer.candidateErrors.map(refusal))))
        }
        if let reason = layer.reason { members.append(.init("reason", .string(reason))) }
        if !layer.errors.isEmpty { members.append(.init("errors", .array(layer.errors.map(refusal)))) }
        if !layer.unknownKeys.isEmpty {
            members.append(.init("unknown_keys", .array(layer.unknownKeys.map { .string($0) })))
        }
        return .object(members)
    }

    static func refusal(_ refusal: BoardReport.Refusal) -> JSONValue {
        .object([
            .init("path", .string(refusal.path)), .init("value", text(refusal.value)),
            .init("reason", text(refusal.reason)), .init("allowed", text(refusal.allowed)),
        ])
    }

    /// A document: name, revision, hash and who published it.
    static func document(_ id: FleetDocumentID, _ stored: StoredDocument) -> [JSONValue.Member] {
        guard let envelope = stored.envelope else {
            return [
                .init("document", .string(id.text)), .init("unreadable", text(stored.problem.map { "\($0)" })),
            ]
        }
        return [
            .init("document", .string(id.text)), .init("revision", .number("\(envelope.revision.number)")),
            .init("hash", .string(envelope.revision.shortHash)), .init("by", text(envelope.by)),
            .init("at", envelope.at.map { .number("\($0)") } ?? .null), .init("note", text(envelope.note)),
            .init("signed_with", text(envelope.signature?.key)),
        ]
    }

    /// Documents with their revisions.
    static func documents(_ revisions: [FleetDocumentID: DocumentRevision]) -> JSONValue {
        .array(
            revisions.sorted { $0.key < $1.key }.map { id, revision in
                .object([
                    .init("document", .string(id.text)), .init("revision", .number("\(revision.number)")),
                    .init("hash", .string(revision.shortHash)),
                ])
            })
    }

    static func text(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
}
