internal import Synchronization

/// The elements of a stream that its consumer has not taken yet.
final class StreamBuffer<Element: Sendable>: Sendable {
    /// Makes room for an element and decides whether it is stored; returns how many elements were dropped.
    typealias Insert = @Sendable (inout StreamQueue<Element>, Element) -> Int

    private struct State {
        var queue = StreamQueue<Element>()
        var dropped = 0
    }

    private let state = Mutex(State())
    private let insert: Insert
    private let continuation: AsyncStream<Void>.Continuation

    /// Creates an empty buffer, with the `continuation` that signals the consumer.
    init(_ continuation: AsyncStream<Void>.Continuation, insert: @escaping Insert) {
        self.continuation = continuation
        self.insert = insert
    }

    var droppedCount: Int { state.withLock { $0.dropped } }

    func push(_ elements: [Element]) {
        state.withLock { state in
            for element in elements { state.dropped += insert(&state.queue, element) }
        }
        continuation.yield()
    }

    func pop() -> Element? {
        state.withLock { $0.queue.pop() }
    }

    /// Calls `body` when the stream ends: finished, cancelled, or released without a consumer.
    func onTermination(_ body: @escaping @Sendable () -> Void) {
        continuation.onTermination = { _ in body() }
    }

    /// Ends the stream after the elements that are still buffered.
    func finish() {
        continuation.finish()
    }
}

/// A first-in, first-out queue that allows looking at what it holds.
struct StreamQueue<Element: Sendable>: Sendable {
    private(set) var elements: [Element] = []
    private var first = 0

    var count: Int { elements.count - first }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    mutating func pop() -> Element? {
        guard first < elements.count else { return nil }
        let element = elements[first]
        first += 1
        if first == elements.count {
            elements.removeAll(keepingCapacity: true)
            first = 0
        } else if first > 256 {
            elements.removeFirst(first)
            first = 0
        }
        return element
    }

    /// Replaces the last element of a kind if it may be replaced.
    mutating func replaceLast(
        of isSameKind: (Element) -> Bool, with element: Element, if mayReplace: (Element) -> Bool
    ) {
        guard let index = elements.lastIndex(where: isSameKind), index >= first, mayReplace(elements[index]) else {
            return
        }
        elements[index] = element
    }
}
