internal import JostleConfiguration
internal import JostleMessages
package import LinuxSystem

extension FleetDirectory {
    /// The most files and directories, and the most bytes of all files together.
    package static let maximum = (entries: FleetModel.maximum.documents, bytes: 64 << 20)

    /// Reads the files of a directory. Files that are not YAML and hidden files do not belong to the fleet.
    ///
    /// A file whose name is refused is not read; it has no bytes.
    ///
    /// - Throws: the path that cannot be read, and why.
    package static func files(at directory: String) throws(FleetDirectoryError) -> [File] {
        let names = try names(at: directory)
        let base = withoutSlash(directory)
        var files: [File] = []
        var total = 0
        for name in names {
            let path = "\(base)/\(name)"
            guard isPlaced(name) else {
                files.append(File(name: name, path: path, bytes: []))
                continue
            }
            do throws(SystemFailure) {
                // One byte more than allowed, so that the reader reports a file that is too long.
                let bytes = try FileContents.bytes(of: path, limit: limits(of: name).bytes + 1)
                total += bytes.count
                files.append(File(name: name, path: path, bytes: bytes))
            } catch {
                throw .unreadable(path, error)
            }
            guard total <= maximum.bytes else { throw .tooLong(directory) }
        }
        return files
    }

    /// The names of the YAML files in a directory and in those below it. A file that is in none of the right directories
    /// is refused by its name later: it is probably in a misspelt one.
    ///
    /// - Throws: the path that cannot be read, and why.
    package static func names(at directory: String) throws(FleetDirectoryError) -> [String] {
        guard DirectoryContents.exists(directory) else { throw .noDirectory(directory) }
        var search = FileSearch(directory: directory, base: withoutSlash(directory))
        try search.look(into: [])
        return search.names
    }

    private static func isPlaced(_ name: String) -> Bool {
        do throws(ConfigurationProblem) {
            _ = try document(name, .file(name))
            return true
        } catch {
            return false
        }
    }

    private static func withoutSlash(_ directory: String) -> String {
        directory.hasSuffix("/") ? String(directory.dropLast()) : directory
    }
}

/// A search for YAML files in a directory and in those below it.
private struct FileSearch {
    /// The directory for messages, and without a slash at its end.
    let directory: String
    let base: String

    /// The paths of the files below the directory.
    private(set) var names: [String] = []
    private var directories = 0

    /// The most levels of directories that are looked at.
    private static let maximumDepth = 8

    init(directory: String, base: String) {
        self.directory = directory
        self.base = base
    }

    /// Looks into the directory with these names below `base`.
    ///
    /// Symbolic links to directories are refused: they can form a cycle, and a link that is left out would look like files
    /// that were removed.
    mutating func look(into parents: [String]) throws(FleetDirectoryError) {
        let parent = ([base] + parents).joined(separator: "/")
        let present: [String]
        do throws(SystemFailure) {
            present = try DirectoryContents.names(parent)
        } catch {
            throw .unreadable(parent, error)
        }
        for name in present where !name.hasPrefix(".") {
            let path = "\(parent)/\(name)"
            if name.hasSuffix(".yaml") || name.hasSuffix(".yml") {
                names.append((parents + [name]).joined(separator: "/"))
            } else if DirectoryContents.exists(path), parents.count + 1 < FileSearch.maximumDepth {
                guard !DirectoryContents.isLink(path) else { throw .linked(path) }
                directories += 1
                try look(into: parents + [name])
            }
            guard names.count + directories <= FleetDirectory.maximum.entries else { throw .tooMany(directory) }
        }
    }
}

/// Why the files of a fleet cannot be read.
package enum FleetDirectoryError: Error, Equatable, Sendable, CustomStringConvertible {
    case noDirectory(String)
    case unreadable(String, SystemFailure)
    /// A symbolic link to a directory.
    case linked(String)
    /// The directory has too many files and directories.
    case tooMany(String)
    /// Its files have too many bytes.
    case tooLong(String)

    /// Whether the files are there and can be read, but are not a fleet's.
    package var isUnsuitable: Bool {
        switch self {
        case .noDirectory, .unreadable: false
        case .linked, .tooMany, .tooLong: true
        }
    }

    package var description: String {
        switch self {
        case .noDirectory(let path): "\(path): no such directory"
        case .unreadable(let path, let failure): "\(path): \(failure)"
        case .linked(let path):
            "\(path): is a symbolic link to a directory, which is not followed; allowed: a directory (a name that begins "
                + "with a dot is left out)"
        case .tooMany(let path):
            "\(path): has more than \(FleetDirectory.maximum.entries) YAML files and directories, more than a fleet: is it "
                + "the right directory?"
        case .tooLong(let path):
            "\(path): its YAML files have more than \(FleetDirectory.maximum.bytes) bytes together; allowed: at most that"
        }
    }
}
