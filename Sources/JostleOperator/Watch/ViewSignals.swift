internal import CLinuxSystem
internal import Glibc

/// Waits for what concerns a view in a terminal: signals, keys and received messages.
///
/// Create it before any thread starts: threads inherit the mask, so only the main thread receives the signals.
package final class ViewSignals {
    /// What a signal asks of a view.
    package enum Signal: Sendable {
        /// SIGINT, SIGTERM, SIGHUP, SIGQUIT: end.
        case end
        /// SIGWINCH: redraw, because the size of the window changed.
        case resize
        /// SIGTSTP: restore the terminal and stop.
        case suspend
    }

    private var signals: sigset_t
    /// Readable while a signal is pending; negative if no file descriptor was available.
    private let descriptor: Int32

    /// Blocks the signals for this thread and those that it starts later, and ignores SIGPIPE.
    package init() {
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP] { sigaddset(&set, number) }
        var blocked = set
        // Otherwise restoring the terminal from the background would stop the program.
        sigaddset(&blocked, SIGTTOU)
        pthread_sigmask(SIG_BLOCK, &blocked, nil)
        signal(SIGPIPE, SIG_IGN)
        signals = set
        descriptor = signalfd(-1, &set, Int32(SFD_CLOEXEC) | Int32(SFD_NONBLOCK))
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Waits at most `seconds` for a signal, a report of `listener` or, if `input` is true, a key.
    package func wait(seconds: Double, listener: BrokerView?, input: Bool) -> [Signal] {
        var entries = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: listener?.wake.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: input ? STDIN_FILENO : -1, events: Int16(POLLIN), revents: 0),
        ]
        // Without the descriptor a signal does not end the wait, so the pending signals are polled.
        let limit = max(0, descriptor < 0 ? min(seconds, 0.2) : min(seconds, 60))
        let whole = limit.rounded(.down)
        var timeout = timespec(tv_sec: Int(whole), tv_nsec: Int((limit - whole) * 1e9))
        _ = ppoll(&entries, nfds_t(entries.count), &timeout, nil)
        listener?.wake.clear()
        return pending()
    }

    /// Takes the pending signals.
    private func pending() -> [Signal] {
        var found: [Signal] = []
        var none = timespec()
        while true {
            let number = sigtimedwait(&signals, nil, &none)
            switch number {
            case SIGWINCH: found.append(.resize)
            case SIGTSTP: found.append(.suspend)
            case 1...: found.append(.end)
            default: return found
            }
        }
    }

    /// Stops the process as SIGTSTP would have done; returns when the process is continued.
    package static func stopHere() {
        kill(getpid(), SIGSTOP)
    }
}
