internal import Cryptography
package import Documents

/// What identifies a document: its number, which grows with every publication on a topic within an epoch, and its hash.
package struct DocumentRevision: Hashable, Sendable {
    /// From 1; compared with the number that was accepted before.
    package var number: Int64

    /// SHA-256 of the canonical form (RFC 8785) without the signature, 64 hexadecimal digits.
    package var hash: String

    /// The epoch in which the numbers count; empty for a document without one.
    package var epoch: String

    /// When it was published, milliseconds since 1970, as the publisher says: what orders epochs.
    package var at: Int64?

    package init(number: Int64, hash: String, epoch: String = "", at: Int64? = nil) {
        self.number = number
        self.hash = hash
        self.epoch = epoch
        self.at = at
    }

    /// The hash in reports: the first 16 digits.
    package var shortHash: String { String(hash.prefix(16)) }

    /// The largest number.
    package static let maximum: Int64 = (1 << 31) - 1

    /// The largest number that earlier programs accepted, and boards may still have: integers up to here are exact in JSON.
    package static let maximumStored: Int64 = 1 << 53

    /// How far ahead the clock of a publisher may be, milliseconds: a day.
    package static let clockTolerance: Int64 = 86_400_000

    /// How a document follows another one on its topic.
    package enum Order: Equatable, Sendable {
        case newer, same, conflict, older
    }

    /// How the document follows another one, or `nil` if there is none.
    package func order(after accepted: DocumentRevision?) -> Order {
        guard let accepted else { return .newer }
        guard epoch == accepted.epoch else { return (at ?? -1) > (accepted.at ?? -1) ? .newer : .older }
        guard number == accepted.number else { return number > accepted.number ? .newer : .older }
        return hash == accepted.hash ? .same : .conflict
    }
}

/// What all documents of a fleet have in common: a layer, or the groups of a device.
package struct DocumentEnvelope: Equatable, Sendable {
    /// A signature over the document without this member.
    package struct Signature: Equatable, Sendable {
        /// The name of the key.
        package var key: String
        /// The signature in base64.
        package var value: String
    }

    /// The message as it was received.
    package let bytes: [UInt8]

    package let revision: DocumentRevision

    /// Who published it, when (epoch milliseconds), and why; as the publisher says.
    package let by: String?
    package var at: Int64? { revision.at }
    package let note: String?

    package let signature: Signature?

    /// The whole document.
    let tree: JSONValue

    /// The largest document, bytes.
    package static let maximumBytes = 65_536

    private static let limits = ReaderLimits(bytes: maximumBytes, keys: 1000)

    private static let members = ["schema", "revision", "epoch", "by", "at", "note", "signature"]

    /// Reads a document whose members are those of every envelope and `more`. One that is stored may have a larger number.
    ///
    /// - Throws: the first problem, with the path of the member.
    init(
        reading bytes: [UInt8], source: DocumentSource, more: [String], isStored: Bool = false
    ) throws(DocumentProblem) {
        let tree = try JSONReader.read(bytes, source: source, limits: DocumentEnvelope.limits)
        guard let entries = tree.members else {
            throw DocumentProblem(at: tree.position, "not a JSON object")
        }
        let names = DocumentEnvelope.members + more
        // The schema comes first: the members of another one are unknown.
        guard let schema = tree["schema"] else {
            throw DocumentProblem(at: tree.position, "has no key \"schema\"")
        }
        guard schema == 1 else {
            throw DocumentProblem(
                at: schema.position, path: "schema", found: schema.text, "is not supported", allowed: "1")
        }
        if let unknown = entries.first(where: { !names.contains($0.name) }) {
            throw DocumentProblem(
                at: unknown.position, path: unknown.name, "unknown key",
                allowed: names.joined(separator: ", "))
        }
        let number = try tree.integer(
            "revision", in: 1...(isStored ? DocumentRevision.maximumStored : DocumentRevision.maximum))
        guard let number else { throw DocumentProblem(at: tree.position, "has no key \"revision\"") }
        by = try tree.line("by", maximum: 200)
        let at = try tree.integer("at", in: 0...DocumentRevision.maximumStored)
        let epoch = try DocumentEnvelope.epoch(in: tree)
        guard epoch.isEmpty || at != nil else {
            throw DocumentProblem(at: tree.position, path: "at", "is missing; a document with an epoch needs its time")
        }
        note = try tree.line("note", maximum: 1000)
        signature = try DocumentEnvelope.signature(in: tree)
        let canonical = try DocumentEnvelope.withoutSignature(tree).canonicalText()
        revision = DocumentRevision(
            number: number, hash: SHA256Digest(of: canonical.utf8).hexadecimal, epoch: epoch, at: at)
        self.bytes = bytes
        self.tree = tree
    }

    /// The revision of a document that may be unreadable otherwise, with an empty hash; `nil` if it has none.
    package static func revision(in bytes: [UInt8]) -> DocumentRevision? {
        do {
            let tree = try JSONReader.read(bytes, source: .message(""), limits: limits)
            let number = try tree.integer("revision", in: 1...DocumentRevision.maximumStored)
            let at = try tree.integer("at", in: 0...DocumentRevision.maximumStored)
            return try number.map { try DocumentRevision(number: $0, hash: "", epoch: epoch(in: tree), at: at) }
        } catch {
            return nil
        }
    }

    /// The signature of a document that may be unreadable otherwise; `nil` if it has none.
    package static func signature(in bytes: [UInt8]) -> Signature? {
        do { return try signature(in: JSONReader.read(bytes, source: .message(""), limits: limits)) } catch {
            return nil
        }
    }

    private static func epoch(in tree: JSONValue) throws(DocumentProblem) -> String {
        guard let node = tree["epoch"] else { return "" }
        guard let text = node.string, (8...32).contains(text.utf8.count),
            text.allSatisfy({ $0.isASCII && $0.isHexDigit })
        else {
            throw DocumentProblem(
                at: node.position, path: "epoch", found: node.text, "is no epoch", allowed: "8 … 32 hexadecimal digits")
        }
        return text
    }

    /// The whole document but for the signature.
    var contentWithoutSignature: JSONValue { DocumentEnvelope.withoutSignature(tree) }

    private static func withoutSignature(_ tree: JSONValue) -> JSONValue {
        guard let entries = tree.members else { return tree }
        return JSONValue(.object(entries.filter { $0.name != "signature" }), at: tree.position)
    }

    private static func signature(in tree: JSONValue) throws(DocumentProblem) -> Signature? {
        guard let node = tree["signature"] else { return nil }
        guard let entries = node.members, entries.allSatisfy({ ["key", "value"].contains($0.name) }),
            let key = try node.line("key", maximum: 64, under: "signature"),
            let value = try node.line("value", maximum: 1024, under: "signature")
        else {
            throw DocumentProblem(
                at: node.position, path: "signature", "is not a signature", allowed: "{\"key\": …, \"value\": …}")
        }
        return Signature(key: key, value: value)
    }

    package static func == (one: DocumentEnvelope, other: DocumentEnvelope) -> Bool { one.bytes == other.bytes }
}

extension JSONValue {
    /// A whole number; `nil` if the key is absent.
    func integer(_ key: String, in bounds: ClosedRange<Int64>) throws(DocumentProblem) -> Int64? {
        guard let node = self[key] else { return nil }
        guard let value = node.integer, bounds.contains(value) else {
            throw DocumentProblem(
                at: node.position, path: key, found: node.text, "is not a whole number within its bounds",
                allowed: "\(bounds.lowerBound) … \(bounds.upperBound)")
        }
        return value
    }

    /// A text on one line; `nil` if the key is absent.
    func line(_ key: String, maximum: Int, under parent: String? = nil) throws(DocumentProblem) -> String? {
        guard let node = self[key] else { return nil }
        guard let text = node.string, (1...maximum).contains(text.utf8.count),
            text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else {
            throw DocumentProblem(
                at: node.position, path: (parent.map { "\($0)." } ?? "") + key, found: node.text,
                "is not a line of text", allowed: "text of 1 … \(maximum) bytes on one line")
        }
        return text
    }
}

/// Who publishes a document, when (epoch milliseconds), and why.
package struct DocumentAuthor: Equatable, Sendable {
    package var by: String?
    package var at: Int64?
    package var note: String?

    package init(by: String? = nil, at: Int64? = nil, note: String? = nil) {
        self.by = by
        self.at = at
        self.note = note
    }
}

/// What a document to be published says.
package struct DocumentDraft: Equatable, Sendable {
    /// The layer's configuration or the device's groups, and other members that belong to the kind of document.
    package let content: [JSONValue.Member]

    /// A draft of a layer.
    package init(config: JSONValue, candidate: JSONValue? = nil, ignoresUnknownKeys: Bool = false) {
        var content: [JSONValue.Member] = [.init("config", config)]
        if let candidate { content.append(.init("candidate", candidate)) }
        if ignoresUnknownKeys { content.append(.init("unknown", "ignore")) }
        self.content = content
    }

    /// A draft of the groups of a device.
    package init(groups: [String]) {
        content = [.init("groups", .strings(groups))]
    }

    /// The configuration of a layer.
    package var config: JSONValue? { JSONValue.object(content)["config"] }

    package var ignoresUnknownKeys: Bool { content.contains { $0.name == "unknown" } }

    package var hasCandidate: Bool { content.contains { $0.name == "candidate" } }

    /// The message to publish.
    package func bytes(
        revision: Int64, epoch: String = "", author: DocumentAuthor = DocumentAuthor(),
        signature: DocumentEnvelope.Signature? = nil
    ) -> [UInt8] {
        let head: JSONValue = [
            "schema": 1, "revision": .number(revision), "epoch": epoch.isEmpty ? nil : .string(epoch),
        ]
        let signature: JSONValue? = signature.map { ["key": .string($0.key), "value": .string($0.value)] }
        let tree = head.adding(.object(content)).adding([
            "by": author.by.map { .string($0) }, "at": author.at.map { .number($0) },
            "note": author.note.map { .string($0) }, "signature": signature,
        ])
        return Array(tree.compactText.utf8)
    }
}
