internal import CLinuxSystem
internal import Glibc

/// A thread of the system's own, for work that blocks: pthread_create(3).
final class WorkerThread: @unchecked Sendable {
    private let thread: pthread_t

    private final class Body {
        let name: String
        let run: @Sendable () -> Void

        init(name: String, run: @escaping @Sendable () -> Void) {
            self.name = name
            self.run = run
        }
    }

    /// Starts a thread of at most 15 characters' name.
    ///
    /// - Returns: `nil` where the system has no thread left.
    init?(name: String, _ run: @escaping @Sendable () -> Void) {
        let body = Unmanaged.passRetained(Body(name: name, run: run))
        // Signals are the main thread's.
        var all = sigset_t()
        var previous = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let body = Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
                pthread_setname_np(pthread_self(), body.name)
                body.run()
                return nil
            }, body.toOpaque())
        guard code == 0 else {
            body.release()
            return nil
        }
        self.thread = thread
    }

    /// Whether the caller runs on this thread.
    var isCurrent: Bool { pthread_equal(pthread_self(), thread) != 0 }

    /// Waits for the thread's end; where it does not come within `seconds`, or the caller is the thread itself, the
    /// thread is left behind.
    ///
    /// - Returns: whether it ended. To be called once.
    @discardableResult
    func join(within seconds: Double) -> Bool {
        guard !isCurrent else {
            pthread_detach(thread)
            return false
        }
        var deadline = timespec()
        // Not the wall clock: a board without a battery sets its own while it runs.
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        let end = Double(deadline.tv_nsec) * 1e-9 + seconds
        deadline.tv_sec += Int(end.rounded(.down))
        deadline.tv_nsec = Int((end - end.rounded(.down)) * 1e9)
        if pthread_clockjoin_np(thread, nil, CLOCK_MONOTONIC, &deadline) == 0 { return true }
        pthread_detach(thread)
        return false
    }
}
