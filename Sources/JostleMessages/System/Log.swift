internal import Glibc
internal import LinuxSystem

/// Lines for people, to standard error: with sd-daemon's priorities under the journal, plain on a terminal.
package struct Log: Sendable {
    /// How much a line matters; the raw values are syslog's.
    package enum Level: Int, Comparable, Sendable {
        case error = 3
        case warning = 4
        case info = 6
        case debug = 7

        package static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
    }

    /// The least important level that is written.
    package let level: Level
    private let hasPriorities: Bool

    /// Makes a log; lines have priorities where standard error is the journal's: systemd sets JOURNAL_STREAM.
    package init(level: Level) {
        self.level = level
        hasPriorities = getenv("JOURNAL_STREAM") != nil && isatty(STDERR_FILENO) == 0
    }

    /// Something failed that needs somebody.
    package func error(_ text: @autoclosure () -> String) { write(.error, text) }
    /// Something is wrong, and the agent copes.
    package func warning(_ text: @autoclosure () -> String) { write(.warning, text) }
    /// Something worth knowing.
    package func info(_ text: @autoclosure () -> String) { write(.info, text) }
    /// Something that helps to find out why.
    package func debug(_ text: @autoclosure () -> String) { write(.debug, text) }

    /// Writes a line of a level.
    package func write(_ level: Level, _ text: @autoclosure () -> String) { write(level, text) }

    private func write(_ level: Level, _ text: () -> String) {
        guard level <= self.level else { return }
        let prefix = hasPriorities ? "<\(level.rawValue)>" : level <= .warning ? "jostle: \(level): " : "jostle: "
        var line = prefix + ForeignText.oneLine(text()) + "\n"
        // One write a line, so that lines of several threads do not mix.
        _ = line.withUTF8 { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
