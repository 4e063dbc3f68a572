package import Documents
package import JostleConfiguration
package import JostleMessages

/// A document as the broker holds it.
package struct StoredDocument: Equatable, Sendable {
    /// What the message is.
    package enum Content: Equatable, Sendable {
        case layer(LayerDocument)
        case registry(RegistryDocument)
        /// No document of the fleet, and why.
        case unreadable(DocumentProblem)
        /// A document that no trusted key has signed, and what is wrong with its signature. Nothing must be built on it:
        /// whoever published it, the next revision would be signed.
        case untrusted(DocumentProblem)

        /// `nil` if it cannot be used.
        fileprivate var envelope: DocumentEnvelope? {
            switch self {
            case .layer(let document): document.envelope
            case .registry(let document): document.envelope
            case .unreadable, .untrusted: nil
            }
        }
    }

    /// The message as it was received.
    package let bytes: [UInt8]

    package let content: Content

    /// What the document says that its revision is, even if it cannot be used, and then with an empty hash; `nil` if it says
    /// nothing.
    package let claimed: DocumentRevision?

    /// The number of that revision.
    package var number: Int64? { claimed?.number }

    /// Takes a message. A document that was published later than `latest`, milliseconds since 1970, cannot be used.
    package init(_ id: FleetDocumentID, _ bytes: [UInt8], trust: DocumentTrust? = nil, latest: Int64? = nil) {
        self.bytes = bytes
        let content: Content
        do throws(DocumentProblem) {
            let envelope: DocumentEnvelope
            let readable: Content
            if case .registry = id {
                let document = try RegistryDocument(reading: bytes)
                (envelope, readable) = (document.envelope, .registry(document))
            } else {
                let document = try LayerDocument(reading: bytes, layer: id.text)
                (envelope, readable) = (document.envelope, .layer(document))
            }
            if let at = envelope.at, let latest, at > latest {
                throw DocumentProblem(
                    at: DocumentPosition(.layer(id.text)), path: "at", found: "\(at)",
                    "is more than a day ahead of this machine's clock")
            }
            content =
                trust.flatMap { $0.keys.problem(of: envelope, topic: id.topic($0.topics)) }.map { .untrusted($0) }
                ?? readable
        } catch {
            content = .unreadable(error)
        }
        self.content = content
        claimed = content.envelope?.revision ?? DocumentEnvelope.revision(in: bytes)
    }

    package var envelope: DocumentEnvelope? { content.envelope }

    /// The name of the key that it says has signed it, even if it cannot be used; `nil` if it is not signed.
    package var signer: String? { (envelope?.signature ?? DocumentEnvelope.signature(in: bytes))?.key }

    /// Number and hash; `nil` if the document is unreadable or not trusted.
    package var revision: DocumentRevision? { envelope?.revision }

    /// The layer; `nil` if it is none.
    package var layer: LayerDocument? { if case .layer(let document) = content { document } else { nil } }

    /// The groups of a device; `nil` if it is no such document.
    package var registry: RegistryDocument? { if case .registry(let document) = content { document } else { nil } }

    /// The candidate that a part of the devices gets.
    package var rollout: LayerDocument.Candidate? { layer?.candidate.flatMap { $0.percent > 0 ? $0 : nil } }

    /// Why the document cannot be used: it is unreadable or not trusted; `nil` if it can.
    package var problem: DocumentProblem? {
        switch content {
        case .layer, .registry: nil
        case .unreadable(let problem), .untrusted(let problem): problem
        }
    }

    /// Whether it is newer than a document, or another one of its revision; even if it cannot be used.
    package func isNewer(than other: DocumentRevision) -> Bool {
        let order = claimed?.order(after: other)
        return order == .newer || order == .conflict
    }

    /// Whether no trusted key has signed the document.
    package var isUntrusted: Bool { if case .untrusted = content { true } else { false } }

    package static func == (one: StoredDocument, other: StoredDocument) -> Bool { one.bytes == other.bytes }
}

/// Whose documents a tool builds on: those that one of some keys has signed.
package struct DocumentTrust: Sendable {
    let keys: TrustedKeys
    let topics: FleetTopics

    /// - Returns: `nil` without keys: then every document is trusted.
    package init?(_ keys: [JostleSettings.TrustedKey], topics: FleetTopics) {
        guard !keys.isEmpty else { return nil }
        self.keys = TrustedKeys(keys)
        self.topics = topics
    }
}

/// A document to be published, with its revision.
package struct FleetPublication: Equatable, Sendable {
    package let document: FleetDocumentID
    package let bytes: [UInt8]
    package let revision: DocumentRevision

    /// Completes a draft, and signs it for its topic if there is a signer.
    ///
    /// - Throws: why devices would refuse the document: too large, too many keys, nested too deeply.
    package init(
        _ draft: DocumentDraft, of document: FleetDocumentID, revision number: Int64, epoch: String = "",
        author: DocumentAuthor = DocumentAuthor(), topics: FleetTopics, signer: DocumentSigner? = nil
    ) throws {
        func problem(_ reason: String) -> DocumentProblem {
            DocumentProblem(at: DocumentPosition(.layer(document.text)), reason)
        }
        var stored = StoredDocument(document, draft.bytes(revision: number, epoch: epoch, author: author))
        if let signer, let envelope = stored.envelope {
            guard let signature = try signer.sign(envelope, topic: document.topic(topics)) else {
                throw problem("cannot be signed: OpenSSL has no Ed25519")
            }
            stored = StoredDocument(
                document, draft.bytes(revision: number, epoch: epoch, author: author, signature: signature))
        }
        guard let revision = stored.revision else { throw stored.problem ?? problem("unreadable") }
        self.document = document
        bytes = stored.bytes
        self.revision = revision
    }
}
