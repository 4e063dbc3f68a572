internal import LinuxSystem

/// A valid configuration.
package struct LoadedConfiguration: Equatable, Sendable {
    /// The settings in force.
    package var settings: JostleSettings

    /// Which layer set each key.
    package var provenance: Provenance

    package init(settings: JostleSettings, provenance: Provenance) {
        self.settings = settings
        self.provenance = provenance
    }
}

extension JostleSettings {
    /// Loads the built-in defaults, overridden by `file` if there is one, overridden by `overrides` (`key=value`).
    ///
    /// - Throws: all problems of all layers, or why the file could not be read.
    package static func load(
        file: String?, overrides: [String] = []
    ) throws(ConfigurationErrors) -> LoadedConfiguration {
        var builder = ConfigurationBuilder()
        if let file { try builder.apply(file: file) }
        for override in overrides { builder.apply(override: override) }
        return try builder.finish()
    }
}

extension ConfigurationBuilder {
    /// Applies a YAML file; relative paths in it refer to its directory.
    ///
    /// - Throws: only if the file cannot be read. Problems in its content go to `problems`.
    package mutating func apply(file path: String) throws(ConfigurationErrors) {
        let bytes: [UInt8]
        do throws(SystemFailure) {
            // One byte more than allowed, so that the reader reports a file that is too long.
            bytes = try FileContents.bytes(of: path, limit: ReaderLimits().bytes + 1, mayBePipe: true)
        } catch {
            throw .unreadable(path: path, error)
        }
        do throws(ConfigurationProblem) {
            let directory = path.lastIndex(of: "/").map { String(path[...$0]) }
            apply(try YAMLReader.read(bytes, source: .file(path)), directory: directory)
        } catch {
            report(error)
        }
    }
}

/// Finds the configuration file.
package enum ConfigurationFile {
    /// The file of an installed system.
    package static let systemPath = "/etc/jostle/jostle.yaml"

    /// The file to load if the user names none: `$JOSTLE_CONFIG`, else the file of the instance `$JOSTLE_INSTANCE`
    /// beside the system's, `/etc/jostle/left.yaml` for example, else the system's if it exists.
    ///
    /// A file named by a variable need not exist; loading it then fails.
    package static func standard(
        environment: (String) -> String? = environmentVariable, systemPath: String = systemPath
    ) -> String? {
        if let path = environment("JOSTLE_CONFIG"), !path.isEmpty { return path }
        if let instance = environment("JOSTLE_INSTANCE"), !instance.isEmpty {
            let directory = systemPath.lastIndex(of: "/").map { systemPath[...$0] } ?? ""
            return "\(directory)\(instance).yaml"
        }
        return SystemCall.exists(systemPath) ? systemPath : nil
    }

    /// An environment variable of the process.
    package static func environmentVariable(_ name: String) -> String? { SystemCall.environmentVariable(name) }
}
