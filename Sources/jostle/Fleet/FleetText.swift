internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator

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
