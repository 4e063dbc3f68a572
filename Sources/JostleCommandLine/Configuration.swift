internal import Glibc
package import JostleConfiguration
internal import LinuxSystem

/// Loads the configuration for a command line: defaults, file, `--set`.
package enum Configuration {
    /// What a command does without the configuration of this board, which may name secrets: only root and the group jostle
    /// may read it.
    package enum BoardFile {
        /// It is about this board, and fails.
        case needed
        /// It goes on if the command line says with `--broker` or `--set` what to use instead.
        case replaceable
        /// It goes on with the defaults.
        case optional
    }

    /// Loads it; `overrides` (`key=value`) take precedence over everything else. If the `boardFile` is not needed and this
    /// user may not read it, a line says so and it is left out. A file that is named, here or in the environment, is needed.
    ///
    /// - Throws: status 78 with one line per problem, or 66 if the file cannot be read.
    package static func load(
        _ arguments: Arguments, file: String? = nil, overrides: [String] = [], boardFile: BoardFile = .needed
    ) throws(ConfigurationErrors) -> LoadedConfiguration {
        let overrides = arguments.values("set") + overrides
        let path = file ?? Configuration.file(arguments)
        do {
            return try JostleSettings.load(file: path, overrides: overrides)
        } catch {
            let isNamed = file != nil || arguments.has("config") || path != ConfigurationFile.systemPath
            let isReplaced = arguments.has("broker") || arguments.has("set")
            guard !isNamed, boardFile == .optional || boardFile == .replaceable && isReplaced, error.isPermission
            else { throw error }
            Output.warn("going on without the configuration of this board: \(error.failure.lines[0])")
            return try JostleSettings.load(file: nil, overrides: overrides)
        }
    }

    /// The settings of a command that is about boards at a broker, which `--broker` and `--set` can name instead of the file of
    /// this board.
    package static func ofBroker(
        _ arguments: Arguments, overrides: [String] = []
    ) throws(ConfigurationErrors) -> JostleSettings {
        try load(arguments, overrides: BrokerArgument.overrides(arguments) + overrides, boardFile: .replaceable)
            .settings
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
