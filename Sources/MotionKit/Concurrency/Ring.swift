internal import Synchronization

/// A queue of fixed capacity between one producing and one consuming thread, without locks.
///
/// Neither side ever waits, and nothing is allocated after `init`.
final class Ring<Element: BitwiseCopyable & Sendable>: @unchecked Sendable {
    private let storage: UnsafeMutablePointer<Element>
    private let mask: Int
    /// Elements taken out and put in since the start. They only grow; an index is the value masked.
    private let taken = Atomic<Int>(0)
    private let given = Atomic<Int>(0)

    /// Allocates room for at least `capacity` elements: the next power of two.
    init(capacity: Int) {
        var size = 2
        while size < capacity { size *= 2 }
        storage = .allocate(capacity: size)
        mask = size - 1
    }

    deinit {
        storage.deallocate()
    }

    /// Puts an element in; returns false, and leaves it out, if the ring is full. For the producer only.
    @discardableResult
    func push(_ element: Element) -> Bool {
        let tail = given.load(ordering: .relaxed)
        guard tail - taken.load(ordering: .acquiring) <= mask else { return false }
        (storage + (tail & mask)).initialize(to: element)
        given.store(tail + 1, ordering: .releasing)
        return true
    }

    /// Takes the oldest element out, or returns `nil` if there is none. For the consumer only.
    func pop() -> Element? {
        let head = taken.load(ordering: .relaxed)
        guard head != given.load(ordering: .acquiring) else { return nil }
        let element = storage[head & mask]
        taken.store(head + 1, ordering: .releasing)
        return element
    }

    /// Whether there is nothing to take out. For the consumer only.
    var isEmpty: Bool { count == 0 }

    /// The number of elements. For the consumer only.
    var count: Int { given.load(ordering: .acquiring) - taken.load(ordering: .relaxed) }

    /// How many more elements fit. For a consumer that is the producer, too.
    var room: Int { mask + 1 - count }

    /// The element behind `offset` others, which stays; `nil` if there is none. For the consumer only.
    func peek(_ offset: Int = 0) -> Element? {
        offset < count ? storage[(taken.load(ordering: .relaxed) + offset) & mask] : nil
    }
}
