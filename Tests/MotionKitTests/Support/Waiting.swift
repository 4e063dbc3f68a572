import Dispatch
import Glibc
import Synchronization

/// Waits until `condition` holds, and for `seconds` at most.
///
/// - Returns: whether it holds.
func eventually(within seconds: Double = 45, _ condition: () -> Bool) async -> Bool {
    let deadline = monotonicSeconds() + seconds
    while !condition() {
        if monotonicSeconds() > deadline { return false }
        do { try await Task.sleep(for: .milliseconds(2)) } catch { return condition() }
    }
    return true
}

/// The same without suspending, for handlers.
func eventuallyBlocking(within seconds: Double = 45, _ condition: () -> Bool) -> Bool {
    let deadline = monotonicSeconds() + seconds
    while !condition() {
        if monotonicSeconds() > deadline { return false }
        usleep(1000)
    }
    return true
}

/// Seconds of the monotonic clock.
func monotonicSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}

/// What handlers heard, on whichever thread they were called.
final class Journal<Entry: Sendable>: Sendable {
    private let storage = Mutex<[Entry]>([])

    func append(_ entry: Entry) { storage.withLock { $0.append(entry) } }
    func append(contentsOf entries: [Entry]) { storage.withLock { $0 += entries } }

    var entries: [Entry] { storage.withLock { $0 } }
    var count: Int { storage.withLock { $0.count } }
}

/// A gate at which threads wait until the test opens it; open by itself after ten seconds, so that no thread stays.
final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let reached = Atomic<Int>(0)

    /// How many threads have come to the gate.
    var arrivals: Int { reached.load(ordering: .acquiring) }

    func pass() {
        reached.add(1, ordering: .releasing)
        if semaphore.wait(timeout: .now() + 60) == .success { semaphore.signal() }
    }

    func open() { semaphore.signal() }
}

/// A number that threads count up and tests look at.
final class Counter: Sendable {
    private let number = Atomic<Int>(0)

    var value: Int { number.load(ordering: .acquiring) }
    func countUp() { number.add(1, ordering: .releasing) }
}

/// Something that happens once.
final class Flag: Sendable {
    private let flag = Atomic<Bool>(false)

    var isSet: Bool { flag.load(ordering: .acquiring) }
    func set() { flag.store(true, ordering: .releasing) }
}
