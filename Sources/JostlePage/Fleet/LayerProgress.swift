internal import JostleMessages
internal import JostleOperator

/// How far the boards follow a layer of the fleet.
struct LayerProgress {
    /// A board that does not follow it.
    struct Failure: Equatable {
        var id: String
        var status: String
        var error: String?
    }

    var document: FleetDocuments.Document?
    /// The highest revision that a board reports.
    var reportedRevision: Int64?
    /// The number of boards that read it.
    var boards = 0
    /// The boards with each status.
    var counts: [String: Int] = [:]
    var failures: [Failure] = []

    init(_ document: FleetDocuments.Document?) {
        self.document = document
    }

    /// Whether a board does not have it yet, or does not follow it.
    var isOpen: Bool { !failures.isEmpty || counts["applied", default: 0] < boards }

    /// The layers of boards and broker, those first on which a board does not follow or does not have them yet.
    static func all(
        _ documents: FleetDocuments, _ devices: some Sequence<WatchedDevice>
    ) -> [(id: FleetDocumentID, progress: LayerProgress)] {
        var all = documents.documents.mapValues { LayerProgress($0) }
        // The same few names at all boards.
        var ids: [String: FleetDocumentID] = [:]
        for device in devices {
            for layer in device.configuration?.layers ?? [] {
                let id: FleetDocumentID
                if layer.name == "device" {
                    id = .device(device.id)
                } else if let known = ids[layer.name] {
                    id = known
                } else if let name = LayerName(layer.name) {
                    id = FleetDocumentID(name, of: device.id)
                    ids[layer.name] = id
                } else {
                    continue
                }
                // Most boards have no layer of their own.
                if layer.status == "none", all[id] == nil { continue }
                all[id, default: LayerProgress(nil)].add(layer, of: device)
            }
        }
        return all.filter { $0.value.isOpen || $0.value.isWorthShowing }.map { ($0.key, $0.value) }
            .sorted { $0.progress.isOpen == $1.progress.isOpen ? $0.id < $1.id : $0.progress.isOpen }
    }

    /// A layer that sets nothing is only shown until all boards know.
    private var isWorthShowing: Bool { document.map { !$0.isEmpty || $0.problem != nil } ?? true }

    private mutating func add(_ layer: WatchedConfiguration.Layer, of device: WatchedDevice) {
        boards += 1
        if let revision = layer.revision { reportedRevision = max(reportedRevision ?? 0, Int64(revision)) }
        let status = LayerProgress.status(of: layer, device, document?.revision)
        counts[status, default: 0] += 1
        guard LayerStatus(status).isProblem else { return }
        failures.append(Failure(id: device.id, status: status, error: layer.error ?? layer.candidateError))
    }

    /// What became of the revision `held` of the broker at a board, which may have reported another one.
    private static func status(
        of layer: WatchedConfiguration.Layer, _ device: WatchedDevice, _ held: Int64?
    ) -> String {
        let waiting = device.isOnline == false ? "offline" : "pending"
        switch LayerStatus(layer.status) {
        case .other: return "unknown"
        case .pending: return waiting
        case .none: return held == nil ? "none" : waiting
        // The board has it already, and got an older one from another broker.
        case .stale where held != nil && layer.revisionInForce.map({ Int64($0) }) == held: return "applied"
        case .stale, .conflict: return layer.status
        case .applied, .missing, .rejected, .rolledBack:
            guard let held, let revision = layer.revision.map({ Int64($0) }) else { return layer.status }
            if revision < held { return waiting }
            if revision > held, layer.status == "applied" { return "stale" }
            // The candidate is not in force on a board that it is for.
            return layer.status == "applied" && layer.candidateError != nil ? "rejected" : layer.status
        }
    }
}
