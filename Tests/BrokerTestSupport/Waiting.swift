import Dispatch
import Glibc
import Synchronization

/// How long tests wait for what must happen: a machine with ten times as much to do does not fail them.
package let patience = Duration.seconds(300)

/// Waits until a condition holds. Returns `false` if it does not in time.
///
/// A passing test does not wait much longer than necessary: the limit only decides when it has failed. Conditions that read
/// files or messages cost more than what they wait for, so they are checked the less often the longer they take.
package func eventually(within limit: Duration = patience, _ condition: () -> Bool) async -> Bool {
    let start = ContinuousClock.now
    while !condition() {
        let waited = start.duration(to: .now)
        if waited >= limit { return false }
        let pause = min(max(.milliseconds(2), waited / 16), .milliseconds(100))
        do { try await Task.sleep(for: pause) } catch { return condition() }
    }
    return true
}

/// The same without suspending, for handlers.
package func eventuallyBlocking(_ condition: () -> Bool) -> Bool {
    let start = ContinuousClock.now
    while !condition() {
        if start.duration(to: .now) >= patience { return false }
        usleep(1000)
    }
    return true
}

/// The monotonic time, seconds.
package func monotonicSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}

/// A log of handler calls, on whichever thread they are made.
package final class Journal<Entry: Sendable>: Sendable {
    private let storage = Mutex<[Entry]>([])

    package init() {}

    package func append(_ entry: Entry) { storage.withLock { $0.append(entry) } }
    package func append(contentsOf entries: [Entry]) { storage.withLock { $0 += entries } }

    package var entries: [Entry] { storage.withLock { $0 } }
    package var count: Int { storage.withLock { $0.count } }
}

/// A gate at which threads wait until the test opens it. It opens by itself after ten seconds, so that no thread is
/// stuck.
package final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let reached = Atomic<Int>(0)

    package init() {}

    /// The number of threads that have reached the gate.
    package var arrivals: Int { reached.load(ordering: .acquiring) }

    package func pass() {
        reached.add(1, ordering: .releasing)
        if semaphore.wait(timeout: .now() + 60) == .success { semaphore.signal() }
    }

    package func open() { semaphore.signal() }
}

/// A number that threads increment and tests read.
package final class Counter: Sendable {
    private let number = Atomic<Int>(0)

    package init() {}

    package var value: Int { number.load(ordering: .acquiring) }
    package func countUp() { number.add(1, ordering: .releasing) }
}

/// A one-time event.
package final class Flag: Sendable {
    private let flag = Atomic<Bool>(false)

    package init() {}

    package var isSet: Bool { flag.load(ordering: .acquiring) }
    package func set() { flag.store(true, ordering: .releasing) }
}

/// Ends a test that has found something other than what the rest of it is about.
package struct Unexpected: Error, CustomStringConvertible {
    package let description: String

    package init<Found>(_ found: Found) { description = "\(found)" }
}
