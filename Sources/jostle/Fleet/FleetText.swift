internal import Documents
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

    /// Now, milliseconds since 1970.
    static var now: Int64 { WallClock.milliseconds(at: WallClock.monotonic) }

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

    /// `revision 3 by ada@desk, 2026-11-22 17:04:09`; `nil` if the document cannot be used.
    static func revision(of stored: StoredDocument) -> String? {
        stored.envelope.map { "revision \($0.revision.number) \(origin($0))" }
    }

    /// `3 devices`.
    static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

    /// At most ten names, and how many more there are.
    static func names(_ names: [String]) -> String {
        let shown = names.prefix(10).joined(separator: ", ")
        return names.count > 10 ? "\(shown) and \(names.count - 10) more" : shown
    }

    /// The devices of each reason, in the order of the first ones.
    static func grouped(_ devices: [DeviceReasons]) -> [(names: String, reason: String)] {
        var reasons: [String] = []
        var ids: [String: [String]] = [:]
        for device in devices {
            for reason in device.lines {
                if ids[reason] == nil { reasons.append(reason) }
                ids[reason, default: []].append(device.id)
            }
        }
        return reasons.map { (names(ids[$0] ?? []), $0) }
    }

    /// A value as `jostle fleet set` takes it.
    static func value(_ value: JSONValue) -> String {
        guard let text = value.string, let first = text.first, !"[{\"'".contains(first), JSONValue(plain: text) == value
        else { return value.compactText }
        return text
    }
}

/// The JSON that `jostle fleet` prints: see "For programs" in docs/fleet.md.
enum FleetJSON {
    /// A device as `list` and `show` print it.
    static func board(_ board: FleetBoard, in model: FleetModel) -> JSONValue {
        let layers = board.statuses.compactMap { document, layer in
            document.layer.map { JSONValue.Member($0.text, status(layer)) }
        }
        let event: JSONValue? = board.events.first.map {
            ["gesture": .string($0.gesture), "phase": .string($0.phase), "t": .optional($0.time)]
        }
        return [
            "id": .string(board.id), "online": .optional(board.isOnline), "version": .optional(board.health?.version),
            "chip": .optional(board.health?.sensor), "groups": .strings(model.groups(of: board.id)),
            "state": .string(model.state(of: board).word), "layers": .object(layers),
            "registry": board.report?.registry.map(status) ?? .null, "problems": .strings(board.problems),
            "last_event": event,
        ]
    }

    /// What a device reports of a document, without what it does not say.
    static func status(_ layer: BoardReport.Layer) -> JSONValue {
        func list(_ refusals: [BoardReport.Refusal]) -> JSONValue? {
            refusals.isEmpty ? nil : .array(refusals.map(refusal))
        }
        return [
            "status": .string(layer.status.word), "revision": layer.revision.map { .number($0) },
            "epoch": epoch(layer.epoch), "in_force": layer.inForce.map { .number($0) },
            "hash": layer.hash.map { .string($0) }, "candidate": layer.isCandidate ? true : nil,
            "probation": layer.isOnProbation ? true : nil, "candidate_errors": list(layer.candidateErrors),
            "reason": layer.reason.map { .string($0) }, "errors": list(layer.errors),
            "unknown_keys": layer.unknownKeys.isEmpty ? nil : .strings(layer.unknownKeys),
        ]
    }

    static func refusal(_ refusal: BoardReport.Refusal) -> JSONValue {
        [
            "path": .string(refusal.path), "value": .optional(refusal.value), "reason": .optional(refusal.reason),
            "allowed": .optional(refusal.allowed),
        ]
    }

    /// A document: name, revision, hash and who published it.
    static func document(_ id: FleetDocumentID, _ stored: StoredDocument) -> JSONValue {
        guard let envelope = stored.envelope else {
            return ["document": .string(id.text), "unreadable": .optional(stored.problem.map { "\($0)" })]
        }
        return revision(id, envelope.revision).adding([
            "by": .optional(envelope.by), "at": .optional(envelope.at), "note": .optional(envelope.note),
            "signed_with": .optional(envelope.signature?.key),
        ])
    }

    private static func revision(_ id: FleetDocumentID, _ revision: DocumentRevision) -> JSONValue {
        [
            "document": .string(id.text), "revision": .number(revision.number), "epoch": epoch(revision.epoch),
            "hash": .string(revision.shortHash),
        ]
    }

    private static func epoch(_ text: String) -> JSONValue? { text.isEmpty ? nil : .string(text) }

    /// Documents with their revisions.
    static func documents(_ revisions: [FleetDocumentID: DocumentRevision]) -> JSONValue {
        .array(revisions.sorted { $0.key < $1.key }.map { revision($0.key, $0.value) })
    }

    static func reasons(_ devices: [DeviceReasons]) -> JSONValue {
        .array(devices.map { ["id": .string($0.id), "reasons": .strings($0.lines)] })
    }
}
