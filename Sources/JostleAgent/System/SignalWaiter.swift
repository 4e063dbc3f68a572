internal import Glibc

/// Waits for the signals that end the agent: sigtimedwait(2).
///
/// Make one before any thread starts: threads inherit the mask, so that the signals wait for the main thread.
public struct SignalWaiter: Sendable {
    private let signals: sigset_t

    /// Blocks SIGTERM, SIGINT and SIGHUP for this thread and those that it starts, and ignores SIGPIPE.
    public init() {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        sigaddset(&set, SIGINT)
        sigaddset(&set, SIGHUP)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)
        signals = set
    }

    /// Waits at most `seconds` for one of the signals.
    ///
    /// - Returns: whether one came.
    public func wait(seconds: Double) -> Bool {
        var set = signals
        let whole = seconds.rounded(.down)
        var timeout = timespec(tv_sec: Int(whole), tv_nsec: Int((seconds - whole) * 1e9))
        return sigtimedwait(&set, nil, &timeout) > 0
    }

    /// Lets a child process have the signals as usual.
    static func unblocked() -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        return set
    }
}
