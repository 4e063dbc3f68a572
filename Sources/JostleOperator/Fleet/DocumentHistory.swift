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
///
/// The directory is read once, and a file when its document is needed.
package final class DocumentHistory {
    /// The most files that are kept for one document; those that were seen first are removed.
    package static let maximumRevisions = 20

    private let directory: String
    private let trust: DocumentTrust?
    /// The files in the order in which this machine first saw or sent them.
    private lazy var entries = files()
    /// Whether the documents in files are trusted, as far as that is known, by the names of the files.
    private var judgements: [String: Bool] = [:]

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
    package convenience init(stateDirectory: String, _ settings: JostleSettings, trust: DocumentTrust? = nil) {
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
        for (id, stored) in readable {
            guard let revision = stored.revision else { continue }
            try remove(id) { !$0.isSeen && $0.revision.order(after: revision) != .newer }
            try add(id, revision, stored.bytes, isSeen: true)
        }
    }

    /// Keeps documents that are about to be sent.
    ///
    /// - Throws: why a file cannot be written.
    package func keep(sending publications: [FleetPublication]) throws {
        guard !publications.isEmpty else { return }
        FileContents.makeDirectories(directory)
        for publication in publications {
            try add(publication.document, publication.revision, publication.bytes, isSeen: false)
        }
    }

    private func add(_ id: FleetDocumentID, _ revision: DocumentRevision, _ bytes: [UInt8], isSeen: Bool) throws {
        let name = DocumentHistory.name(id, revision, isSeen: isSeen)
        guard let entry = DocumentHistory.entry(name, keptAt: .max)?.entry else { return }
        let alike = (entries[id] ?? []).filter { $0.isSeen == isSeen }
        let same = alike.first { entry.revision.order(after: $0.revision) == .same }
        judgements[same?.name ?? name] = true
        guard same == nil else { return }
        try FileContents.replace("\(directory)/\(name)", with: bytes)
        entries[id, default: []].append(entry)
        let old = Set((alike + [entry]).dropLast(DocumentHistory.maximumRevisions).map(\.name))
        try remove(id) { old.contains($0.name) }
    }

    private func remove(_ id: FleetDocumentID, where isMeant: (Entry) -> Bool) throws {
        for entry in entries[id] ?? [] where isMeant(entry) {
            try FileContents.remove("\(directory)/\(entry.name)")
            entries[id]?.removeAll { $0.name == entry.name }
        }
    }

    /// The last revision that was seen of each document; its hash is the one in reports.
    package var latest: [FleetDocumentID: DocumentRevision] {
        var latest: [FleetDocumentID: DocumentRevision] = [:]
        for id in entries.keys { latest[id] = last(id, where: \.isSeen)?.revision }
        return latest
    }

    /// The last one of a document's trusted files.
    private func last(_ id: FleetDocumentID, where isMeant: (Entry) -> Bool) -> Entry? {
        // The last one is usually at the end, and only what may be the last one is read.
        (entries[id] ?? []).reversed().reduce(nil) { last, entry in
            isMeant(entry) && entry.revision.order(after: last?.revision) == .newer && isTrusted(entry, id)
                ? entry : last
        }
    }

    /// The last one of the documents that were seen or sent; `nil` if none was, or it cannot be read any more.
    package func last(of id: FleetDocumentID) -> StoredDocument? {
        last(id) { _ in true }.flatMap { document(id, $0) }
    }

    /// The revisions that were seen or sent, with the hashes in reports, but for those that the broker's follow.
    package func kept(
        beside held: [FleetDocumentID: StoredDocument] = [:]
    ) -> [FleetDocumentID: Set<DocumentRevision>] {
        var kept: [FleetDocumentID: Set<DocumentRevision>] = [:]
        for (id, entries) in entries {
            let present = held[id]?.revision
            let later = entries.filter { $0.revision.order(after: present) != .older && isTrusted($0, id) }
            if !later.isEmpty { kept[id] = Set(later.map(\.revision)) }
        }
        return kept
    }

    /// The groups of these devices by the documents that were last seen or sent.
    package func groups(of ids: some Sequence<String>) -> [String: [String]] {
        var groups: [String: [String]] = [:]
        for id in ids { groups[id] = last(of: .registry(id))?.registry?.groups }
        return groups
    }

    /// The devices of which a layer or the groups were seen or sent.
    package var devices: Set<String> { Set(entries.keys.compactMap(\.device)) }

    /// The revisions that were seen of a document, the one that was first seen last at the beginning.
    package func revisions(of id: FleetDocumentID) -> [StoredDocument] { documents(id, areSeen: true) }

    /// The revisions of a document that were sent, and have not been seen at the broker; the last one at the beginning.
    package func sentRevisions(of id: FleetDocumentID) -> [StoredDocument] { documents(id, areSeen: false) }

    private func documents(_ id: FleetDocumentID, areSeen: Bool) -> [StoredDocument] {
        (entries[id] ?? []).filter { $0.isSeen == areSeen }.reversed().compactMap { document(id, $0) }
    }

    /// The document in a file; `nil` if it is not readable or not trusted.
    private func document(_ id: FleetDocumentID, _ entry: Entry) -> StoredDocument? {
        do {
            let limit = DocumentEnvelope.maximumBytes + 1
            let bytes = try FileContents.bytes(of: "\(directory)/\(entry.name)", limit: limit)
            let stored = StoredDocument(id, bytes, trust: trust)
            return stored.revision == nil ? nil : stored
        } catch {
            return nil
        }
    }

    /// Whether a document counts. Without keys all do, so that no file is read.
    private func isTrusted(_ entry: Entry, _ id: FleetDocumentID) -> Bool {
        guard trust != nil else { return true }
        let isTrusted = judgements[entry.name] ?? (document(id, entry) != nil)
        judgements[entry.name] = isTrusted
        return isTrusted
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

    /// `group.laundry.12.0f3a…-1795182603123.json`, or `….sent`: an id has no dots. An epoch stands before the number.
    private static func name(_ id: FleetDocumentID, _ revision: DocumentRevision, isSeen: Bool) -> String {
        let layer = id.text.split(separator: ":").joined(separator: ".")
        let epoch = revision.epoch.isEmpty ? "" : "\(revision.epoch)."
        let time = revision.at.map { "-\($0)" } ?? ""
        return "\(layer).\(epoch)\(revision.number).\(revision.shortHash)\(time).\(isSeen ? "json" : "sent")"
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
        guard let epoch = head.last, let id = FleetDocumentID(head.dropLast().joined(separator: ":")) else {
            return nil
        }
        revision.epoch = epoch
        return (id, revision)
    }

    /// The files in the order in which this machine first saw or sent them. None if they cannot be read.
    private func files() -> [FleetDocumentID: [Entry]] {
        var files: [FleetDocumentID: [Entry]] = [:]
        for name in DirectoryContents.names(ofOptional: directory) {
            let time = DirectoryContents.modificationTime("\(directory)/\(name)") ?? 0
            guard let (id, entry) = DocumentHistory.entry(name, keptAt: time) else { continue }
            files[id, default: []].append(entry)
        }
        return files.mapValues { $0.sorted { ($0.keptAt, $0.revision.number) < ($1.keptAt, $1.revision.number) } }
    }

    /// The document and the entry of a file; `nil` if the name is none of the history's.
    private static func entry(_ name: String, keptAt time: Int64) -> (id: FleetDocumentID, entry: Entry)? {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.last == "json" || parts.last == "sent", let (id, revision) = document(parts.dropLast()) else {
            return nil
        }
        return (id, Entry(name: name, revision: revision, isSeen: parts.last == "json", keptAt: time))
    }
}
