internal import Documents
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import LinuxSystem
internal import MosquittoClient

/// The layers of a fleet as the broker holds them: who published each, when and why. Their configurations are not kept.
struct FleetDocuments {
    /// The most layers that are kept.
    static let maximum = 5000

    /// What a layer says of itself.
    struct Document: Equatable {
        var revision: DocumentRevision?
        var by: String?
        /// Milliseconds since 1970.
        var time: Int64?
        var note: String?
        /// The name of the key that signed it.
        var signer: String?
        /// The share of boards that its candidate is for, %.
        var percent: Double?
        /// Whether it sets nothing: how a layer is removed.
        var isEmpty = false
        /// Why it is no layer, or not to be trusted.
        var problem: String?

        /// The longest text that is kept, in characters.
        private static func bounded(_ text: String) -> String { ForeignText.excerpt(text, limit: 200) }

        init(_ stored: StoredDocument) {
            revision = stored.claimed
            if let problem = stored.problem { self.problem = Document.bounded("\(problem)") }
            guard let layer = stored.layer else { return }
            by = layer.envelope.by.map(Document.bounded)
            time = layer.envelope.at
            note = layer.envelope.note.map(Document.bounded)
            signer = layer.envelope.signature.map { Document.bounded($0.key) }
            percent = stored.rollout?.percent
            isEmpty = layer.config == .object([]) && percent == nil
        }
    }

    let topics: FleetTopics
    private let trust: DocumentTrust?
    private(set) var documents: [FleetDocumentID: Document] = [:]

    init(prefix: String, trustedKeys: [JostleSettings.TrustedKey] = []) {
        topics = FleetTopics(prefix: prefix)
        trust = DocumentTrust(trustedKeys, topics: topics)
    }

    /// The topics of all layers, and of the groups of boards: those boards are kept first.
    var filters: [String] { [topics.all, topics.group("+"), topics.desired("+"), topics.registry("+")] }

    /// Takes a message; returns whether a layer has changed.
    mutating func update(with message: MQTTMessage) -> Bool {
        guard let id = FleetDocumentID(topic: message.topic, topics), id.layer != nil else { return false }
        guard !message.payload.isEmpty else { return documents.removeValue(forKey: id) != nil }
        guard documents[id] != nil || documents.count < FleetDocuments.maximum else { return false }
        let document = Document(StoredDocument(id, message.payload, trust: trust))
        guard document != documents[id] else { return false }
        documents[id] = document
        return true
    }
}

/// The event `fleet` of the page: the layers with what became of them on the boards.
struct FleetEvent {
    /// The most layers in an event, and the most boards that do not follow: in a layer, and in all together.
    static let maximum = (layers: 50, failures: 20, allFailures: 200)

    let event: ServerSentEvent

    init(_ documents: FleetDocuments, _ devices: some Sequence<FleetBoard>) {
        let all = LayerProgress.all(documents, devices)
        var room = FleetEvent.maximum.allFailures
        let layers = all.prefix(FleetEvent.maximum.layers).map { FleetEvent.layer($0.id, $0.progress, room: &room) }
        var object = JSONObject()
        object.add("layers", layers)
        if all.count > layers.count { object.add("more", Int64(all.count - layers.count)) }
        event = ServerSentEvent(.fleet, object)
    }

    private static func layer(_ id: FleetDocumentID, _ progress: LayerProgress, room: inout Int) -> JSONObject {
        var object = JSONObject()
        let document = progress.document
        object.add("layer", id.text)
        object.add("revision", document?.revision?.number ?? progress.reportedRevision)
        object.add("t", document?.time)
        object.add("by", document?.by)
        object.add("reason", document?.note)
        object.add("signed", document?.signer)
        object.add("problem", document?.problem)
        object.add("percent", document?.percent, decimals: 4)
        object.add("boards", Int64(progress.boards))
        var counts = JSONObject()
        for (status, count) in progress.counts.sorted(by: { $0.key < $1.key }) { counts.add(status, Int64(count)) }
        object.add("counts", counts)
        let failures = progress.failures.sorted { $0.id < $1.id }.prefix(min(room, maximum.failures))
        room -= failures.count
        object.add(
            "failing",
            failures.map { failure in
                var object = JSONObject()
                object.add("id", failure.id)
                object.add("status", failure.status)
                object.add("error", failure.error)
                return object
            })
        let more = progress.failures.count - failures.count
        if more > 0 { object.add("failing_more", Int64(more)) }
        return object
    }
}

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
        _ documents: FleetDocuments, _ devices: some Sequence<FleetBoard>
    ) -> [(id: FleetDocumentID, progress: LayerProgress)] {
        var all = documents.documents.mapValues { LayerProgress($0) }
        for device in devices {
            for layer in device.layers {
                guard let name = layer.layer else { continue }
                let id = FleetDocumentID(name, of: device.id)
                // Most boards have no layer of their own.
                if layer.status == .none, all[id] == nil { continue }
                all[id, default: LayerProgress(nil)].add(layer, of: device)
            }
        }
        return all.filter { $0.value.isOpen || $0.value.isWorthShowing }.map { ($0.key, $0.value) }
            .sorted { $0.progress.isOpen == $1.progress.isOpen ? $0.id < $1.id : $0.progress.isOpen }
    }

    /// A layer that sets nothing is only shown until all boards know.
    private var isWorthShowing: Bool { document.map { !$0.isEmpty || $0.problem != nil } ?? true }

    private mutating func add(_ layer: BoardReport.Layer, of device: FleetBoard) {
        boards += 1
        if let revision = layer.revision { reportedRevision = max(reportedRevision ?? 0, revision) }
        let status = LayerProgress.status(of: layer, device, document?.revision)
        counts[status, default: 0] += 1
        guard LayerStatus(status).isProblem else { return }
        failures.append(Failure(id: device.id, status: status, error: layer.error ?? layer.candidateError))
    }

    /// What became of the revision `held` of the broker at a board, which may have reported another one.
    private static func status(of layer: BoardReport.Layer, _ device: FleetBoard, _ held: DocumentRevision?) -> String {
        switch layer.standing(on: held) {
        case .none: "none"
        case .waiting: device.isOnline == false ? "offline" : "pending"
        // The candidate is not in force on a board that it is for.
        case .applied: layer.status == .applied && layer.candidateError != nil ? "rejected" : "applied"
        case .newer: "stale"
        case .missing, .refused, .conflict: layer.status.word
        case .unknown: "unknown"
        }
    }
}
