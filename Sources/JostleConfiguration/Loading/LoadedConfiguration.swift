internal import LinuxSystem

/// A valid configuration.
package struct LoadedConfiguration: Equatable, Sendable {
    /// The settings in force.
    package var settings: JostleSettings

    /// Which layer set each key.
    package var provenance: Provenance

    /// The files that were read, in the order in which they apply.
    package var files: [String]

    package init(settings: JostleSettings, provenance: Provenance, files: [String] = []) {
        self.settings = settings
        self.provenance = provenance
        self.files = files
    }
}

extension JostleSettings {
    /// Loads the built-in defaults, overridden by `file` if there is one, by the files of its drop-in directory, and by
    /// `overrides` (`key=value`).
    ///
    /// - Throws: all problems of all layers, or why a file could not be read.
    package static func load(
        file: String?, overrides: [String] = []
    ) throws(ConfigurationErrors) -> LoadedConfiguration {
        var builder = ConfigurationBuilder()
        let files = try file.map { path throws(ConfigurationErrors) in try builder.apply(fileWithDropIns: path) } ?? []
        for override in overrides { builder.apply(override: override) }
        return try builder.finish(files)
    }

    /// Loads the built-in defaults, overridden by one file of a drop-in directory alone, to check it. What it needs from
    /// the other files is not a problem.
    ///
    /// - Throws: all problems, or why the file could not be read.
    package static func load(
        alone file: String, of directory: DropInDirectory, overrides: [String] = []
    ) throws(ConfigurationErrors) -> LoadedConfiguration {
        var builder = ConfigurationBuilder()
        _ = try builder.apply(file: file, directory: directory.parent, limit: DropInDirectory.maximumBytes)
        for override in overrides { builder.apply(override: override) }
        guard builder.problems.isEmpty else { throw .invalid(builder.problems) }
        return LoadedConfiguration(settings: builder.settings, provenance: builder.provenance, files: [file])
    }
}

extension ConfigurationBuilder {
    /// Applies a YAML file and then those of its drop-in directory. If there are any, the file itself may be missing.
    ///
    /// - Returns: the files that were read.
    /// - Throws: if a file cannot be read. Problems in its content go to `problems`.
    fileprivate mutating func apply(fileWithDropIns path: String) throws(ConfigurationErrors) -> [String] {
        let directory = DropInDirectory(of: path)
        let dropIns = try directory.map { directory throws(ConfigurationErrors) in try files(of: directory) } ?? []
        var read: [String] = []
        do throws(ConfigurationErrors) {
            let parent = path.lastIndex(of: "/").map { String(path[...$0]) }
            _ = try apply(file: path, directory: parent, limit: ReaderLimits().bytes, mayBePipe: true)
            read.append(path)
        } catch {
            guard case .unreadable(_, let failure) = error, failure.isMissing, !dropIns.isEmpty else { throw error }
        }
        guard let directory else { return read }
        var left = DropInDirectory.maximumBytes
        for file in dropIns {
            let count = try apply(file: file, directory: directory.parent, limit: left)
            read.append(file)
            left -= count
            if left < 0 { break }
        }
        return read
    }

    private mutating func files(of directory: DropInDirectory) throws(ConfigurationErrors) -> [String] {
        do throws(SystemFailure) {
            let files = try directory.files()
            guard files.count > DropInDirectory.maximumCount else { return files }
            report(
                ConfigurationProblem(
                    at: ConfigurationPosition(.file(files[DropInDirectory.maximumCount])),
                    "is one file too many; at most \(DropInDirectory.maximumCount) are read from \(directory.path)"))
            return Array(files.prefix(DropInDirectory.maximumCount))
        } catch {
            throw .unreadable(path: directory.path, error)
        }
    }

    /// Applies a YAML file of at most `limit` bytes; relative paths in it refer to `directory`.
    ///
    /// - Returns: the length of the file, `limit + 1` if it is too long.
    /// - Throws: only if the file cannot be read. Problems in its content go to `problems`.
    fileprivate mutating func apply(
        file path: String, directory: String?, limit: Int, mayBePipe: Bool = false
    ) throws(ConfigurationErrors) -> Int {
        let bytes: [UInt8]
        do throws(SystemFailure) {
            // One byte more than allowed, so that a file that is too long is noticed.
            bytes = try FileContents.bytes(of: path, limit: limit + 1, mayBePipe: mayBePipe)
        } catch {
            throw .unreadable(path: path, error)
        }
        guard bytes.count <= limit else {
            let position = ConfigurationPosition(.file(path))
            report(
                ConfigurationProblem(
                    at: position,
                    mayBePipe
                        ? "longer than \(limit) bytes"
                        : "the files of this directory are together longer than \(DropInDirectory.maximumBytes) bytes"))
            return bytes.count
        }
        do throws(ConfigurationProblem) {
            apply(try YAMLReader.read(bytes, source: .file(path)), directory: directory)
        } catch {
            report(error)
        }
        return bytes.count
    }
}

/// Finds the configuration file.
package enum ConfigurationFile {
    /// The file of an installed system.
    package static let systemPath = "/etc/jostle/jostle.yaml"

    /// The file to load if the user names none: `$JOSTLE_CONFIG`, else the file of the instance `$JOSTLE_INSTANCE`
    /// beside the system's, `/etc/jostle/left.yaml` for example, else the system's if it or its drop-in directory
    /// exists.
    ///
    /// The file need not exist; loading it then fails, unless its drop-in directory has files.
    package static func standard(
        environment: (String) -> String? = environmentVariable, systemPath: String = systemPath
    ) -> String? {
        if let path = environment("JOSTLE_CONFIG"), !path.isEmpty { return path }
        if let instance = environment("JOSTLE_INSTANCE"), !instance.isEmpty {
            let directory = systemPath.lastIndex(of: "/").map { systemPath[...$0] } ?? ""
            return "\(directory)\(instance).yaml"
        }
        let hasDropIns = DropInDirectory(of: systemPath).map { $0.isUsed } ?? false
        return SystemCall.exists(systemPath) || hasDropIns ? systemPath : nil
    }

    /// An environment variable of the process.
    package static func environmentVariable(_ name: String) -> String? { SystemCall.environmentVariable(name) }
}
