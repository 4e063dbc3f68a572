internal import CLinuxSystem
internal import Glibc

/// Waits for the signals that end a program, and for those that concern its terminal: sigtimedwait(2), signalfd(2).
///
/// Create it before any thread starts: threads inherit the mask, so only the main thread receives the signals.
package struct SignalWaiter: Sendable {
    private let signals: sigset_t
    /// Readable while a signal is pending; negative if no file descriptor was available. Open until the process ends.
    private let descriptor: Int32
    /// Whether SIGHUP asks to reload the configuration.
    private let reloadsOnHangup: Bool

    /// What a signal asks for.
    package enum Request: Sendable {
        case end
        /// Read the configuration again.
        case reload
        /// SIGWINCH: draw the screen again, because the size of the window changed.
        case resize
        /// SIGTSTP: restore the terminal, and stop.
        case suspend
    }

    /// Blocks SIGTERM, SIGINT and SIGHUP for this thread and those that it starts later, and ignores SIGPIPE.
    ///
    /// With `mayReload`, SIGHUP asks to reload the configuration if the process has no terminal, as a service. With a
    /// terminal it means that the terminal was closed, which ends the program. A program that `drawsScreen` takes the signals
    /// of the terminal, too.
    package init(mayReload: Bool = false, drawsScreen: Bool = false) {
        reloadsOnHangup = mayReload && !SignalWaiter.hasTerminal
        var set = sigset_t()
        sigemptyset(&set)
        let screen = drawsScreen ? [SIGQUIT, SIGWINCH, SIGTSTP] : []
        for number in [SIGTERM, SIGINT, SIGHUP] + screen { sigaddset(&set, number) }
        var blocked = set
        // Otherwise restoring the terminal from the background would stop the program.
        if drawsScreen { sigaddset(&blocked, SIGTTOU) }
        pthread_sigmask(SIG_BLOCK, &blocked, nil)
        signal(SIGPIPE, SIG_IGN)
        signals = set
        descriptor = signalfd(-1, &set, Int32(SFD_CLOEXEC) | Int32(SFD_NONBLOCK))
    }

    /// Whether the process has a controlling terminal: tty(4).
    private static var hasTerminal: Bool {
        let descriptor = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        close(descriptor)
        return true
    }

    /// Waits at most `seconds` for one of the signals.
    ///
    /// - Returns: whether a signal arrived.
    package func wait(seconds: Double) -> Bool { take(seconds: seconds) > 0 }

    /// Whether one of the signals has arrived and waits to be taken: sigpending(2).
    package var isPending: Bool {
        var pending = sigset_t()
        sigemptyset(&pending)
        sigpending(&pending)
        return [SIGTERM, SIGINT, SIGHUP].contains { sigismember(&pending, $0) == 1 }
    }

    /// The next of the signals, at the latest after `seconds`; not positive if none arrived.
    private func take(seconds: Double) -> Int32 {
        var set = signals
        let whole = seconds.rounded(.down)
        var timeout = timespec(tv_sec: Int(whole), tv_nsec: Int((seconds - whole) * 1e9))
        return sigtimedwait(&set, nil, &timeout)
    }

    /// Waits for one of the signals or for `wake`, at most `seconds`; `nil` waits without a limit.
    ///
    /// - Returns: whether a signal arrived.
    package func wait(seconds: Double?, or wake: WakeSignal) -> Bool { next(within: seconds, or: wake) != nil }

    /// Waits for one of the signals or for `wake`, at most `seconds`; `nil` waits without a limit.
    ///
    /// - Returns: what the signal asks for; `nil` if none arrived.
    package func next(within seconds: Double?, or wake: WakeSignal) -> Request? {
        defer { wake.clear() }
        return next(within: seconds, orReadable: [wake.descriptor])
    }

    /// Waits for one of the signals, or until one of the descriptors is readable, at most `seconds`.
    ///
    /// - Returns: what the signal asks for; `nil` if none arrived.
    package func next(within seconds: Double?, orReadable descriptors: [Int32]) -> Request? {
        let isSignalled = withUnsafeTemporaryAllocation(of: pollfd.self, capacity: descriptors.count + 1) { entries in
            for index in entries.indices {
                let descriptor = index == 0 ? descriptor : descriptors[index - 1]
                entries.initializeElement(at: index, to: pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
            }
            // Without the descriptor a signal does not end the wait, so the pending signals are polled.
            let limit = descriptor < 0 ? min(seconds ?? 0.5, 0.5) : seconds
            _ = LinuxSystem.wait(for: entries.baseAddress, entries.count, within: limit)
            return descriptor < 0 || entries[0].revents != 0
        }
        guard isSignalled else { return nil }
        switch take(seconds: 0) {
        case SIGHUP where reloadsOnHangup: return .reload
        case SIGWINCH: return .resize
        case SIGTSTP: return .suspend
        case let signal: return signal > 0 ? .end : nil
        }
    }
}
