import Foundation
import LinuxSystem
import Synchronization
import Testing

@testable import StateStorage

extension ContinuousClock.Instant {
    /// Time zero of the tests; nothing here reads a clock.
    fileprivate static let origin = ContinuousClock.now
}

/// A queue with times in seconds. A class, so that `#expect` may change it.
private final class Queue {
    private var queue = WriteQueue()

    private func instant(_ seconds: Double) -> ContinuousClock.Instant { .origin + .seconds(seconds) }

    var isIdle: Bool { queue.isIdle }

    func add(_ job: @escaping WriteQueue.Job) { queue.add(job) }
    func add(_ file: WriteQueue.File, at seconds: Double) { queue.add(file, at: instant(seconds)) }
    func end() { queue.end() }
    func next(_ seconds: Double) -> WriteQueue.Step { queue.next(at: instant(seconds)) }
    func attemptEnded(at seconds: Double) -> Bool { queue.attemptEnded(at: instant(seconds)) }
    func cannotStart(_ failure: SystemFailure, at seconds: Double) { queue.cannotStart(failure, at: instant(seconds)) }
    func faults(at seconds: Double) -> [StateFault] { queue.faults(at: instant(seconds)) }

    func attemptEnded(_ file: WriteQueue.File, _ result: Result<Void, SystemFailure>, at seconds: Double) -> Bool {
        queue.attemptEnded(file, result, at: instant(seconds))
    }

    /// The file whose write starts now.
    func begin(at seconds: Double) throws -> WriteQueue.File {
        let step = next(seconds)
        guard case .file(let file) = step else {
            Issue.record("\(step) instead of a file")
            throw CancellationError()
        }
        return file
    }

    /// When the next step is due; `nil` if never.
    func wait(at seconds: Double) -> ContinuousClock.Instant? {
        let step = next(seconds)
        guard case .wait(let until) = step else {
            Issue.record("\(step) instead of waiting")
            return nil
        }
        return until
    }
}

/// Requirement: the latest content of each file is written in the end, and what could not be written is a fault.
@Suite struct WriteQueueTests {
    private let start = ContinuousClock.Instant.origin
    private let full = SystemFailure(code: ENOSPC)
    private let broken = SystemFailure(code: EIO)

    private func instant(_ seconds: Double) -> ContinuousClock.Instant { .origin + .seconds(seconds) }

    private func file(_ path: String, _ byte: UInt8?) -> WriteQueue.File {
        WriteQueue.File(path: path, contents: byte.map { [$0] }, completion: nil)
    }

    @Test func writesTheLatestContentsOfEachFileInOrder() throws {
        let queue = Queue()
        #expect(queue.isIdle)
        #expect(queue.wait(at: 0) == nil)
        queue.add(file("a", 1), at: 0)
        queue.add(file("b", 2), at: 0)
        queue.add(file("a", nil), at: 0)
        let first = try queue.begin(at: 0)
        #expect(first.path == "a" && first.contents == nil)
        #expect(!queue.attemptEnded(first, .success(()), at: 0))
        let second = try queue.begin(at: 0)
        #expect(second.path == "b" && second.contents == [2])
        #expect(!queue.isIdle)
        #expect(!queue.attemptEnded(second, .success(()), at: 0))
        #expect(queue.wait(at: 0) == nil)
        #expect(queue.isIdle && queue.faults(at: 0).isEmpty)
    }

    @Test func runsJobsBeforeFilesAndInOrder() {
        let order = Mutex("")
        let queue = Queue()
        queue.add(file("a", 1), at: 0)
        for name in ["x", "y"] { queue.add { order.withLock { $0 += name } } }
        while case .job(let job) = queue.next(0) {
            job()
            #expect(!queue.attemptEnded(at: 0))
        }
        #expect(order.withLock { $0 } == "xy")
    }

    /// 2 s, 4, 8, 16, 30, 30: a full disk is not worn out, and freed space is used soon.
    @Test func retriesWithGrowingDelays() throws {
        let queue = Queue()
        queue.add(file("a", 1), at: 0)
        var now = 0.0
        for delay in [2.0, 4, 8, 16, 30, 30] {
            let attempt = try queue.begin(at: now)
            #expect(queue.attemptEnded(attempt, .failure(full), at: now))
            #expect(queue.faults(at: now) == [StateFault(path: "a", reason: .failed(full), since: start)])
            #expect(queue.wait(at: now + delay - 0.01) == instant(now + delay))
            #expect(!queue.isIdle)
            now += delay
        }
        let last = try queue.begin(at: now)
        #expect(queue.attemptEnded(last, .success(()), at: now))
        #expect(queue.isIdle && queue.faults(at: now).isEmpty)
        // The next failure starts with the first delay.
        queue.add(file("a", 2), at: now)
        let next = try queue.begin(at: now)
        #expect(queue.attemptEnded(next, .failure(broken), at: now))
        #expect(queue.wait(at: now) == instant(now + 2))
    }

    /// New contents are tried immediately. The earlier failure remains a fault until a write succeeds.
    @Test func newContentsReplaceFailedOnes() throws {
        let queue = Queue()
        queue.add(file("a", 1), at: 0)
        let attempt = try queue.begin(at: 0)
        #expect(queue.attemptEnded(attempt, .failure(full), at: 0))
        queue.add(file("a", 2), at: 1)
        let next = try queue.begin(at: 1)
        #expect(next.contents == [2])
        #expect(queue.attemptEnded(next, .failure(broken), at: 1))
        #expect(queue.faults(at: 1) == [StateFault(path: "a", reason: .failed(broken), since: start)])
        #expect(queue.wait(at: 1) == instant(5))
    }

    @Test func keepsRequestsMadeDuringAnAttempt() throws {
        let queue = Queue()
        queue.add(file("a", 1), at: 0)
        let attempt = try queue.begin(at: 0)
        queue.add(file("a", 2), at: 0)
        #expect(queue.attemptEnded(attempt, .failure(full), at: 0))
        let next = try queue.begin(at: 0)
        #expect(next.contents == [2])
        queue.add(file("a", 3), at: 0)
        #expect(queue.attemptEnded(next, .success(()), at: 0))
        #expect(queue.faults(at: 0).isEmpty)
        let last = try queue.begin(at: 0)
        #expect(last.contents == [3])
    }

    /// A file that fails delays no other file.
    @Test func writesOtherFilesMeanwhile() throws {
        let queue = Queue()
        queue.add(file("a", 1), at: 0)
        let attempt = try queue.begin(at: 0)
        #expect(queue.attemptEnded(attempt, .failure(full), at: 0))
        queue.add(file("b", 2), at: 0)
        #expect(try queue.begin(at: 0).path == "b")
    }

    @Test func anAttemptStuckForASecondIsAFault() throws {
        let queue = Queue()
        queue.add(file("a", 1), at: 0)
        let attempt = try queue.begin(at: 5)
        #expect(queue.faults(at: 6).isEmpty)
        #expect(queue.faults(at: 6.1) == [StateFault(path: "a", reason: .stuck, since: instant(5))])
        #expect(queue.attemptEnded(attempt, .success(()), at: 9))
        #expect(queue.faults(at: 9).isEmpty)

        queue.add {}
        guard case .job = queue.next(10) else {
            Issue.record("no job")
            return
        }
        #expect(queue.faults(at: 12) == [StateFault(path: nil, reason: .stuck, since: instant(10))])
        #expect(queue.attemptEnded(at: 12))
        #expect(queue.faults(at: 12).isEmpty)
    }

    @Test func withoutAThreadWaitingRequestsAreAFault() throws {
        let queue = Queue()
        queue.add(file("a", 1), at: 0)
        queue.cannotStart(.noResources, at: 0)
        queue.cannotStart(.noResources, at: 3)
        #expect(
            queue.faults(at: 3) == [StateFault(path: nil, reason: .failed(.noResources), since: start)])
        #expect(try queue.begin(at: 4).path == "a")
        #expect(queue.faults(at: 4).isEmpty)
    }

    @Test func attemptsEachRequestOnceAtTheEnd() throws {
        let queue = Queue()
        queue.add(file("a", 1), at: 0)
        let attempt = try queue.begin(at: 0)
        #expect(queue.attemptEnded(attempt, .failure(full), at: 0))
        queue.add(file("b", 2), at: 0)
        queue.end()
        let first = try queue.begin(at: 0)
        #expect(first.path == "a")
        #expect(queue.attemptEnded(first, .failure(full), at: 0))
        let second = try queue.begin(at: 0)
        #expect(second.path == "b")
        #expect(!queue.attemptEnded(second, .success(()), at: 0))
        guard case .end = queue.next(0) else {
            Issue.record("no end")
            return
        }
        // A failed request is not done.
        #expect(!queue.isIdle)
    }
}
