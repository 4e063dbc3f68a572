package import JostleMessages
internal import MotionCore

/// A device of a fleet, as far as it has published anything.
package struct FleetBoard: Equatable, Sendable {
    package let id: String

    /// The availability at the broker; `nil` if it is unknown.
    package internal(set) var isOnline: Bool?

    package internal(set) var report: BoardReport?
    /// When the report arrived.
    var reportArrival: Timestamp?
    package internal(set) var health: WatchedDevice.Health?
    package internal(set) var state: WatchedDevice.State?

    /// The last event that arrived while listening.
    package internal(set) var lastEvent: WatchedEvent?

    package init(id: String) {
        self.id = id
    }

    /// What the board reports of a document; `nil` if it reports nothing of it.
    package func status(of document: FleetDocumentID) -> BoardReport.Layer? {
        switch document {
        case .registry(let id): id == self.id ? report?.registry : nil
        case .device(let id): id == self.id ? report?.layers?[.device] : nil
        case .all, .group: document.layer.flatMap { report?.layers?[$0] }
        }
    }

    /// What the board reports of all its documents, lowest layer first.
    package var statuses: [(document: FleetDocumentID, layer: BoardReport.Layer)] {
        var statuses = (report?.layers ?? [:]).map { name, layer in
            (document: FleetDocumentID(name, of: id), layer: layer)
        }
        if let registry = report?.registry { statuses.append((.registry(id), registry)) }
        let order = report?.groups ?? []
        return statuses.sorted { one, other in
            if case .group(let a) = one.document, case .group(let b) = other.document {
                let (first, second) = (order.firstIndex(of: a) ?? order.count, order.firstIndex(of: b) ?? order.count)
                return first == second ? a < b : first < second
            }
            return one.document < other.document
        }
    }

    /// What needs somebody's attention, in short texts.
    package var problems: [String] {
        var problems = statuses.compactMap { document, layer -> String? in
            let name = document.layer?.text ?? "registry"
            if layer.status.isProblem { return "\(name) \(layer.status.word)" }
            return layer.candidateErrors.isEmpty ? nil : "\(name) candidate refused"
        }
        problems += health?.problems ?? []
        return problems
    }
}

extension FleetDocumentID {
    /// The layer of a report of the device `id`.
    package init(_ layer: LayerName, of id: String) {
        switch layer {
        case .all: self = .all
        case .group(let name): self = .group(name)
        case .device: self = .device(id)
        }
    }
}
