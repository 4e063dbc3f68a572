internal import Documents
package import LinuxSystem

/// The directory beside a configuration file with further files, each of which overrides those before: `conf.d` for
/// `jostle.yaml`, `left.conf.d` for `left.yaml`.
package struct DropInDirectory: Equatable, Sendable {
    /// The most files that are read.
    package static let maximumCount = 64

    /// The most bytes of all files together: as many as one configuration file may have.
    package static let maximumBytes = ReaderLimits().bytes

    /// The end of the directory's name.
    private static let suffix = "conf.d"

    /// The end of the names that are read.
    private static let fileSuffix = ".yaml"

    /// The directory's path.
    package let path: String

    /// The directory that belongs to a configuration file; `nil` if the file's name does not end in `.yaml`.
    package init?(of file: String) {
        let (directory, name) = Self.split(file)
        guard name.hasSuffix(Self.fileSuffix), name.utf8.count > Self.fileSuffix.utf8.count else { return nil }
        let stem = name.dropLast(Self.fileSuffix.count)
        path = directory + (stem == "jostle" ? "" : "\(stem).") + Self.suffix
    }

    /// The directory that contains `file`; `nil` if it is not such a directory.
    package init?(containing file: String) {
        let (directory, _) = Self.split(file)
        let path = directory.hasSuffix("/") ? String(directory.dropLast()) : directory
        let name = Self.split(path).name
        guard name == Self.suffix || name.hasSuffix(".\(Self.suffix)") else { return nil }
        self.path = path
    }

    /// The directory of the main file, with a slash at the end; empty if that is the working directory. Relative paths
    /// in the files refer to it, so that a line means the same in each of them.
    var parent: String { Self.split(path).directory }

    /// The paths of the files in the order in which they apply, that of the bytes of their names. Hidden files, and those
    /// whose names do not end in `.yaml`, are left out. Without the directory there are none.
    ///
    /// - Throws: if the directory cannot be read.
    package func files() throws(SystemFailure) -> [String] {
        try names().filter { $0.hasSuffix(Self.fileSuffix) }.map { "\(path)/\($0)" }
    }

    /// Whether the directory has files that are read, or cannot be read.
    package var isUsed: Bool {
        do {
            return try !files().isEmpty
        } catch {
            return true
        }
    }

    /// The paths of files that look like configuration files, but are not read because of their names.
    package func ignoredFiles() throws(SystemFailure) -> [String] {
        let endings = [".yml", ".YAML", ".YML", ".yaml.txt", ".conf"]
        return try names().filter { name in endings.contains { name.hasSuffix($0) } }.map { "\(path)/\($0)" }
    }

    private func names() throws(SystemFailure) -> [String] {
        do {
            return try DirectoryContents.names(path).filter { !$0.hasPrefix(".") }
                .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        } catch  where error.isMissing {
            return []
        }
    }

    private static func split(_ path: String) -> (directory: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return ("", path) }
        return (String(path[...slash]), String(path[path.index(after: slash)...]))
    }
}
