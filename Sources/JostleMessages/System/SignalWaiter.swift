internal import CLinuxSystem
internal import Glibc
package import LinuxSystem

/// Waits for the signals that end the agent: sigtimedwait(2), signalfd(2).
///
/// Make one before any thread starts: threads inherit the mask, so that the signals wait for the main thread.
package struct SignalWaiter: Sendable {
    private let signals: sigset_t
    /// Readable while a signal waits; negative where the system had no descriptor left. Open until the process ends.
    private let descriptor: Int32

    /// Blocks SIGTERM, SIGINT and SIGHUP for this thread and those that it starts, and ignores SIGPIPE.
    package init() {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        sigaddset(&set, SIGINT)
        sigaddset(&set, SIGHUP)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)
        signals = set
        descriptor = signalfd(-1, &set, Int32(SFD_CLOEXEC) | Int32(SFD_NONBLOCK))
    }

    /// Waits at most `seconds` for one of the signals.
    ///
    /// - Returns: whether one came.
    package func wait(seconds: Double) -> Bool {
        var set = signals
        let whole = seconds.rounded(.down)
        var timeout = timespec(tv_sec: Int(whole), tv_nsec: Int((seconds - whole) * 1e9))
        return sigtimedwait(&set, nil, &timeout) > 0
    }

    /// Waits for one of the signals or for the bell, at most `seconds`, or for as long as it takes where that is `nil`.
    ///
    /// - Returns: whether a signal came.
    package func wait(seconds: Double?, or bell: WakeSignal) -> Bool {
        var entries = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: bell.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        var limit = seconds.map { max(0, $0) }
        // Without the descriptor a signal does not end the wait; it is looked for again and again.
        if descriptor < 0 { limit = min(limit ?? 0.5, 0.5) }
        if let limit {
            let whole = min(limit, 1e6).rounded(.down)
            var timeout = timespec(tv_sec: Int(whole), tv_nsec: Int((min(limit, 1e6) - whole) * 1e9))
            _ = ppoll(&entries, nfds_t(entries.count), &timeout, nil)
        } else {
            _ = ppoll(&entries, nfds_t(entries.count), nil, nil)
        }
        bell.clear()
        return wait(seconds: 0)
    }
}
