internal import Glibc

/// Lines for people, to standard error: with sd-daemon's priorities under the journal, plain on a terminal.
public struct Log: Sendable {
    /// How much a line matters; the raw values are syslog's.
    public enum Level: Int, Comparable, Sendable {
        case error = 3
        case warning = 4
        case info = 6
        case debug = 7

        public static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
    }

    /// The least important level that is written.
    public let level: Level
    private let hasPriorities: Bool

    /// Makes a log; lines have priorities where standard error is the journal's: systemd sets JOURNAL_STREAM.
    public init(level: Level) {
        self.level = level
        hasPriorities = getenv("JOURNAL_STREAM") != nil && isatty(STDERR_FILENO) == 0
    }

    /// Something failed that needs somebody.
    public func error(_ text: @autoclosure () -> String) { write(.error, text) }
    /// Something is wrong, and the agent copes.
    public func warning(_ text: @autoclosure () -> String) { write(.warning, text) }
    /// Something worth knowing.
    public func info(_ text: @autoclosure () -> String) { write(.info, text) }
    /// Something that helps to find out why.
    public func debug(_ text: @autoclosure () -> String) { write(.debug, text) }

    private func write(_ level: Level, _ text: () -> String) {
        guard level <= self.level else { return }
        let prefix = hasPriorities ? "<\(level.rawValue)>" : level <= .warning ? "jostle: \(level): " : "jostle: "
        var line = prefix + Log.oneLine(text()) + "\n"
        // One write a line, so that lines of several threads do not mix.
        _ = line.withUTF8 { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// A text without control characters: what came over the network must not look like lines of our own, nor command a
    /// terminal, to which U+009B is as good as ESC [.
    public static func oneLine(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var line = ""
        for scalar in text.unicodeScalars {
            line += isControl(scalar) ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
        }
        return line
    }

    /// Control characters, C0 and C1, separators of lines, and what turns the direction of writing.
    private static func isControl(_ scalar: UnicodeScalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
