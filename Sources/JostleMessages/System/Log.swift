internal import Glibc
internal import LinuxSystem

/// Writes log lines to standard error: with sd-daemon's priorities under the journal, plain on a terminal.
package struct Log: Sendable {
    /// The severity of a line; the raw values are syslog's.
    package enum Level: Int, Comparable, Sendable {
        case error = 3
        case warning = 4
        case info = 6
        case debug = 7

        package static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
    }

    /// The least severe level that is written.
    package let level: Level
    private let hasPriorities: Bool

    /// Creates a log. Lines carry priorities if standard error goes to the journal: systemd then sets JOURNAL_STREAM.
    package init(level: Level) {
        self.level = level
        hasPriorities = getenv("JOURNAL_STREAM") != nil && isatty(STDERR_FILENO) == 0
    }

    /// Logs a failure that needs the user's attention.
    package func error(_ text: @autoclosure () -> String) { write(.error, text) }
    /// Logs a problem with which the agent can continue.
    package func warning(_ text: @autoclosure () -> String) { write(.warning, text) }
    /// Logs a notable event.
    package func info(_ text: @autoclosure () -> String) { write(.info, text) }
    /// Logs a detail that helps with debugging.
    package func debug(_ text: @autoclosure () -> String) { write(.debug, text) }

    /// Logs a line at a level known only at run time.
    package func write(_ level: Level, _ text: @autoclosure () -> String) { write(level, text) }

    private func write(_ level: Level, _ text: () -> String) {
        guard level <= self.level else { return }
        let prefix = hasPriorities ? "<\(level.rawValue)>" : level <= .warning ? "jostle: \(level): " : "jostle: "
        var line = prefix + ForeignText.oneLine(text()) + "\n"
        // One write per line, so that lines of several threads do not mix.
        _ = line.withUTF8 { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
