internal import Glibc
internal import Synchronization

/// The newest values of one producing thread, in fixed memory: each value replaces the oldest one.
///
/// The producer neither waits nor knows whether another thread copies. A copy leaves out what was replaced meanwhile.
/// Nothing is allocated after `init`.
final class NewestValues<Element: BitwiseCopyable & Sendable>: @unchecked Sendable {
    /// The most values that are written at once: a copy leaves these slots out.
    private static var largestBatch: Int { 256 }

    private let storage: UnsafeMutablePointer<Element>
    private let size: Int
    /// Values written since the start; it only grows.
    private let given = Atomic<Int>(0)
    /// Copies made since the start. The producer reads it, so that it replaces no value before a finished copy has read it.
    private let copies = Atomic<Int>(0)
    /// Where the producer writes next.
    private var next = 0

    /// Allocates room for `capacity` values, and touches it, so that the system provides the memory now.
    init(capacity: Int) {
        size = capacity + Self.largestBatch
        storage = .allocate(capacity: size)
        memset(storage, 0, byteCount)
    }

    deinit {
        storage.deallocate()
    }

    /// The size of the memory.
    var byteCount: Int { size * MemoryLayout<Element>.stride }

    /// Appends values, at most 256. For the producer only.
    func append(_ values: UnsafeBufferPointer<Element>) {
        guard let base = values.baseAddress else { return }
        _ = copies.load(ordering: .acquiring)
        let room = size - next
        (storage + next).initialize(from: base, count: min(values.count, room))
        if values.count < room {
            next += values.count
        } else {
            // The rest goes to the beginning.
            next = values.count - room
            storage.initialize(from: base + room, count: next)
        }
        given.store(given.load(ordering: .relaxed) + values.count, ordering: .releasing)
    }

    /// The values for which `isWanted`, oldest first; they must follow one another.
    func copy(_ isWanted: (Element) -> Bool) -> [Element] {
        let end = given.load(ordering: .acquiring)
        var first = end
        var values: [Element] = []
        for index in max(0, end + Self.largestBatch - size)..<end {
            let value = storage[index % size]
            guard isWanted(value) else { continue }
            if values.isEmpty { first = index }
            values.append(value)
        }
        // What the producer may have replaced while this thread was kept from running.
        atomicMemoryFence(ordering: .acquiring)
        let replaced = given.load(ordering: .relaxed) + Self.largestBatch - size
        copies.add(1, ordering: .releasing)
        if replaced > first { values.removeFirst(min(values.count, replaced - first)) }
        return values
    }
}
