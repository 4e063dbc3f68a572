internal import Glibc
internal import JostleConfiguration
internal import JostleMessages

/// The configuration that a command line asks for: defaults, file, `--set`.
enum Configuration {
    /// Reads it; `overrides`, `key=value`, go above all else.
    ///
    /// - Throws: status 78 with every problem on a line of its own, or 66 where the file cannot be read.
    static func load(
        _ arguments: Arguments, file: String? = nil, overrides: [String] = []
    ) throws(CommandFailure) -> LoadedConfiguration {
        let file = file ?? arguments.value("config") ?? ConfigurationFile.standard()
        do throws(ConfigurationErrors) {
            return try JostleSettings.load(file: file, overrides: arguments.values("set") + overrides)
        } catch {
            switch error {
            case .unreadable: throw CommandFailure(.noInput, "\(error)")
            case .invalid(let problems): throw CommandFailure(.configuration, lines: problems.map(\.description))
            }
        }
    }

    /// Where things are kept that outlive a run: see "State directory" in docs/configuration.md.
    static var stateDirectory: String {
        if let directory = variable("STATE_DIRECTORY") { return directory }
        if let directory = variable("XDG_STATE_HOME") { return "\(directory)/jostle" }
        return "\(variable("HOME") ?? "")/.local/state/jostle"
    }

    /// An environment variable that is set to something.
    static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension JostleSettings.LogLevel {
    var logLevel: JostleMessages.Log.Level {
        switch self {
        case .error: .error
        case .warning: .warning
        case .info: .info
        case .debug: .debug
        }
    }
}
