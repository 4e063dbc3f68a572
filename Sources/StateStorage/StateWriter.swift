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
        _ = core.finish(within: 0)
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
        core.add(WriteQueue.File(path: path, contents: contents, completion: completion))
    }

    /// The pending content of a file; `nil` if there is no pending write. While a write is pending, the file on disk is
    /// out of date.
    package func pending(_ path: String) -> PendingFile? {
        core.pending(path).map { $0.contents.map(PendingFile.contents) ?? .removed }
    }

    /// Runs a job before all waiting files. Jobs run in order. A finished writer ignores it.
    package func perform(_ job: @escaping @Sendable () -> Void) {
        core.add(WriteQueue.Job(run: job))
    }

    /// Whether the thread does not wait for the disk, but for a processor.
    package var isKeptFromRunning: Bool { core.isKeptFromRunning }

    /// Failed writes that are being retried, and an operation that has been stuck for more than a second.
    package var faults: [StateFault] { core.faults }

    /// Sets a handler that is called, on any thread, whenever `faults` may have changed. It is not called when an
    /// operation gets stuck; read `faults` periodically to notice that.
    package func setObserver(_ observer: (@Sendable () -> Void)?) { core.setObserver(observer) }

    /// Waits until all requests are done or `seconds` have passed. Does not wait on the writer's own thread.
    ///
    /// - Returns: whether all requests are done.
    @discardableResult
    package func flush(within seconds: Double) -> Bool { core.flush(within: seconds) }

    /// Makes one attempt at each pending request and ends the thread. A thread that is stuck in disk I/O is detached.
    ///
    /// - Returns: whether everything is on the disk.
    @discardableResult
    package func finish(within seconds: Double) -> Bool { core.finish(within: seconds) }
}

/// The pending state of a file.
package enum PendingFile: Equatable, Sendable {
    case contents([UInt8])
    case removed
}
