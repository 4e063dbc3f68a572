internal import Glibc
internal import LinuxSystem

/// Writes log lines: entries with fields to the journal if standard error goes there, else plain lines to standard error.
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
    /// The id of the device that logs; `nil` if it is not known.
    private let device: String?

    /// Creates a log.
    package init(level: Level, device: String? = nil) {
        self.level = level
        self.device = device
    }

    /// The same log, whose entries in the journal have the id of a device.
    package func with(device: String) -> Log { Log(level: level, device: device) }

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
        let message = ForeignText.oneLine(text())
        if Journal.isStandardError {
            var fields = [("MESSAGE", message), ("PRIORITY", "\(level.rawValue)"), ("SYSLOG_IDENTIFIER", "jostle")]
            if let device { fields.append(("JOSTLE_DEVICE", device)) }
            if Journal.send(fields) { return }
        }
        var line = (level <= .warning ? "jostle: \(level): " : "jostle: ") + message + "\n"
        // One write per line, so that lines of several threads do not mix.
        _ = line.withUTF8 { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
