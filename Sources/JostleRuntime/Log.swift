internal import CSystemd
internal import Glibc
internal import LinuxSystem

/// Writes log lines: entries with fields to the journal if standard error goes there, else plain lines to standard error.
package struct Log: Sendable {
    /// The severity of a line; the raw values are syslog's, as in sd-daemon(3).
    package enum Level: Int, CaseIterable, Comparable, Sendable {
        case error = 3
        case warning = 4
        case info = 6
        case debug = 7

        /// Whether `a` is more severe than `b`.
        package static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
    }

    /// The least severe level that is written.
    package let level: Level
    /// The id of the device that logs; `nil` if it is not known.
    private var device: String?
    /// The last lines, the oldest first; `nil` if they are not kept.
    private let kept: Locked<[Line]>?

    /// A line that was written, for whoever asks later.
    package struct Line: Sendable {
        /// Milliseconds since 1970, as the clock was then.
        package let time: Int64
        package let level: Level
        package let text: String
    }

    /// The most lines that are kept, and the most characters of each.
    private static let limits = (lines: 200, characters: 500)

    /// Creates a log. With `keepsLines`, it remembers the last ones.
    package init(level: Level, keepsLines: Bool = false) {
        self.level = level
        kept = keepsLines ? Locked([]) : nil
    }

    /// The same log, whose entries in the journal have the id of a device.
    package func with(device: String) -> Log {
        var log = self
        log.device = device
        return log
    }

    /// The last 200 lines, the oldest first; `nil` if they are not kept.
    package var lastLines: [Line]? { kept?.withLock { $0 } }

    private func keep(_ level: Level, _ message: String) {
        let text = ForeignText.excerpt(message, limit: Log.limits.characters)
        let line = Line(time: WallClock.milliseconds(at: WallClock.monotonic), level: level, text: text)
        kept?.withLock { lines in
            if lines.count >= Log.limits.lines { lines.removeFirst() }
            lines.append(line)
        }
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
        let message = ForeignText.oneLine(text())
        if kept != nil { keep(level, message) }
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

/// Systemd's journal: sd_journal_sendv(3).
package enum Journal {
    /// Whether standard error goes to the journal: `$JOURNAL_STREAM` has its device and inode.
    package static let isStandardError = isStream(STDERR_FILENO)

    /// Whether standard output goes to the journal.
    package static let isStandardOutput = isStream(STDOUT_FILENO)

    private static func isStream(_ descriptor: Int32) -> Bool {
        var status = stat()
        guard let stream = getenv("JOURNAL_STREAM"), fstat(descriptor, &status) == 0 else { return false }
        return String(cString: stream) == "\(status.st_dev):\(status.st_ino)"
    }

    /// Sends an entry with these fields.
    ///
    /// - Returns: whether the journal took it.
    static func send(_ fields: [(name: String, value: String)]) -> Bool {
        var bytes: [UInt8] = []
        var ends: [Int] = []
        for field in fields {
            bytes += "\(field.name)=\(field.value)".utf8
            ends.append(bytes.count)
        }
        return bytes.withUnsafeMutableBytes { buffer in
            guard let start = buffer.baseAddress else { return false }
            var begin = 0
            let vectors = ends.map { end -> iovec in
                defer { begin = end }
                return iovec(iov_base: start + begin, iov_len: end - begin)
            }
            return vectors.withUnsafeBufferPointer { sd_journal_sendv($0.baseAddress, Int32($0.count)) } >= 0
        }
    }
}
