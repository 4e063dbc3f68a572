internal import Glibc
internal import JostleConfiguration
internal import JostleMessages
package import LinuxSystem

/// The documents that this machine has seen, one file for each: what `jostle fleet rollback` goes back to.
///
/// Each broker and prefix has a directory of its own. A file is the message as it was on the broker.
package struct DocumentHistory: Sendable {
    /// The most files that are kept for one document; older revisions are removed.
    package static let maximumRevisions = 20

    private let directory: String

    /// The history of the fleet at `broker` under `prefix`, below the directory for persistent data.
    package init(stateDirectory: String, broker: String, prefix: String) {
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
            kept.append(Entry(name: name, number: revision.number))
            kept.sort { $0.number < $1.number }
            while kept.count > DocumentHistory.maximumRevisions {
                try FileContents.remove("\(directory)/\(kept.removeFirst().name)")
            }
            files[id] = kept
        }
    }

    /// The kept revisions of a document, the newest first.
    package func revisions(of id: FleetDocumentID) -> [StoredDocument] {
        let entries = (names()[id] ?? []).sorted { $0.number > $1.number }
        return entries.compactMap { entry in
            do throws(SystemFailure) {
                let limit = DocumentEnvelope.maximumBytes + 1
                let bytes = try FileContents.bytes(of: "\(directory)/\(entry.name)", limit: limit)
                let stored = StoredDocument(id, bytes)
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
    }

    /// `group.laundry.12.0f3a….json`: an id has no dots.
    private static func name(_ id: FleetDocumentID, _ revision: DocumentRevision) -> String {
        let layer = id.text.split(separator: ":").joined(separator: ".")
        return "\(layer).\(revision.number).\(revision.shortHash).json"
    }

    private func names() -> [FleetDocumentID: [Entry]] {
        var names: [FleetDocumentID: [Entry]] = [:]
        for name in DirectoryContents.names(directory) {
            let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard parts.count >= 4, parts.last == "json", let number = Int64(parts[parts.count - 3]),
                let id = FleetDocumentID(parts.dropLast(3).joined(separator: ":"))
            else { continue }
            names[id, default: []].append(Entry(name: name, number: number))
        }
        return names
    }
}

/// Lists directories.
package enum DirectoryContents {
    /// The names in a directory in order, without `.` and `..`: opendir(3), readdir(3). Empty if it cannot be read.
    package static func names(_ path: String) -> [String] {
        guard let stream = opendir(path) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Whether a directory is at `path`: stat(2).
    package static func exists(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
