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
    }

    /// The message as it was received.
    package let bytes: [UInt8]

    package let content: Content

    /// The revision number, if even an unreadable document has one.
    package let number: Int64?

    package init(_ id: FleetDocumentID, _ bytes: [UInt8]) {
        self.bytes = bytes
        do throws(ConfigurationProblem) {
            if case .registry = id {
                content = .registry(try RegistryDocument(reading: bytes))
            } else {
                content = .layer(try LayerDocument(reading: bytes, layer: id.text))
            }
        } catch {
            content = .unreadable(error)
        }
        switch content {
        case .layer(let document): number = document.revision.number
        case .registry(let document): number = document.revision.number
        case .unreadable: number = DocumentEnvelope.number(in: bytes)
        }
    }

    package var envelope: DocumentEnvelope? {
        switch content {
        case .layer(let document): document.envelope
        case .registry(let document): document.envelope
        case .unreadable: nil
        }
    }

    /// Number and hash; `nil` if the document is unreadable.
    package var revision: DocumentRevision? { envelope?.revision }

    /// The layer; `nil` if it is none.
    package var layer: LayerDocument? { if case .layer(let document) = content { document } else { nil } }

    /// The groups of a device; `nil` if it is no such document.
    package var registry: RegistryDocument? { if case .registry(let document) = content { document } else { nil } }

    /// Why the document is unreadable; `nil` if it is readable.
    package var problem: ConfigurationProblem? {
        if case .unreadable(let problem) = content { problem } else { nil }
    }

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
