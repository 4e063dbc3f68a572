package import LinuxSystem

/// Writes everything that must last, on one thread of its own: whoever orders a write never waits for the disk.
///
/// The thread starts with the first order. If the system has none left, what was ordered waits and is a fault; every later
/// call tries again. Dropping a writer ends its thread after one more attempt at what is left; `finish` waits for that.
package final class StateWriter: Sendable {
    private let core = WriterCore()

    package init() {}

    deinit {
        _ = core.finish(within: 0)
    }

    /// Replaces a file whole, in a directory that is made if it is missing; `nil` removes the file. Never waits for the disk.
    ///
    /// A later call for the same path replaces one that has not begun, whose completion is then not called. Failed
    /// writes are tried again after 2 s, doubling to 30 s, until they succeed or are replaced.
    ///
    /// `completion` is called after each attempt on the writer's thread, and with ECANCELED on the caller's if the writer has
    /// finished.
    package func write(
        _ contents: [UInt8]?, to path: String, completion: (@Sendable (Result<Void, SystemFailure>) -> Void)? = nil
    ) {
        core.add(WriteQueue.File(path: path, contents: contents, completion: completion))
    }

    /// What a file was last ordered to be, if that is not on the disk yet: what is there is then out of date.
    package func pending(_ path: String) -> PendingFile? {
        core.pending(path).map { $0.contents.map(PendingFile.contents) ?? .removed }
    }

    /// Runs a job before every file that waits; jobs run in order. A writer that has finished leaves it out.
    package func perform(_ job: @escaping @Sendable () -> Void) {
        core.add(WriteQueue.Job(run: job))
    }

    /// What could not be written and is tried again, and what has been stuck in the disk for more than a second.
    package var faults: [StateFault] { core.faults }

    /// Says what is called, on any thread, whenever `faults` may have changed. That something gets stuck is no such change:
    /// whoever wants to know that reads `faults` from time to time.
    package func setObserver(_ observer: (@Sendable () -> Void)?) { core.setObserver(observer) }

    /// Waits until all that was ordered is done or `seconds` have passed; on the writer's own thread not at all.
    ///
    /// - Returns: whether all is done.
    @discardableResult
    package func settle(within seconds: Double) -> Bool { core.settle(within: seconds) }

    /// Does what is left, one attempt each, and ends the thread; one that is stuck in the disk is left behind.
    ///
    /// - Returns: whether all is done and on the disk.
    @discardableResult
    package func finish(within seconds: Double) -> Bool { core.finish(within: seconds) }
}

/// What a file will be.
package enum PendingFile: Equatable, Sendable {
    case contents([UInt8])
    case removed
}
