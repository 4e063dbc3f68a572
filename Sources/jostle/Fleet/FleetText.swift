internal import Documents
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import JostleRuntime

/// Texts about devices and documents that several commands share.
enum FleetText {
    /// `all 12`, `laundry 3 rejected, 2 in force`, in the order of the layers; empty if the device reports none.
    static func layers(_ board: FleetBoard) -> String {
        board.statuses.compactMap { document, layer in
            guard layer.status != .none, document.layer != nil else { return nil }
            return status(document, layer)
        }.joined(separator: ", ")
    }

    /// `laundry 3 rejected, 2 in force`.
    static func status(_ document: FleetDocumentID, _ layer: BoardReport.Layer) -> String {
        var text = name(document)
        if let revision = layer.revision { text += " \(revision)" }
        if layer.isCandidate { text += " candidate" }
        if layer.status != .applied { text += " \(layer.status.word)" }
        if layer.isOnProbation { text += " on probation" }
        if let inForce = layer.inForce, inForce != layer.revision { text += " (\(inForce) in force)" }
        return text
    }

    /// The layer without the device's id: `all`, `laundry`, `device`, `registry`.
    static func name(_ document: FleetDocumentID) -> String {
        switch document {
        case .all: "all"
        case .group(let name): name
        case .device: "device"
        case .registry: "registry"
        }
    }

    /// That there is no device of this id, with the one that was probably meant.
    static func unknown(_ id: String, _ model: FleetModel) -> String {
        "the broker knows no device \(id)\(EditDistance.suggestion(for: id, among: model.allBoards.map(\.id)))"
    }

    static func availability(_ isOnline: Bool?) -> String { isOnline.map { $0 ? "online" : "offline" } ?? "unknown" }

    /// When something happened, from milliseconds since 1970.
    static func time(_ milliseconds: Int64?) -> String {
        guard let milliseconds, (0..<253_402_300_800_000).contains(milliseconds) else { return "-" }
        return WallClock.dateAndTime(milliseconds: milliseconds)
    }

    /// Who published a document, when and why: `by ada@desk, 2026-11-22 17:04:09, "less eager"`.
    static func origin(_ envelope: DocumentEnvelope) -> String {
        var parts: [String] = ["by \(envelope.by ?? "unknown")"]
        if let at = envelope.at { parts.append(time(at)) }
        if let note = envelope.note { parts.append("\"\(note)\"") }
        if let signature = envelope.signature { parts.append("signed with \(signature.key)") }
        return parts.joined(separator: ", ")
    }

    /// `3 devices`.
    static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

    /// At most ten names, and how many more there are.
    static func names(_ names: [String]) -> String {
        let shown = names.prefix(10).joined(separator: ", ")
        return names.count > 10 ? "\(shown) and \(names.count - 10) more" : shown
    }

    /// The devices of each reason, in the order of the first ones.
    static func grouped(_ reasons: [(id: String, reason: String)]) -> [(ids: [String], reason: String)] {
        var groups: [(ids: [String], reason: String)] = []
        var places: [String: Int] = [:]
        for (id, reason) in reasons {
            if let place = places[reason] {
                groups[place].ids.append(id)
            } else {
                places[reason] = groups.count
                groups.append(([id], reason))
            }
        }
        return groups
    }
}

/// The JSON that `jostle fleet` prints: see "For programs" in docs/fleet.md.
enum FleetJSON {
    /// A device as `list` and `show` print it.
    static func board(_ board: FleetBoard, in model: FleetModel) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("id", .string(board.id)), .init("online", board.isOnline.map { .bool($0) } ?? .null),
            .init("version", .optional(board.health?.version)), .init("chip", .optional(board.health?.sensor)),
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
            .init("path", .string(refusal.path)), .init("value", .optional(refusal.value)),
            .init("reason", .optional(refusal.reason)), .init("allowed", .optional(refusal.allowed)),
        ])
    }

    /// A document: name, revision, hash and who published it.
    static func document(_ id: FleetDocumentID, _ stored: StoredDocument) -> [JSONValue.Member] {
        guard let envelope = stored.envelope else {
            return [
                .init("document", .string(id.text)), .init("unreadable", .optional(stored.problem.map { "\($0)" })),
            ]
        }
        return [
            .init("document", .string(id.text)), .init("revision", .number("\(envelope.revision.number)")),
            .init("hash", .string(envelope.revision.shortHash)), .init("by", .optional(envelope.by)),
            .init("at", envelope.at.map { .number("\($0)") } ?? .null), .init("note", .optional(envelope.note)),
            .init("signed_with", .optional(envelope.signature?.key)),
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
}
