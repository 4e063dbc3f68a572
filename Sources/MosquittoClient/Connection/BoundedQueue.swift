/// A first-in, first-out queue of a fixed capacity.
struct BoundedQueue<Element> {
    private var slots: [Element?]
    private var head = 0

    /// How many elements wait.
    private(set) var count = 0

    /// Makes an empty queue for up to `capacity` elements.
    init(capacity: Int) {
        slots = Array(repeating: nil, count: max(capacity, 1))
    }

    /// Whether nothing waits.
    var isEmpty: Bool { count == 0 }

    /// The oldest element, which stays.
    var first: Element? { slots[head] }

    /// Appends an element; false where there is no room.
    mutating func append(_ element: Element) -> Bool {
        guard count < slots.count else { return false }
        slots[(head + count) % slots.count] = element
        count += 1
        return true
    }

    /// Takes the oldest element.
    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = slots[head].take()
        head = (head + 1) % slots.count
        count -= 1
        return element
    }
}
