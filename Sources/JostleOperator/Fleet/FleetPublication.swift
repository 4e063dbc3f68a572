package import JostleConfiguration
package import JostleMessages

/// A document to be published, with its revision.
package struct FleetPublication: Equatable, Sendable {
    package let document: FleetDocumentID
    package let bytes: [UInt8]
    package let revision: DocumentRevision

    /// Completes a draft.
    ///
    /// - Throws: why devices would refuse the document: too large, too many keys, nested too deeply.
    package init(
        _ draft: DocumentDraft, of document: FleetDocumentID, revision number: Int64
    ) throws(ConfigurationProblem) {
        let bytes = draft.bytes(revision: number)
        let stored = StoredDocument(document, bytes)
        guard let revision = stored.revision else {
            throw stored.problem ?? ConfigurationProblem(at: ConfigurationPosition(.layer(document.text)), "unreadable")
        }
        self.document = document
        self.bytes = bytes
        self.revision = revision
    }
}
