/// A first-in, first-out queue of a fixed capacity.
struct BoundedQueue<Element> {
    private var slots: [Element?]
    private var head = 0

    /// The number of elements.
    private(set) var count = 0

    /// Creates an empty queue for up to `capacity` elements.
    init(capacity: Int) {
        slots = Array(repeating: nil, count: max(capacity, 1))
    }

    /// Whether the queue is empty.
    var isEmpty: Bool { count == 0 }

    /// The oldest element, without removing it.
    var first: Element? { slots[head] }

    /// Appends an element. Returns `false` if the queue is full.
    mutating func append(_ element: Element) -> Bool {
        guard count < slots.count else { return false }
        slots[(head + count) % slots.count] = element
        count += 1
        return true
    }

    /// Removes and returns the oldest element.
    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = slots[head].take()
        head = (head + 1) % slots.count
        count -= 1
        return element
    }
}
