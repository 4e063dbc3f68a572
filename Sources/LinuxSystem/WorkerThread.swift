internal import CLinuxSystem
internal import Glibc
internal import Synchronization

/// A system thread for work that blocks: pthread_create(3).
package final class WorkerThread: @unchecked Sendable {
    private let thread: pthread_t
    private let completion: Completion

    /// The end of the work, for `join`. pthread_timedjoin_np(3) is not used, because it waits by the wall clock, which
    /// a board without a battery-backed clock sets while it runs.
    private final class Completion: Sendable {
        let signal: WakeSignal
        let isDone = Atomic<Bool>(false)
        /// The kernel's number of the thread; 0 before it has begun.
        let number = Atomic<Int>(0)

        init(signal: WakeSignal) {
            self.signal = signal
        }
    }

    private final class Body {
        let name: String
        let run: @Sendable () -> Void
        let completion: Completion

        init(name: String, run: @escaping @Sendable () -> Void, completion: Completion) {
            self.name = name
            self.run = run
            self.completion = completion
        }
    }

    /// Starts a thread. Its name may have at most 15 characters, and its stack has 8 MiB unless a size is given, bytes.
    ///
    /// - Returns: `nil`, with errno set, if the system has no threads or descriptors left.
    package init?(name: String, stackSize: Int? = nil, _ run: @escaping @Sendable () -> Void) {
        guard let signal = WakeSignal() else { return nil }
        let completion = Completion(signal: signal)
        let body = Unmanaged.passRetained(Body(name: name, run: run, completion: completion))
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        if let stackSize { pthread_attr_setstacksize(&attributes, stackSize) }
        // Signals are delivered to the main thread only.
        var all = sigset_t()
        var previous = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
        var thread = pthread_t()
        let code = pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument else { return nil }
                let body = Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
                pthread_setname_np(pthread_self(), body.name)
                body.completion.number.store(Int(gettid()), ordering: .releasing)
                body.run()
                body.completion.isDone.store(true, ordering: .releasing)
                body.completion.signal.signal()
                return nil
            }, body.toOpaque())
        guard code == 0 else {
            body.release()
            errno = code
            return nil
        }
        self.thread = thread
        self.completion = completion
    }

    /// Whether the caller runs on this thread.
    package var isCurrent: Bool { pthread_equal(pthread_self(), thread) != 0 }

    /// Whether the thread runs or would if a processor were free, and does not wait for a device: proc_pid_stat(5).
    package var isRunnable: Bool {
        let number = completion.number.load(ordering: .acquiring)
        // Not even begun.
        guard number > 0 else { return true }
        let text = FileContents.text(ofOptional: "/proc/self/task/\(number)/stat", limit: 1024) ?? ""
        // The name before it is in parentheses, and may contain some itself.
        return text.split(separator: ")").last?.first { $0 != " " } == "R"
    }

    /// Waits for the thread to end. If it does not end within `seconds`, or is the calling thread, it is detached.
    ///
    /// - Returns: whether it ended. Must be called only once.
    @discardableResult
    package func join(within seconds: Double) -> Bool {
        guard !isCurrent else {
            pthread_detach(thread)
            return false
        }
        let deadline = ContinuousClock.now + .seconds(seconds)
        while !completion.isDone.load(ordering: .acquiring) {
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else {
                pthread_detach(thread)
                return false
            }
            completion.signal.wait(seconds: left / .seconds(1))
        }
        pthread_join(thread, nil)
        return true
    }
}
