internal import CLinuxSystem
internal import Glibc

/// Waits for what concerns a view in a terminal: signals, keys and news.
///
/// Make one before any thread starts: threads inherit the mask, so that the signals wait for the main thread.
package final class ViewSignals {
    /// What a signal means for a view.
    package enum Signal: Sendable {
        /// SIGINT, SIGTERM, SIGHUP, SIGQUIT: it is to end.
        case end
        /// SIGWINCH: the window has another size.
        case resize
        /// SIGTSTP: it is to leave the terminal to others.
        case suspend
    }

    private var signals: sigset_t
    /// Readable while a signal waits; negative where the system had no descriptor left.
    private let descriptor: Int32

    /// Blocks the signals for this thread and those that it starts, and ignores SIGPIPE.
    package init() {
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP] { sigaddset(&set, number) }
        var blocked = set
        // Else restoring the terminal from the background would stop the program.
        sigaddset(&blocked, SIGTTOU)
        pthread_sigmask(SIG_BLOCK, &blocked, nil)
        signal(SIGPIPE, SIG_IGN)
        signals = set
        descriptor = signalfd(-1, &set, Int32(SFD_CLOEXEC) | Int32(SFD_NONBLOCK))
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Waits at most `seconds` for signals, or for the first of news and, where `input` is true, something typed.
    ///
    /// Without a listener news does not end the wait.
    package func wait(seconds: Double, news: WatchListener?, input: Bool) -> [Signal] {
        var entries = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: news?.bell.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: input ? STDIN_FILENO : -1, events: Int16(POLLIN), revents: 0),
        ]
        // Without the descriptor a signal does not end the wait; it is looked for again and again.
        let limit = max(0, descriptor < 0 ? min(seconds, 0.2) : min(seconds, 60))
        let whole = limit.rounded(.down)
        var timeout = timespec(tv_sec: Int(whole), tv_nsec: Int((limit - whole) * 1e9))
        _ = ppoll(&entries, nfds_t(entries.count), &timeout, nil)
        news?.bell.clear()
        return pending()
    }

    /// The signals that wait.
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

    /// Stops the process as SIGTSTP would have; returns when it is continued.
    package static func stopHere() {
        kill(getpid(), SIGSTOP)
    }
}
