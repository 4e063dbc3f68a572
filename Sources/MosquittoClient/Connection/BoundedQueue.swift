/// A first-in, first-out queue of a limited capacity. It takes memory only as it fills, because most queues never do,
/// and one program may have thousands.
struct BoundedQueue<Element> {
    /// The number of slots at first.
    private static var firstSlots: Int { 8 }

    private let capacity: Int
    private var slots: [Element?]
    private var head = 0

    /// The number of elements.
    private(set) var count = 0

    /// Creates an empty queue for up to `capacity` elements.
    init(capacity: Int) {
        self.capacity = max(capacity, 1)
        slots = Array(repeating: nil, count: min(self.capacity, BoundedQueue.firstSlots))
    }

    /// Whether the queue is empty.
    var isEmpty: Bool { count == 0 }

    /// The oldest element, without removing it.
    var first: Element? { slots[head] }

    /// Appends an element. Returns `false` if the queue is full.
    mutating func append(_ element: Element) -> Bool {
        guard count < capacity else { return false }
        if count == slots.count { grow() }
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

    /// Doubles the number of slots, up to the capacity. The oldest element comes first again.
    private mutating func grow() {
        let size = min(2 * slots.count, capacity)
        // In steps: Swift 6.0.3 cannot type-check the sum of the parts.
        var grown = Array(slots[head...])
        grown.append(contentsOf: slots[..<head])
        grown.append(contentsOf: repeatElement(nil, count: size - slots.count))
        slots = grown
        head = 0
    }
}
