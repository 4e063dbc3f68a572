package import Documents
internal import Glibc
internal import LinuxSystem
internal import Synchronization

/// Standard output and standard error, for all commands.
///
/// Much of the output comes from the network or from files, and must not control the terminal. So control characters in
/// any text are escaped, and terminal commands are static strings or built by `ScreenDifference`.
package enum Output {
    /// The progress line, which the next output on standard output replaces; empty if there is none.
    private static let progress = Mutex("")

    // MARK: Standard output

    /// Writes a line.
    package static func line(_ text: String = "") { write(ForeignText.oneLine(text) + "\n") }

    /// Writes a text of several lines that includes its last line feed: a table, a help text.
    package static func text(_ text: String) { write(ForeignText.lines(text)) }

    /// Writes JSON on one line, without changing its value.
    package static func json(_ text: String) { write(ForeignText.json(text) + "\n") }
    package static func json(_ value: JSONValue) { json(value.compactText) }

    /// Whether standard output is a terminal that can rewrite its lines.
    package static var isTerminal: Bool {
        isatty(STDOUT_FILENO) == 1 && !["", "dumb"].contains(Configuration.variable("TERM") ?? "")
    }

    /// Writes a progress line over the one before.
    package static func live(_ text: String) {
        progress.withLock { progress in
            guard text != progress else { return }
            progress = text
            print("\r\u{1B}[K" + ForeignText.oneLine(text), terminator: "")
            fflush(nil)
        }
    }

    /// Leaves the progress line as it is: further output begins on a new line. Flushes all output to the system
    /// (fflush(3)).
    package static func flush() {
        progress.withLock { progress in
            if !progress.isEmpty { print() }
            progress = ""
            fflush(nil)
        }
    }

    /// Flushes standard output at the end of the program.
    ///
    /// - Throws: `ReaderIsGone`, or status 73, if any of it was not written.
    package static func finish() throws {
        flush()
        guard !StandardOutput.isWritten() else { return }
        // What the failed write has left in errno is gone.
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        let isReaderGone = poll(&output, 1, 0) == 1 && output.revents & Int16(POLLERR) != 0
        throw isReaderGone ? ReaderIsGone() : Failure(.cannotCreate, "standard output cannot be written") as any Error
    }

    private static func write(_ text: String) {
        progress.withLock { progress in
            print((progress.isEmpty ? "" : "\r\u{1B}[K") + text, terminator: "")
            progress = ""
        }
    }

    // MARK: Standard output with error checking

    /// Writes a line immediately; returns false, with errno set, on failure.
    package static func writes(line: String) -> Bool { write(ForeignText.oneLine(line) + "\n", to: STDOUT_FILENO) }

    /// Writes JSON on one line immediately; returns false, with errno set, on failure.
    package static func writes(json: String) -> Bool { write(ForeignText.json(json) + "\n", to: STDOUT_FILENO) }

    /// Sends a terminal command; returns false, with errno set, on failure.
    package static func writes(command: StaticString) -> Bool { write("\(command)", to: STDOUT_FILENO) }

    /// Writes a text that is not escaped, because it was built from safe parts; returns false, with errno set, on failure.
    package static func writes(safe text: String) -> Bool { write(text, to: STDOUT_FILENO) }

    /// Why standard output could not be written, right after that.
    package static func failure() -> any Error {
        errno == EPIPE ? ReaderIsGone() : Failure(.cannotCreate, "standard output: \(String(cString: strerror(errno)))")
    }

    // MARK: Standard error

    /// Writes that something is not as it should be, which does not end the program.
    package static func warn(_ text: String) { errors(["jostle: \(text)"]) }

    /// Writes lines to standard error, in one write(2).
    package static func errors(_ lines: [String]) {
        _ = write(lines.map { ForeignText.oneLine($0) + "\n" }.joined(), to: STDERR_FILENO)
    }

    /// Writes lines to standard error that were held back. They were escaped when they were written.
    package static func errors(held bytes: [UInt8]) {
        _ = write(ForeignText.lines(String(decoding: bytes, as: UTF8.self)), to: STDERR_FILENO)
    }

    /// Writes all of the text (write(2)); returns false, with errno set, on failure.
    private static func write(_ text: String, to descriptor: Int32) -> Bool {
        // A terminal that does not take the progress line keeps no other thread waiting.
        if progress.withLockIfAvailable({ !$0.isEmpty }) == true { flush() }
        var text = text
        return text.withUTF8 { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if errno == EAGAIN {
                    var output = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&output, 1, 1000)
                } else if errno != EINTR {
                    return false
                }
            }
            return true
        }
    }
}

/// Whoever read standard output has closed it, as `head` does when it has enough: the program ends, and has not failed.
package struct ReaderIsGone: Error {
    package init() {}
}

/// A number formatted by vsnprintf(3), such as `%.9g`.
package func printed(_ value: Double, _ format: String) -> String {
    // The largest number has 309 digits.
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 400) { buffer in
        let length = withVaList([value]) { vsnprintf(buffer.baseAddress, buffer.count, format, $0) }
        let text = UnsafeRawBufferPointer(buffer).prefix(max(0, min(Int(length), buffer.count - 1)))
        return String(decoding: text, as: UTF8.self)
    }
}

/// A number formatted for people, such as `%.1f`, `%+.1f`, `%.3g`: zero has no minus sign, even if rounding produced
/// it.
package func formatted(_ value: Double, _ format: String) -> String {
    let text = printed(value, format)
    let isZero = !text.contains { ("1"..."9").contains($0) }
    return isZero ? String(text.drop { $0 == "-" }) : text
}

/// A duration, easy to read at a glance: `41 s`, `12 min`, `3 h 12 min`, `5 d 3 h`.
package func durationText(_ seconds: Double) -> String {
    if seconds < 0 { return "-\(durationText(-seconds))" }
    let whole = Int(min(seconds, 1e12))
    switch whole {
    case ..<60: return "\(whole) s"
    case ..<3600: return "\(whole / 60) min"
    case ..<86_400: return "\(whole / 3600) h \(whole / 60 % 60) min"
    default: return "\(whole / 86_400) d \(whole / 3600 % 24) h"
    }
}

/// A number with three significant digits and no exponent, so that a column of them is comparable.
package func threeDigits(_ value: Double) -> String {
    switch abs(value) {
    case 100...: formatted(value, "%.0f")
    case 10..<100: formatted(value, "%.1f")
    case 1..<10: formatted(value, "%.2f")
    case 0.1..<1: formatted(value, "%.3f")
    case 0.01..<0.1: formatted(value, "%.4f")
    case 0.001..<0.01: formatted(value, "%.5f")
    default: formatted(value, "%.3g")
    }
}
