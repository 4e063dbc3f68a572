internal import LinuxSystem

/// Decides what to write next, when to retry a failed write, and what counts as a fault. A pure value: the caller
/// supplies the time.
struct WriteQueue {
    typealias Instant = ContinuousClock.Instant
    typealias Completion = @Sendable (Result<Void, SystemFailure>) -> Void

    /// The requested state of a file.
    struct File {
        var path: String
        /// `nil` to remove the file.
        var contents: [UInt8]?
        var completion: Completion?
    }

    /// Any other work that waits for the disk.
    typealias Job = @Sendable () -> Void

    enum Step {
        case job(Job)
        case file(File)
        /// Nothing is due before this time; `nil` means not before the next request.
        case wait(until: Instant?)
        /// The queue was ended, and nothing is left.
        case end
    }

    /// The delay before a failed write is retried: the first, and the longest.
    static let firstDelay = Duration.seconds(2)
    static let longestDelay = Duration.seconds(30)

    /// How long an attempt may take before it counts as a fault.
    static let stuckTimeout = Duration.seconds(1)

    private struct Failed {
        var failure: SystemFailure
        var since: Instant
        var delay: Duration
        var retryAt: Instant
    }

    private struct Attempt {
        /// `nil` for a job.
        var file: File?
        var start: Instant
    }

    private var jobs: [Job] = []
    /// Oldest first, one per path.
    private var files: [File] = []
    /// The paths whose last attempt failed.
    private var failed: [String: Failed] = [:]
    private var attempt: Attempt?
    private var startFailure: (failure: SystemFailure, since: Instant)?
    private var isEnding = false

    /// Whether every request is done. A failed write that will be retried is not.
    var isIdle: Bool { attempt == nil && jobs.isEmpty && files.isEmpty && (!isEnding || failed.isEmpty) }

    /// Whether a request is waiting.
    var hasWork: Bool { !jobs.isEmpty || !files.isEmpty }

    // MARK: Requests

    mutating func add(_ job: @escaping Job) { jobs.append(job) }

    /// Adds a write, replacing a waiting one for the same path. It is attempted immediately, even if the last attempt
    /// failed.
    mutating func add(_ file: File, at now: Instant) {
        failed[file.path]?.retryAt = now
        if let index = files.firstIndex(where: { $0.path == file.path }) {
            files[index] = file
        } else {
            files.append(file)
        }
    }

    /// From now on, each remaining request is attempted once.
    mutating func end() { isEnding = true }

    // MARK: Progress

    /// The next step. After a job or file, the caller must report its end with `attemptEnded`.
    mutating func next(at now: Instant) -> Step {
        startFailure = nil
        if !jobs.isEmpty {
            attempt = Attempt(file: nil, start: now)
            return .job(jobs.removeFirst())
        }
        if let index = files.firstIndex(where: { isEnding || failed[$0.path].map { $0.retryAt <= now } ?? true }) {
            let file = files.remove(at: index)
            attempt = Attempt(file: file, start: now)
            return .file(file)
        }
        return isEnding ? .end : .wait(until: files.compactMap { failed[$0.path]?.retryAt }.min())
    }

    /// Ends the current job.
    ///
    /// - Returns: whether `faults` may have changed.
    mutating func attemptEnded(at now: Instant) -> Bool {
        defer { attempt = nil }
        return attempt.map { $0.start.duration(to: now) > WriteQueue.stuckTimeout } ?? false
    }

    /// Ends the current write. A failed one is retried, unless a newer request for the same file is waiting.
    ///
    /// - Returns: whether `faults` may have changed.
    mutating func attemptEnded(_ file: File, _ result: Result<Void, SystemFailure>, at now: Instant) -> Bool {
        let wasStuck = attemptEnded(at: now)
        switch result {
        case .success:
            return failed.removeValue(forKey: file.path) != nil || wasStuck
        case .failure(let failure):
            let isReplaced = files.contains { $0.path == file.path }
            let old = failed[file.path]
            let delay = old.map { min($0.delay * 2, WriteQueue.longestDelay) } ?? WriteQueue.firstDelay
            failed[file.path] = Failed(
                failure: failure, since: old?.since ?? now, delay: delay, retryAt: isReplaced ? now : now + delay)
            if !isReplaced, !isEnding { files.append(file) }
            return true
        }
    }

    /// Records that the thread could not be started.
    mutating func cannotStart(_ failure: SystemFailure, at now: Instant) {
        startFailure = (failure, startFailure?.since ?? now)
    }

    /// The pending request for a file; `nil` if there is none.
    func pending(_ path: String) -> File? {
        files.first { $0.path == path } ?? attempt?.file.flatMap { $0.path == path ? $0 : nil }
    }

    // MARK: Faults

    /// The present faults, oldest first.
    func faults(at now: Instant) -> [StateFault] {
        var faults: [StateFault] = []
        let stuck = attempt.flatMap { $0.start.duration(to: now) > WriteQueue.stuckTimeout ? $0 : nil }
        if let stuck { faults.append(StateFault(path: stuck.file?.path, reason: .stuck, since: stuck.start)) }
        for (path, state) in failed where path != stuck?.file?.path {
            faults.append(StateFault(path: path, reason: .failed(state.failure), since: state.since))
        }
        if let startFailure, hasWork {
            faults.append(
                StateFault(path: nil, reason: .failed(startFailure.failure), since: startFailure.since))
        }
        return faults.sorted { ($0.since, $0.path ?? "") < ($1.since, $1.path ?? "") }
    }
}
