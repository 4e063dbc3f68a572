package import JostleConfiguration
package import JostleMessages
internal import LinuxSystem

/// The documents that this machine has seen, one file for each: what `jostle fleet rollback` goes back to.
///
/// Each broker and prefix has a directory of its own. A file is the message as it was on the broker. They are in the order
/// in which this machine first saw them: after the loss of a broker, revisions may begin with 1 again.
///
/// A document is also kept before it is sent, until the broker has been seen to hold it or a later one: a broker that ends
/// in that moment may have passed it on to boards and lost it.
package struct DocumentHistory: Sendable {
    /// The most files that are kept for one document; those that were seen first are removed.
    package static let maximumRevisions = 20

    private let directory: String
    private let trust: DocumentTrust?

    /// The history of the fleet at `broker` under `prefix`, below the directory for persistent data. Documents that are
    /// not trusted are not kept, and those that were kept earlier are left out.
    package init(stateDirectory: String, broker: String, prefix: String, trust: DocumentTrust? = nil) {
        self.trust = trust
        let name = "\(broker)-\(prefix)".map { character in
            character.isASCII && (character.isLetter || character.isNumber || character == ".") ? character : "-"
        }
        directory = "\(stateDirectory)/fleet-history/\(String(name).drop { $0 == "." })"
    }

    /// The history of the fleet at the configured broker.
    package init(stateDirectory: String, _ settings: JostleSettings, trust: DocumentTrust? = nil) {
        let broker = settings.forCommands.brokers(embeddedPort: nil).first.map { "\($0)" } ?? ""
        self.init(stateDirectory: stateDirectory, broker: broker, prefix: settings.mqtt.prefix, trust: trust)
    }

    /// Keeps the readable ones among these documents.
    ///
    /// - Throws: why a file cannot be written.
    package func keep(_ documents: [FleetDocumentID: StoredDocument]) throws {
        let readable = documents.filter { $0.value.revision != nil }
        guard !readable.isEmpty else { return }
        FileContents.makeDirectories(directory)
        let names = names()
        for (id, stored) in readable {
            guard let revision = stored.revision else { continue }
            for entry in names[id] ?? [] where !entry.isSeen && entry.revision.order(after: revision) != .newer {
                try FileContents.remove("\(directory)/\(entry.name)")
            }
            try add(id, revision, stored.bytes, isSeen: true, beside: names)
        }
    }

    /// Keeps documents that are about to be sent.
    ///
    /// - Throws: why a file cannot be written.
    package func keep(sending publications: [FleetPublication]) throws {
        guard !publications.isEmpty else { return }
        FileContents.makeDirectories(directory)
        let names = names()
        for publication in publications {
            try add(publication.document, publication.revision, publication.bytes, isSeen: false, beside: names)
        }
    }

    private func add(
        _ id: FleetDocumentID, _ revision: DocumentRevision, _ bytes: [UInt8], isSeen: Bool,
        beside names: [FleetDocumentID: [Entry]]
    ) throws {
        var kept = (names[id] ?? []).filter { $0.isSeen == isSeen }
        let name = DocumentHistory.name(id, revision, isSeen: isSeen)
        var stored = revision
        stored.hash = revision.shortHash
        // Earlier programs kept it under another name.
        guard !kept.contains(where: { stored.order(after: $0.revision) == .same }) else { return }
        try FileContents.replace("\(directory)/\(name)", with: bytes)
        kept.append(Entry(name: name, revision: revision, isSeen: isSeen, keptAt: .max))
        for old in kept.dropLast(DocumentHistory.maximumRevisions) {
            try FileContents.remove("\(directory)/\(old.name)")
        }
    }

    /// The last revision that was seen of each document; its hash is the one in reports.
    package var latest: [FleetDocumentID: DocumentRevision] {
        names().compactMapValues { entries in
            entries.filter(\.isSeen).map(\.revision).reduce(nil) { $1.order(after: $0) == .newer ? $1 : $0 }
        }
    }

    /// The revision numbers of documents that were sent, and have not been seen at the broker.
    package var sentNumbers: [FleetDocumentID: Set<Int64>] {
        names().compactMapValues { entries in
            let numbers = Set(entries.filter { !$0.isSeen }.map(\.revision.number))
            return numbers.isEmpty ? nil : numbers
        }
    }

    /// The devices of which a layer or the groups were seen or sent.
    package var devices: Set<String> { Set(names().keys.compactMap(\.device)) }

    /// The revisions that were seen of a document, the one that was first seen last at the beginning.
    package func revisions(of id: FleetDocumentID) -> [StoredDocument] { documents(id, areSeen: true) }

    /// The revisions of a document that were sent, and have not been seen at the broker; the last one at the beginning.
    package func sentRevisions(of id: FleetDocumentID) -> [StoredDocument] { documents(id, areSeen: false) }

    private func documents(_ id: FleetDocumentID, areSeen: Bool) -> [StoredDocument] {
        (names()[id] ?? []).filter { $0.isSeen == areSeen }.reversed().compactMap { entry in
            do {
                let limit = DocumentEnvelope.maximumBytes + 1
                let bytes = try FileContents.bytes(of: "\(directory)/\(entry.name)", limit: limit)
                let stored = StoredDocument(id, bytes, trust: trust)
                return stored.revision == nil ? nil : stored
            } catch {
                return nil
            }
        }
    }

    // MARK: File names

    private struct Entry {
        var name: String
        /// With the hash in reports. If an earlier program kept a document without an epoch, without its time.
        var revision: DocumentRevision
        /// Whether the broker held it.
        var isSeen: Bool
        /// When this machine first saw or sent it, nanoseconds since 1970.
        var keptAt: Int64
    }

    /// `group.laundry.12.0f3a…-1795182603123.json`, or `….sent`: an id has no dots. An epoch and its time stand before the
    /// number.
    private static func name(_ id: FleetDocumentID, _ revision: DocumentRevision, isSeen: Bool) -> String {
        let layer = id.text.split(separator: ":").joined(separator: ".")
        let time = revision.at.map { "-\($0)" } ?? ""
        let (epoch, end) = revision.epoch.isEmpty ? ("", time) : ("\(revision.epoch)\(time).", "")
        return "\(layer).\(epoch)\(revision.number).\(revision.shortHash)\(end).\(isSeen ? "json" : "sent")"
    }

    /// The document and the revision in a name without its ending.
    private static func document(_ parts: ArraySlice<String>) -> (FleetDocumentID, DocumentRevision)? {
        guard parts.count >= 3, let end = parts.last?.split(separator: "-"), let hash = end.first,
            let number = Int64(parts[parts.endIndex - 2])
        else { return nil }
        let time = end.dropFirst().first.flatMap { Int64($0) }
        var revision = DocumentRevision(number: number, hash: String(hash), at: time)
        let head = parts.dropLast(2)
        if let id = FleetDocumentID(head.joined(separator: ":")) { return (id, revision) }
        let epoch = head.last?.split(separator: "-") ?? []
        guard epoch.count == 2, let at = Int64(epoch[1]),
            let id = FleetDocumentID(head.dropLast().joined(separator: ":"))
        else { return nil }
        (revision.epoch, revision.at) = (String(epoch[0]), at)
        return (id, revision)
    }

    /// The files in the order in which this machine first saw or sent them. None if they cannot be read.
    private func names() -> [FleetDocumentID: [Entry]] {
        var files: [String] = []
        do {
            files = try DirectoryContents.names(directory)
        } catch {
            return [:]
        }
        var names: [FleetDocumentID: [Entry]] = [:]
        for name in files {
            let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard parts.last == "json" || parts.last == "sent",
                let (id, revision) = DocumentHistory.document(parts.dropLast())
            else { continue }
            let time = DirectoryContents.modificationTime("\(directory)/\(name)") ?? 0
            names[id, default: []].append(
                Entry(name: name, revision: revision, isSeen: parts.last == "json", keptAt: time))
        }
        return names.mapValues { $0.sorted { ($0.keptAt, $0.revision.number) < ($1.keptAt, $1.revision.number) } }
    }
}
