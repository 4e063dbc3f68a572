internal import Glibc

/// The terminal at standard output as a screen of its own, which is given back as it was.
final class TerminalScreen {
    /// Windows larger than that are filled in part.
    private static let largest = ScreenSize(columns: 400, rows: 150)

    private var shown: [ScreenLine]?
    private var isEntered = false
    private var settings: termios?

    /// Whether somebody may type.
    private(set) var hasKeys = isatty(STDIN_FILENO) == 1

    /// Whether standard output can show one.
    static var isAvailable: Bool {
        isatty(STDOUT_FILENO) == 1 && !["", "dumb"].contains(Configuration.variable("TERM") ?? "")
    }

    deinit {
        leave()
    }

    /// Takes the terminal: the alternate screen, no cursor, no line breaks of its own, no echo of what is typed.
    func enter() {
        guard !isEntered else { return }
        isEntered = true
        shown = nil
        var before = termios()
        if hasKeys, tcgetattr(STDIN_FILENO, &before) == 0 {
            settings = before
            var quiet = before
            quiet.c_lflag &= ~tcflag_t(ICANON | ECHO)
            tcsetattr(STDIN_FILENO, TCSANOW, &quiet)
        }
        _ = Output.writes(command: "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l")
    }

    /// Gives it back.
    func leave() {
        guard isEntered else { return }
        isEntered = false
        _ = Output.writes(command: "\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
        if var settings { tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings) }
        settings = nil
    }

    /// How large the window is now (ioctl TIOCGWINSZ); 80 by 24 where nobody knows.
    var size: ScreenSize {
        var window = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else {
            return ScreenSize(columns: 80, rows: 24)
        }
        return ScreenSize(
            columns: min(Int(window.ws_col), TerminalScreen.largest.columns),
            rows: min(Int(window.ws_row), TerminalScreen.largest.rows))
    }

    /// Lets the next screen be drawn as a whole.
    func forget() { shown = nil }

    /// Shows a screen: writes what is new in it. Where the terminal takes nothing at present (Ctrl-S), nothing happens.
    ///
    /// - Returns: whether the terminal is still there.
    func draw(_ lines: [ScreenLine]) -> Bool {
        var output = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
        guard poll(&output, 1, 0) > 0 else { return true }
        if output.revents & Int16(POLLERR | POLLHUP) != 0 { return false }
        let difference = ScreenDifference(from: shown, to: lines)
        guard !difference.text.isEmpty else { return true }
        shown = lines
        return Output.writes(difference)
    }

    /// What was typed meanwhile.
    func takeKeys() -> [UInt8] {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard hasKeys, poll(&input, 1, 0) > 0 else { return [] }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(STDIN_FILENO, &buffer, buffer.count)
        // At its end it would be ready for ever.
        if count == 0 { hasKeys = false }
        return Array(buffer.prefix(max(0, count)))
    }
}
