internal import Glibc
internal import LinuxSystem

/// Standard output and standard error, through which every command writes.
///
/// Much of what is written came over the network or out of a file. None of it can command the terminal: whatever the text, its
/// control characters are spelt out, and what does command the terminal cannot be made at run time.
enum Output {
    private static let startOfLine = "\r\u{1B}[K"

    // MARK: Standard output

    /// Writes a line; after `text`, `emphasis` in bold. Writes over the line that `live` left if `isOver`.
    static func line(_ text: String = "", emphasis: String = "", isOver: Bool = false) {
        var line = (isOver ? startOfLine : "") + ForeignText.oneLine(text)
        if !emphasis.isEmpty { line += "\u{1B}[1m" + ForeignText.oneLine(emphasis) + "\u{1B}[0m" }
        print(line)
    }

    /// Writes a text of several lines, which ends its last line itself: a table, a help.
    static func text(_ text: String, isOver: Bool = false) {
        print((isOver ? startOfLine : "") + ForeignText.lines(text), terminator: "")
    }

    /// Writes JSON in a line, with the same value.
    static func json(_ text: String) {
        print(ForeignText.json(text))
    }

    /// Writes a line over the last one, to be written over in its turn.
    static func live(_ text: String) {
        print(startOfLine + ForeignText.oneLine(text), terminator: "")
    }

    /// Hands everything to the system (fflush(3)).
    static func flush() {
        fflush(nil)
    }

    // MARK: Standard output, when it matters whether it could be written

    /// Writes a line at once; false with errno set if it could not be written.
    static func writes(line: String) -> Bool { write(ForeignText.oneLine(line) + "\n", to: STDOUT_FILENO) }

    /// Writes JSON in a line at once; false with errno set if it could not be written.
    static func writes(json: String) -> Bool { write(ForeignText.json(json) + "\n", to: STDOUT_FILENO) }

    /// Commands the terminal; false with errno set if it could not be written.
    static func writes(command: StaticString) -> Bool { write("\(command)", to: STDOUT_FILENO) }

    /// Draws on the terminal; false with errno set if it could not be written.
    static func writes(_ difference: ScreenDifference) -> Bool { write(difference.text, to: STDOUT_FILENO) }

    // MARK: Standard error

    /// Writes lines to standard error, in one write(2).
    static func errors(_ lines: String...) { errors(lines) }

    /// Writes lines to standard error, in one write(2).
    static func errors(_ lines: [String]) {
        _ = write(lines.map { ForeignText.oneLine($0) + "\n" }.joined(), to: STDERR_FILENO)
    }

    /// Writes everything (write(2)); false with errno set if it could not be written.
    private static func write(_ text: String, to descriptor: Int32) -> Bool {
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
