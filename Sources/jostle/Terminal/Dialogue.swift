internal import Glibc
internal import JostleCommandLine
internal import JostleRuntime
internal import LinuxSystem
internal import MotionCore
internal import Synchronization

/// A dialogue with the user: permanent lines, a live progress line, and questions.
///
/// If standard input or output is not a terminal, there is no progress line, and no question is asked.
final class Dialogue: Sendable {
    /// Whether the user can answer questions.
    let isInteractive: Bool

    private let signals: SignalWaiter
    /// When the progress line may change again.
    private let nextChange = Mutex(Timestamp(nanoseconds: .min))

    /// Create it before any thread starts, like the `SignalWaiter`.
    init(signals: SignalWaiter) {
        self.signals = signals
        isInteractive = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1
    }

    // MARK: Output

    /// Writes a permanent line.
    func say(_ text: String) {
        Output.text(text + "\n")
        Output.flush()
    }

    /// Updates the progress line, at most ten times per second; without a terminal it does nothing.
    func show(_ text: String) {
        guard isInteractive else { return }
        let now = WallClock.monotonic
        nextChange.withLock { nextChange in
            guard now >= nextChange else { return }
            Output.live(text)
            nextChange = now.advanced(bySeconds: 0.1)
        }
    }

    /// A progress bar for a fraction 0 … 1.
    static func bar(_ part: Double) -> String {
        let width = 20
        let full = Int((max(0, min(1, part)) * Double(width)).rounded())
        return "[" + String(repeating: "#", count: full) + String(repeating: "·", count: width - full) + "]"
    }

    // MARK: Waiting

    /// Waits, and fails if the user interrupts.
    ///
    /// - Throws: status 75 at SIGINT, SIGTERM or SIGHUP.
    func wait(seconds: Double) throws {
        guard !signals.wait(seconds: seconds) else {
            throw Failure(.temporary, "interrupted: nothing was changed")
        }
    }

    // MARK: Questions

    /// Asks a question and waits for an answer that begins with y or n.
    ///
    /// - Returns: true for yes; false for no, and at the end of the input.
    /// - Throws: status 75 if the user interrupts.
    func ask(_ question: String) throws -> Bool {
        // Discard earlier input, which does not answer this question.
        tcflush(STDIN_FILENO, TCIFLUSH)
        while true {
            // A permanent line, because the terminal echoes the answer after it.
            say("\(question) [y/n]")
            guard let answer = try readAnswer() else { return false }
            switch answer.drop(while: { $0 == " " }).first {
            case "y", "Y": return true
            case "n", "N": return false
            default: break
            }
        }
    }

    /// Asks for a line of text. An empty answer, and the end of the input, mean `proposal`.
    ///
    /// - Throws: status 75 if the user interrupts.
    func ask(_ question: String, proposal: String) throws -> String {
        tcflush(STDIN_FILENO, TCIFLUSH)
        say(proposal.isEmpty ? "\(question):" : "\(question) [\(proposal)]:")
        let answer = (try readAnswer() ?? "").trimmingSpaces
        return answer.isEmpty ? proposal : answer
    }

    /// Asks for a text that the terminal does not show.
    ///
    /// - Throws: status 75 if the user interrupts.
    func askSecret(_ question: String) throws -> String {
        var settings = termios()
        let isTerminal = tcgetattr(STDIN_FILENO, &settings) == 0
        let shown = settings
        settings.c_lflag &= ~tcflag_t(ECHO)
        if isTerminal { tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings) }
        defer { if isTerminal { _ = withUnsafePointer(to: shown) { tcsetattr(STDIN_FILENO, TCSANOW, $0) } } }
        say("\(question):")
        return try readAnswer() ?? ""
    }

    /// Reads a line; `nil` at the end of the input.
    private func readAnswer() throws -> String? {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        // The signals are blocked and would not interrupt a read, so read only when there is input.
        while poll(&input, 1, 0) <= 0 { try wait(seconds: 0.1) }
        return readLine()
    }
}

extension String {
    /// The text without spaces at both ends.
    fileprivate var trimmingSpaces: String {
        var text = self[...]
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
