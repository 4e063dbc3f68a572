internal import Glibc
package import JostleConfiguration
internal import LinuxSystem

/// Loads the configuration for a command line: defaults, file, `--set`.
package enum Configuration {
    /// Loads it; `overrides` (`key=value`) take precedence over everything else.
    ///
    /// - Throws: status 78 with one line per problem, or 66 if the file cannot be read.
    package static func load(
        _ arguments: Arguments, file: String? = nil, overrides: [String] = []
    ) throws -> LoadedConfiguration {
        try JostleSettings.load(
            file: file ?? Configuration.file(arguments), overrides: arguments.values("set") + overrides)
    }

    /// The main file of a command line; `nil` if there is none, so that the built-in defaults are in force.
    package static func file(_ arguments: Arguments) -> String? {
        arguments.value("config") ?? ConfigurationFile.standard()
    }

    /// Loads one file of a drop-in directory without the others.
    package static func load(
        _ arguments: Arguments, alone file: String, of directory: DropInDirectory
    ) throws -> LoadedConfiguration {
        try JostleSettings.load(alone: file, of: directory, overrides: arguments.values("set"))
    }

    /// The directory for persistent data: see "State directory" in docs/configuration.md.
    package static var stateDirectory: String {
        if let directory = variable("STATE_DIRECTORY") { return directory }
        if let directory = variable("XDG_STATE_HOME") { return "\(directory)/jostle" }
        return "\(variable("HOME") ?? "")/.local/state/jostle"
    }

    /// Whether this process is root's.
    package static var isRoot: Bool { geteuid() == 0 }

    /// An environment variable; `nil` if it is unset or empty.
    package static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}
