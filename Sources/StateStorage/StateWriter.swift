internal import Glibc
package import LinuxSystem

/// Writes persistent state on a separate thread, so that callers never wait for the disk.
///
/// The thread starts with the first request. If the system has no threads left, requests wait and count as a fault;
/// each later call tries to start the thread again. When a writer is deallocated, its thread makes one more attempt at
/// each pending write and ends; `finish` waits for that.
package final class StateWriter: Sendable {
    private let core: WriterCore

    /// Creates a writer.
    ///
    /// - Parameter onWrite: called on the writer's thread after each attempt to write a file, with its time, before the
    ///   completion. The attempt lasts until it returns, so a handler that waits makes the disk slower.
    package init(onWrite: (@Sendable (Duration) -> Void)? = nil) {
        core = WriterCore(onWrite: onWrite)
    }

    deinit {
        finish(within: 0)
    }

    /// Replaces a file atomically, creating its directory if necessary; `nil` removes the file. Never waits for the
    /// disk.
    ///
    /// A later call for the same path replaces a write that has not started; the completion of the replaced write is
    /// not called. Failed writes are retried after 2 s, doubling to 30 s, until they succeed or are replaced.
    ///
    /// `completion` is called after each attempt, on the writer's thread. If the writer has finished, it is called with
    /// ECANCELED on the caller's thread.
    package func write(
        _ contents: [UInt8]?, to path: String, completion: (@Sendable (Result<Void, SystemFailure>) -> Void)? = nil
    ) {
        let isTaken = core.state.withLock { state in
            guard !state.hasEnded else { return false }
            state.queue.add(WriteQueue.File(path: path, contents: contents, completion: completion), at: .now)
            core.wake(&state)
            return true
        }
        if !isTaken { completion?(.failure(SystemFailure(code: ECANCELED))) }
    }

    /// The pending content of a file; `nil` if there is no pending write. While a write is pending, the file on disk is
    /// out of date.
    package func pending(_ path: String) -> PendingFile? {
        core.state.withLock { $0.queue.pending(path) }.map { $0.contents.map(PendingFile.contents) ?? .removed }
    }

    /// Runs a job before all waiting files. Jobs run in order. A finished writer ignores it.
    package func perform(_ job: @escaping @Sendable () -> Void) {
        core.state.withLock { state in
            guard !state.hasEnded else { return }
            state.queue.add(job)
            core.wake(&state)
        }
    }

    /// Whether the thread does not wait for the disk, but for a processor.
    package var isKeptFromRunning: Bool { core.state.withLock { $0.running?.thread }?.isRunnable ?? false }

    /// Failed writes that are being retried, and an operation that has been stuck for more than a second.
    package var faults: [StateFault] {
        let faults = core.state.withLock { state in
            if state.running == nil, state.queue.hasWork { core.wake(&state) }
            return state.queue.faults(at: .now)
        }
        guard faults.contains(where: { $0.reason == .stuck }), isKeptFromRunning else { return faults }
        return faults.filter { $0.reason != .stuck }
    }

    /// Sets a handler that is called, on any thread, whenever `faults` may have changed. It is not called when an
    /// operation gets stuck; read `faults` periodically to notice that.
    package func setObserver(_ observer: (@Sendable () -> Void)?) {
        core.state.withLock { $0.observer = observer }
    }

    /// Waits until all requests are done or `seconds` have passed. Does not wait on the writer's own thread.
    ///
    /// - Returns: whether all requests are done.
    @discardableResult
    package func flush(within seconds: Double) -> Bool {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while true {
            let (running, isIdle, hasEnded) = core.state.withLock { state in
                if state.queue.hasWork { core.wake(&state) }
                return (state.running, state.queue.isIdle, state.hasEnded)
            }
            if isIdle || hasEnded { return isIdle }
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero, let running, !running.thread.isCurrent else { return false }
            _ = running.idle.isSignalled(within: left / .seconds(1))
        }
    }

    /// Makes one attempt at each pending request and ends the thread. A thread that is stuck in disk I/O is detached.
    ///
    /// - Returns: whether everything is on the disk.
    @discardableResult
    package func finish(within seconds: Double) -> Bool {
        let thread = core.state.withLock { state -> WorkerThread? in
            state.queue.end()
            if state.queue.hasWork || state.running != nil { core.wake(&state) }
            guard let running = state.running, !state.isJoined else {
                state.hasEnded = true
                return nil
            }
            state.isJoined = true
            return running.thread
        }
        let isOver = thread?.join(within: seconds) ?? true
        return core.state.withLock { isOver && $0.queue.isIdle }
    }
}

/// The pending state of a file.
package enum PendingFile: Equatable, Sendable {
    case contents([UInt8])
    case removed
}

/// The state shared by a writer and its thread. The thread does not retain the writer, so deallocating the writer ends
/// the thread.
private final class WriterCore: Sendable {
    struct State {
        var queue = WriteQueue()
        var observer: (@Sendable () -> Void)?
        var running: Running?
        /// Whether new requests are refused.
        var hasEnded = false
        /// Whether a caller waits, or has waited, for the thread to end.
        var isJoined = false

        /// The thread's next step.
        mutating func next(_ idle: WakeSignal) -> WriteQueue.Step {
            let step = queue.next(at: .now)
            if queue.isIdle { idle.signal() }
            if case .end = step { hasEnded = true }
            return step
        }
    }

    /// The thread and what wakes it.
    struct Running {
        let thread: WorkerThread
        let wake: WakeSignal
        /// Set while no work is left.
        let idle: WakeSignal
    }

    let state = Locked(State())
    private let onWrite: (@Sendable (Duration) -> Void)?

    init(onWrite: (@Sendable (Duration) -> Void)?) {
        self.onWrite = onWrite
    }

    /// Wakes the thread, or starts it.
    func wake(_ state: inout State) {
        guard !state.hasEnded else { return }
        if let running = state.running {
            if state.queue.hasWork { running.idle.clear() }
            running.wake.signal()
            return
        }
        guard let wake = WakeSignal(), let idle = WakeSignal(),
            let thread = WorkerThread(name: "jostle-writer", { self.run(wake, idle) })
        else {
            state.queue.cannotStart(.noResources, at: .now)
            return
        }
        state.running = Running(thread: thread, wake: wake, idle: idle)
    }

    // MARK: On the writer thread

    private func run(_ wake: WakeSignal, _ idle: WakeSignal) {
        while true {
            switch state.withLock({ $0.next(idle) }) {
            case .job(let job):
                job()
                if state.withLock({ $0.queue.attemptEnded(at: .now) }) { callObserver() }
            case .file(let file):
                let start = ContinuousClock.now
                let result = Result { () throws(SystemFailure) in
                    try StateDirectory.replace(file.path, with: file.contents)
                }
                onWrite?(start.duration(to: .now))
                let isChange = state.withLock { $0.queue.attemptEnded(file, result, at: .now) }
                file.completion?(result)
                if isChange { callObserver() }
            case .wait(let instant):
                wake.wait(seconds: instant.map { ContinuousClock.now.duration(to: $0) / .seconds(1) })
            case .end:
                return
            }
        }
    }

    private func callObserver() {
        state.withLock { $0.observer }?()
    }
}
