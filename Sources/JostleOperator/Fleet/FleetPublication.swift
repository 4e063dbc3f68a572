package import JostleConfiguration
package import JostleMessages

/// A document to be published, with its revision.
package struct FleetPublication: Equatable, Sendable {
    package let document: FleetDocumentID
    package let bytes: [UInt8]
    package let revision: DocumentRevision

    /// Completes a draft, and signs it for its topic if there is a signer.
    ///
    /// - Throws: why devices would refuse the document: too large, too many keys, nested too deeply.
    package init(
        _ draft: DocumentDraft, of document: FleetDocumentID, revision number: Int64, topics: FleetTopics,
        signer: DocumentSigner? = nil
    ) throws(ConfigurationProblem) {
        func problem(_ reason: String) -> ConfigurationProblem {
            ConfigurationProblem(at: ConfigurationPosition(.layer(document.text)), reason)
        }
        var stored = StoredDocument(document, draft.bytes(revision: number))
        if let signer, let envelope = stored.envelope {
            guard let signature = try signer.sign(envelope, topic: document.topic(topics)) else {
                throw problem("cannot be signed: OpenSSL has no Ed25519")
            }
            stored = StoredDocument(document, draft.bytes(revision: number, signature: signature))
        }
        guard let revision = stored.revision else { throw stored.problem ?? problem("unreadable") }
        self.document = document
        bytes = stored.bytes
        self.revision = revision
    }
}
