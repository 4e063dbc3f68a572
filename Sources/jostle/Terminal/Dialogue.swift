internal import Glibc
internal import JostleMessages
internal import MotionCore
internal import Synchronization

/// A conversation with somebody who does what the program says: lines that stay, one that tells how far it is, questions.
///
/// Where standard input or output is no terminal, nothing is written over and nobody is asked.
final class Dialogue: Sendable {
    /// Whether somebody can be asked.
    let isInteractive: Bool

    private let signals: SignalWaiter
    private let live = Mutex(LiveLine())

    private struct LiveLine {
        var text = ""
        var nextChange = Timestamp(nanoseconds: .min)
    }

    /// Begins one; to be made before any thread starts, like the signals' waiter.
    init(signals: SignalWaiter) {
        self.signals = signals
        isInteractive = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1
    }

    // MARK: Saying

    /// Writes a line that stays.
    func say(_ text: String) {
        live.withLock { live in
            Output.text(text + "\n", isOver: !live.text.isEmpty)
            live.text = ""
        }
        Output.flush()
    }

    /// Writes over the line that tells how far it is, ten times a second at most; nothing where nobody looks.
    func show(_ text: String) {
        guard isInteractive else { return }
        let now = WallClock.monotonic
        live.withLock { live in
            guard text != live.text, now >= live.nextChange else { return }
            Output.live(text)
            live.text = text
            live.nextChange = now.advanced(bySeconds: 0.1)
        }
        Output.flush()
    }

    /// Leaves the terminal in order: what is said elsewhere begins on a line of its own.
    func end() {
        live.withLock { live in
            if !live.text.isEmpty { Output.line() }
            live.text = ""
        }
        Output.flush()
    }

    /// A bar of a part, 0 … 1, that is done.
    static func bar(_ part: Double) -> String {
        let width = 20
        let full = Int((max(0, min(1, part)) * Double(width)).rounded())
        return "[" + String(repeating: "#", count: full) + String(repeating: "·", count: width - full) + "]"
    }

    // MARK: Waiting

    /// Waits, and ends the conversation where somebody interrupts.
    ///
    /// - Throws: status 75 at SIGINT, SIGTERM or SIGHUP.
    func wait(seconds: Double) throws(CommandFailure) {
        guard !signals.wait(seconds: seconds) else {
            throw CommandFailure(.temporary, "interrupted: nothing was changed")
        }
    }

    // MARK: Asking

    /// Asks a question, and waits for an answer that begins with y or n.
    ///
    /// - Returns: whether it was yes; the end of the input is a no.
    /// - Throws: status 75 where somebody interrupts.
    func ask(_ question: String) throws(CommandFailure) -> Bool {
        // What was typed before is no answer.
        tcflush(STDIN_FILENO, TCIFLUSH)
        while true {
            // Not a line that is written over: the terminal adds what is typed.
            say("\(question) [y/n]")
            guard let answer = try readAnswer() else { return false }
            switch answer.drop(while: { $0 == " " }).first {
            case "y", "Y": return true
            case "n", "N": return false
            default: break
            }
        }
    }

    /// Reads a line; `nil` at the end of the input.
    private func readAnswer() throws(CommandFailure) -> String? {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        // The signals are blocked and do not end a read: it is begun only when there is something.
        while poll(&input, 1, 0) <= 0 { try wait(seconds: 0.1) }
        return readLine()
    }
}
