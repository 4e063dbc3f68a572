package import JostleConfiguration

/// A document to be published, without its revision.
package struct DocumentDraft: Equatable, Sendable {
    /// The layer's configuration or the device's groups, and other members that belong to the kind of document.
    package var content: [JSONValue.Member]

    /// Who publishes it, when (epoch milliseconds), and why.
    package var by: String?
    package var at: Int64?
    package var note: String?

    /// A draft of a layer.
    package init(
        config: JSONValue, candidate: JSONValue? = nil, ignoresUnknownKeys: Bool = false, by: String?, at: Int64?,
        note: String? = nil
    ) {
        content = [.init("config", config)]
        if let candidate { content.append(.init("candidate", candidate)) }
        if ignoresUnknownKeys { content.append(.init("unknown", "ignore")) }
        self.by = by
        self.at = at
        self.note = note
    }

    /// A draft of the groups of a device.
    package init(groups: [String], by: String?, at: Int64?, note: String? = nil) {
        content = [.init("groups", .array(groups.map { .string($0) }))]
        self.by = by
        self.at = at
        self.note = note
    }

    /// The message to publish.
    package func bytes(revision: Int64, signature: DocumentEnvelope.Signature? = nil) -> [UInt8] {
        var members: [JSONValue.Member] = [.init("schema", 1), .init("revision", .number("\(revision)"))] + content
        if let by { members.append(.init("by", .string(by))) }
        if let at { members.append(.init("at", .number("\(at)"))) }
        if let note { members.append(.init("note", .string(note))) }
        if let signature {
            members.append(.init("signature", ["key": .string(signature.key), "value": .string(signature.value)]))
        }
        return Array(JSONValue.object(members).compactText.utf8)
    }
}
