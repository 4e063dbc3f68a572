internal import JostleConfiguration
internal import JostleMessages
package import LinuxSystem

/// The documents that this machine has seen, one file for each: what `jostle fleet rollback` goes back to.
///
/// Each broker and prefix has a directory of its own. A file is the message as it was on the broker. They are in the order
/// in which this machine first saw them: after the loss of a broker, revisions may begin with 1 again.
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

    /// Keeps the readable ones among these documents.
    ///
    /// - Throws: why a file cannot be written.
    package func keep(_ documents: [FleetDocumentID: StoredDocument]) throws(SystemFailure) {
        let readable = documents.filter { $0.value.revision != nil }
        guard !readable.isEmpty else { return }
        FileContents.makeDirectories(directory)
        var files = names()
        for (id, stored) in readable {
            guard let revision = stored.revision else { continue }
            let name = DocumentHistory.name(id, revision)
            var kept = files[id] ?? []
            guard !kept.contains(where: { $0.name == name }) else { continue }
            try FileContents.replace("\(directory)/\(name)", with: stored.bytes)
            kept.append(Entry(name: name, number: revision.number, seenAt: .max))
            while kept.count > DocumentHistory.maximumRevisions {
                try FileContents.remove("\(directory)/\(kept.removeFirst().name)")
            }
            files[id] = kept
        }
    }

    /// The highest revision number of each document.
    package var numbers: [FleetDocumentID: Int64] { names().compactMapValues { $0.map(\.number).max() } }

    /// The kept revisions of a document, the one that was first seen last at the beginning.
    package func revisions(of id: FleetDocumentID) -> [StoredDocument] {
        (names()[id] ?? []).reversed().compactMap { entry in
            do throws(SystemFailure) {
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
        var number: Int64
        /// When this machine first saw it, nanoseconds since 1970.
        var seenAt: Int64
    }

    /// `group.laundry.12.0f3a….json`: an id has no dots.
    private static func name(_ id: FleetDocumentID, _ revision: DocumentRevision) -> String {
        let layer = id.text.split(separator: ":").joined(separator: ".")
        return "\(layer).\(revision.number).\(revision.shortHash).json"
    }

    /// The files in the order in which this machine first saw them. None if they cannot be read.
    private func names() -> [FleetDocumentID: [Entry]] {
        var files: [String] = []
        do throws(SystemFailure) {
            files = try DirectoryContents.names(directory)
        } catch {
            return [:]
        }
        var names: [FleetDocumentID: [Entry]] = [:]
        for name in files {
            let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard parts.count >= 4, parts.last == "json", let number = Int64(parts[parts.count - 3]),
                let id = FleetDocumentID(parts.dropLast(3).joined(separator: ":"))
            else { continue }
            let time = DirectoryContents.modificationTime("\(directory)/\(name)") ?? 0
            names[id, default: []].append(Entry(name: name, number: number, seenAt: time))
        }
        return names.mapValues { $0.sorted { ($0.seenAt, $0.number) < ($1.seenAt, $1.number) } }
    }
}
