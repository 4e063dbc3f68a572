package import JostleConfiguration
package import JostleMessages

/// A document as the broker holds it.
package struct StoredDocument: Equatable, Sendable {
    /// What the message is.
    package enum Content: Equatable, Sendable {
        case layer(LayerDocument)
        case registry(RegistryDocument)
        /// No document of the fleet, and why.
        case unreadable(ConfigurationProblem)
        /// A document that no trusted key has signed, and what is wrong with its signature. Nothing must be built on it:
        /// whoever published it, the next revision would be signed.
        case untrusted(ConfigurationProblem)
    }

    /// The message as it was received.
    package let bytes: [UInt8]

    package let content: Content

    /// The revision number, if even an unreadable document has one.
    package let number: Int64?

    package init(_ id: FleetDocumentID, _ bytes: [UInt8], trust: DocumentTrust? = nil) {
        self.bytes = bytes
        number = DocumentEnvelope.number(in: bytes)
        do throws(ConfigurationProblem) {
            let envelope: DocumentEnvelope
            let readable: Content
            if case .registry = id {
                let document = try RegistryDocument(reading: bytes)
                (envelope, readable) = (document.envelope, .registry(document))
            } else {
                let document = try LayerDocument(reading: bytes, layer: id.text)
                (envelope, readable) = (document.envelope, .layer(document))
            }
            content =
                trust.flatMap { $0.keys.problem(of: envelope, topic: id.topic($0.topics)) }.map { .untrusted($0) }
                ?? readable
        } catch {
            content = .unreadable(error)
        }
    }

    package var envelope: DocumentEnvelope? {
        switch content {
        case .layer(let document): document.envelope
        case .registry(let document): document.envelope
        case .unreadable, .untrusted: nil
        }
    }

    /// Number and hash; `nil` if the document is unreadable or not trusted.
    package var revision: DocumentRevision? { envelope?.revision }

    /// The layer; `nil` if it is none.
    package var layer: LayerDocument? { if case .layer(let document) = content { document } else { nil } }

    /// The groups of a device; `nil` if it is no such document.
    package var registry: RegistryDocument? { if case .registry(let document) = content { document } else { nil } }

    /// Why the document cannot be used: it is unreadable or not trusted; `nil` if it can.
    package var problem: ConfigurationProblem? {
        switch content {
        case .layer, .registry: nil
        case .unreadable(let problem), .untrusted(let problem): problem
        }
    }

    /// Whether no trusted key has signed the document.
    package var isUntrusted: Bool { if case .untrusted = content { true } else { false } }

    /// Whether it says what a draft says, whoever published it, when and why.
    package func hasContent(of draft: DocumentDraft) -> Bool {
        if let registry {
            let same = DocumentDraft(groups: registry.groups, by: nil, at: nil)
            return LayerEdit.isEqual(.object(same.content), .object(draft.content))
        }
        guard let layer else { return false }
        let same = DocumentDraft(copying: layer, by: nil, at: nil, note: nil)
        return LayerEdit.isEqual(.object(same.content), .object(draft.content))
    }

    package static func == (one: StoredDocument, other: StoredDocument) -> Bool { one.bytes == other.bytes }
}
