/// An asynchronous sequence of what a manager reports, for one consumer.
///
/// It begins when it is created, not when it is iterated. Its buffer is bounded; what happens when the consumer is slow
/// depends on what it carries, see the method that returns it. It ends when the task of the consumer is cancelled or the
/// manager is released; stopping the manager does not end it, so it goes on after the next start.
public struct MotionStream<Element: Sendable>: AsyncSequence, Sendable {
    private let buffer: StreamBuffer<Element>
    private let signals: AsyncStream<Void>

    init(_ buffer: StreamBuffer<Element>, _ signals: AsyncStream<Void>) {
        self.buffer = buffer
        self.signals = signals
    }

    /// How many elements were dropped because the consumer was slow.
    public var droppedCount: Int { buffer.droppedCount }

    /// The iterator of the stream's only consumer.
    public func makeAsyncIterator() -> Iterator {
        Iterator(buffer: buffer, signals: signals.makeAsyncIterator())
    }

    /// Takes the elements out of the stream's buffer.
    public struct Iterator: AsyncIteratorProtocol {
        let buffer: StreamBuffer<Element>
        var signals: AsyncStream<Void>.Iterator

        /// The next element; waits for it. `nil` when the stream has ended.
        public mutating func next() async -> Element? {
            await next(isolation: nil)
        }

        /// The next element, without leaving `actor` to wait for it; `nil` when the stream has ended.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            while true {
                if Task.isCancelled {
                    // A task that was cancelled before it waited ends the stream too.
                    buffer.finish()
                    return nil
                }
                if let element = buffer.pop() { return element }
                if await signals.next(isolation: actor) == nil {
                    if Task.isCancelled { continue }
                    return buffer.pop()
                }
            }
        }
    }
}
