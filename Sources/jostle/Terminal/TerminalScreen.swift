internal import Glibc
internal import JostleCommandLine
internal import LinuxSystem

/// The terminal at standard output as a full screen; its former state is restored at the end.
final class TerminalScreen {
    /// Larger windows are filled only in part.
    private static let largest = ScreenSize(columns: 400, rows: 150)

    private var shown: [ScreenLine]?
    private var isEntered = false
    private var settings: termios?

    /// Whether keys can be read from standard input.
    private(set) var hasKeys = isatty(STDIN_FILENO) == 1

    /// Writes a progress line over the one before; without such a terminal it does nothing.
    static func progress(_ text: String) {
        if Output.isTerminal { Output.live(text) }
    }

    deinit {
        leave()
    }

    /// Takes over the terminal: alternate screen, no cursor, no line wrap, no echo. If it may not be suspended, the keys
    /// for that (Ctrl-Z) and for a core dump (Ctrl-\) do nothing.
    func enter(mayBeSuspended: Bool = true) {
        guard !isEntered else { return }
        isEntered = true
        shown = nil
        var before = termios()
        if hasKeys, tcgetattr(STDIN_FILENO, &before) == 0 {
            settings = before
            var quiet = before
            quiet.c_lflag &= ~tcflag_t(ICANON | ECHO)
            if !mayBeSuspended {
                withUnsafeMutableBytes(of: &quiet.c_cc) { keys in
                    // _POSIX_VDISABLE
                    for key in [VSUSP, VQUIT] { keys[Int(key)] = 0 }
                }
            }
            tcsetattr(STDIN_FILENO, TCSANOW, &quiet)
        }
        _ = Output.writes(command: "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l")
    }

    /// Restores the terminal.
    func leave() {
        guard isEntered else { return }
        isEntered = false
        _ = Output.writes(command: "\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
        if var settings { tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings) }
        settings = nil
    }

    /// The size of the window (ioctl TIOCGWINSZ); 80 by 24 if it is unknown.
    var size: ScreenSize { TerminalScreen.currentSize }

    /// The size of the window at standard output.
    static var currentSize: ScreenSize {
        var window = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else {
            return ScreenSize(columns: 80, rows: 24)
        }
        return ScreenSize(
            columns: min(Int(window.ws_col), TerminalScreen.largest.columns),
            rows: min(Int(window.ws_row), TerminalScreen.largest.rows))
    }

    /// Makes the next call of `draw` write the whole screen.
    func invalidate() { shown = nil }

    /// Writes the lines that changed. Does nothing while the terminal accepts no output (Ctrl-S).
    ///
    /// - Returns: whether the terminal is still there.
    func draw(_ lines: [ScreenLine]) -> Bool {
        var output = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
        guard poll(&output, 1, 0) > 0 else { return true }
        if output.revents & Int16(POLLERR | POLLHUP) != 0 { return false }
        let difference = ScreenDifference(from: shown, to: lines)
        guard !difference.text.isEmpty else { return true }
        shown = lines
        return Output.writes(safe: difference.text)
    }

    /// Returns the keys typed since the last call.
    func takeKeys() -> [UInt8] {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard hasKeys, poll(&input, 1, 0) > 0 else { return [] }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(STDIN_FILENO, &buffer, buffer.count)
        // At the end of the input, poll would report it as ready forever.
        if count == 0 { hasKeys = false }
        return Array(buffer.prefix(max(0, count)))
    }
}

/// A line of a screen; every character takes one column.
struct ScreenLine: Equatable {
    var text: String
    var style = Style.plain

    enum Style: Equatable {
        case plain
        /// The screen's title.
        case title
        /// New content.
        case bold
        /// Less important content.
        case dim
        /// A problem that needs attention.
        case warning

        /// The escape sequence for the style (ECMA-48, SGR); empty for none.
        var code: String {
            switch self {
            case .plain: ""
            case .title: "\u{1B}[7m"
            case .bold: "\u{1B}[1m"
            case .dim: "\u{1B}[2m"
            case .warning: "\u{1B}[1;33m"
            }
        }
    }

    init(_ text: String, _ style: Style = .plain) {
        self.text = text
        self.style = style
    }
}

/// The output that turns one screen into another: only the lines that differ.
struct ScreenDifference {
    /// The text with its terminal commands; empty if there is no difference.
    let text: String

    /// The difference between two screens; the whole new screen if the old one is unknown.
    init(from old: [ScreenLine]?, to new: [ScreenLine]) {
        var text = old == nil ? "\u{1B}[2J" : ""
        for row in 0..<max(old?.count ?? 0, new.count) {
            let line = row < new.count ? new[row] : ScreenLine("")
            if let old, row < old.count, old[row] == line { continue }
            // The row is erased first: behind a full row, the terminal would erase its last character.
            text += "\u{1B}[\(row + 1);1H\u{1B}[K"
            let shown = ForeignText.oneLine(line.text)
            text += line.style == .plain ? shown : line.style.code + shown + "\u{1B}[0m"
        }
        self.text = text
    }
}
