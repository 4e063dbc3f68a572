internal import LinuxSystem

/// Decides what is written next, when a failed write is tried again, and what is a fault. A pure rule: time is what the caller
/// says.
struct WriteQueue {
    typealias Instant = ContinuousClock.Instant
    typealias Completion = @Sendable (Result<Void, SystemFailure>) -> Void

    /// A file as it is to be on the disk.
    struct File {
        var path: String
        /// `nil` if there is to be none.
        var contents: [UInt8]?
        var completion: Completion?
    }

    /// Something else that lasts and waits for the disk.
    struct Job {
        var run: @Sendable () -> Void
    }

    enum Step {
        case job(Job)
        case file(File)
        /// Nothing is due before this instant; `nil`: before something is ordered.
        case wait(until: Instant?)
        /// It is to end, and nothing is left.
        case end
    }

    /// Seconds until a failed write is tried again: the first time, and at most.
    static let firstDelay = Duration.seconds(2)
    static let longestDelay = Duration.seconds(30)

    /// How long an attempt may take until it is a fault.
    static let patience = Duration.seconds(1)

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

        var path: String? { file?.path }
    }

    private var jobs: [Job] = []
    /// The oldest first, one a path.
    private var files: [File] = []
    /// Of the paths whose last attempt failed.
    private var failed: [String: Failed] = [:]
    private var attempt: Attempt?
    private var startFailure: (failure: SystemFailure, since: Instant)?
    private(set) var isEnding = false

    /// Whether everything that was ordered is done; a failed write is not.
    var isSettled: Bool { attempt == nil && jobs.isEmpty && files.isEmpty && (!isEnding || failed.isEmpty) }

    /// Whether something waits to be done.
    var hasWork: Bool { !jobs.isEmpty || !files.isEmpty }

    // MARK: What is ordered

    mutating func add(_ job: Job) { jobs.append(job) }

    /// Takes a file in; one that has not begun makes room for it. It is attempted at once, also if the last attempt failed.
    mutating func add(_ file: File, at now: Instant) {
        failed[file.path]?.retryAt = now
        if let index = files.firstIndex(where: { $0.path == file.path }) {
            files[index] = file
        } else {
            files.append(file)
        }
    }

    /// From now on each thing that is left is attempted once.
    mutating func end() { isEnding = true }

    // MARK: What is done

    /// What to do now; a job or a file has then begun and is to be followed by `ended`.
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

    /// The job that had begun is done.
    ///
    /// - Returns: whether `faults` may have changed.
    mutating func ended(at now: Instant) -> Bool {
        defer { attempt = nil }
        return attempt.map { $0.start.duration(to: now) > WriteQueue.patience } ?? false
    }

    /// The attempt at a file that had begun has ended: a failed one is tried again, unless the file was ordered otherwise
    /// meanwhile.
    ///
    /// - Returns: whether `faults` may have changed.
    mutating func ended(_ file: File, _ result: Result<Void, SystemFailure>, at now: Instant) -> Bool {
        let wasStuck = ended(at: now)
        switch result {
        case .success:
            return failed.removeValue(forKey: file.path) != nil || wasStuck
        case .failure(let failure):
            let isReplaced = files.contains { $0.path == file.path }
            note(failure, of: file.path, at: now, retryAtOnce: isReplaced)
            if !isReplaced, !isEnding { files.append(file) }
            return true
        }
    }

    /// There is no thread to do anything.
    mutating func cannotStart(_ failure: SystemFailure, at now: Instant) {
        startFailure = (failure, startFailure?.since ?? now)
    }

    private mutating func note(_ failure: SystemFailure, of path: String, at now: Instant, retryAtOnce: Bool) {
        let old = failed[path]
        let delay = old.map { min($0.delay * 2, WriteQueue.longestDelay) } ?? WriteQueue.firstDelay
        failed[path] = Failed(
            failure: failure, since: old?.since ?? now, delay: delay, retryAt: retryAtOnce ? now : now + delay)
    }

    /// What a file was last ordered to be, as long as that is not on the disk.
    func pending(_ path: String) -> File? {
        files.first { $0.path == path } ?? attempt?.file.flatMap { $0.path == path ? $0 : nil }
    }

    // MARK: What is wrong

    /// What is not on the disk although it was tried, the oldest first.
    func faults(at now: Instant) -> [StateFault] {
        var faults: [StateFault] = []
        let stuck = attempt.flatMap { $0.start.duration(to: now) > WriteQueue.patience ? $0 : nil }
        if let stuck { faults.append(StateFault(path: stuck.path, reason: .stuck, since: stuck.start)) }
        for (path, state) in failed where path != stuck?.path {
            faults.append(StateFault(path: path, reason: .failed(state.failure), since: state.since))
        }
        if let startFailure, hasWork {
            faults.append(
                StateFault(path: nil, reason: .failed(startFailure.failure), since: startFailure.since))
        }
        return faults.sorted { ($0.since, $0.path ?? "") < ($1.since, $1.path ?? "") }
    }
}
