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
        var revision: Int64?
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
            revision = stored.number
            if let problem = stored.problem { self.problem = Document.bounded("\(problem)") }
            guard let layer = stored.layer else { return }
            by = layer.envelope.by.map(Document.bounded)
            time = layer.envelope.at
            note = layer.envelope.note.map(Document.bounded)
            signer = layer.envelope.signature.map { Document.bounded($0.key) }
            percent = layer.candidate.flatMap { $0.percent > 0 ? $0.percent : nil }
            isEmpty = JSONValue(layer.config) == .object([]) && percent == nil
        }
    }

    private let topics: FleetTopics
    private let trust: DocumentTrust?
    private(set) var documents: [FleetDocumentID: Document] = [:]

    init(prefix: String, trustedKeys: [JostleSettings.TrustedKey] = []) {
        topics = FleetTopics(prefix: prefix)
        trust = DocumentTrust(trustedKeys, topics: topics)
    }

    /// The topics of all layers.
    var filters: [String] { [topics.all, topics.group("+"), topics.desired("+")] }

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
