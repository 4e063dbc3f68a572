internal import JostleMessages
internal import LinuxSystem

/// The part of a fleet that a command concerns.
package enum FleetSelection: Equatable, Sendable {
    case all
    case groups([String])
    case devices([String])

    /// The layers of the selection.
    package var layers: [FleetDocumentID] {
        switch self {
        case .all: [.all]
        case .groups(let names): names.map { .group($0) }
        case .devices(let ids): ids.map { .device($0) }
        }
    }

    /// The devices of the selection, in order.
    package func ids(in model: FleetModel) -> [String] {
        switch self {
        case .all: model.allBoards.map(\.id)
        case .groups(let names):
            model.allBoards.map(\.id).filter { id in names.contains { model.reads(id, .group($0)) } }
        case .devices(let ids): ids
        }
    }
}

/// Which devices `jostle fleet list` shows. Every condition that is set must be met.
package struct FleetFilter: Equatable, Sendable {
    package var group: String?
    package var version: String?
    /// A part of the chip's name, whatever its case.
    package var chip: String?
    /// The status of one of the device's documents, or `current`, `waiting`, `refused` or `offline`.
    package var status: String?
    package var hasProblem = false
    package var isOnline: Bool?

    package init() {}

    /// The words for `status`: those of reports, and the states of devices.
    package static let statuses = LayerStatus.words + ["current", "waiting", "refused", "offline"]

    /// Whether a device is shown.
    package func admits(_ board: FleetBoard, in model: FleetModel) -> Bool {
        if let group, !model.reads(board.id, .group(group)) { return false }
        if let version, board.health?.version != version { return false }
        if let chip, board.health?.sensor?.lowercased().contains(text: chip.lowercased()) != true { return false }
        if hasProblem, board.problems.isEmpty, !model.state(of: board).isProblem { return false }
        if let isOnline, (board.isOnline == true) != isOnline { return false }
        guard let status else { return true }
        return board.statuses.contains { $0.layer.status.word == status } || model.state(of: board).word == status
    }
}

extension FleetModel {
    /// Whether a device has taken over all documents that the broker holds for it.
    package func state(of board: FleetBoard) -> WaitCondition.State {
        var condition = WaitCondition([:])
        condition.isWhole = true
        for document in documents(of: board.id) { condition.documents[document] = documents[document]?.revision }
        return condition.state(of: board, in: self) ?? .applied
    }
}

extension WaitCondition.State {
    /// The state in a word: `current`, `offline`, `waiting` or `refused`.
    package var word: String {
        switch self {
        case .applied: "current"
        case .offline: "offline"
        case .waiting: "waiting"
        case .refused: "refused"
        }
    }

    var isProblem: Bool { if case .refused = self { true } else { false } }
}
