import Dispatch
import Glibc
import Synchronization

/// How long tests wait for what must happen, seconds: a machine with ten times as much to do does not fail them.
private let patience = 300.0

/// Waits until `condition` holds, for at most `seconds`.
///
/// - Returns: whether it holds.
package func eventually(within seconds: Double = patience, _ condition: () -> Bool) async -> Bool {
    let deadline = monotonicSeconds() + seconds
    while !condition() {
        if monotonicSeconds() > deadline { return false }
        do { try await Task.sleep(for: .milliseconds(2)) } catch { return condition() }
    }
    return true
}

/// The same without suspending, for handlers.
package func eventuallyBlocking(within seconds: Double = patience, _ condition: () -> Bool) -> Bool {
    let deadline = monotonicSeconds() + seconds
    while !condition() {
        if monotonicSeconds() > deadline { return false }
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
