public import IMUDrivers
public import MotionCore
internal import Synchronization

extension MotionManager {
    /// Gestures as an asynchronous sequence: `for await event in manager.gestures(.shake)`.
    ///
    /// It observes: it consumes nothing, and it does not receive what a handler before it in the responder chain, one
    /// added later, consumes. Up to 64 events wait for a slow consumer. Beyond that, changes of a gesture are merged, then whole
    /// gestures are dropped: every `began` that arrives is followed by exactly one `ended` or `cancelled`.
    ///
    /// - Parameter recognizers: which gestures; none for all.
    /// - Returns: a stream that has begun already.
    public func gestures(_ recognizers: Recognizer...) -> MotionStream<GestureEvent> {
        let all = Gesture.allCases.map { Recognizer($0) }
        let admission = GestureAdmission()
        return makeStream(insert: { admission.insert($1, into: &$0) }) { push in
            let tokens = (recognizers.isEmpty ? all : recognizers).map { recognizer in
                addRecognizer(recognizer) { event in
                    push([event])
                    return .passOn
                }
            }
            return HandlerToken { for token in tokens { token.remove() } }
        }
    }

    /// The motion state as an asynchronous sequence.
    ///
    /// Only the newest state waits for a slow consumer.
    ///
    /// - Parameter interval: seconds between two states; 0 for the state after every sample.
    /// - Returns: a stream that has begun already.
    public func motion(every interval: Double = 0.1) -> MotionStream<MotionState> {
        makeStream(insert: StreamPolicy.newest(1)) { push in
            addMotionHandler(every: interval) { push([$0]) }
        }
    }

    /// Every sample as an asynchronous sequence: calibrated, along the body's axes, with the attitude.
    ///
    /// Up to 4,096 samples wait for a slow consumer; beyond that the oldest are dropped. `MeasuredSample.number` shows how many
    /// are missing.
    public var samples: MotionStream<MeasuredSample> {
        makeStream(insert: StreamPolicy.newest(4096)) { push in
            addMeasuredSampleHandler { push($0) }
        }
    }

    /// What happens to the sensor, as an asynchronous sequence: it streams, it lost samples, it failed.
    ///
    /// Up to 64 events wait for a slow consumer; beyond that the oldest are dropped.
    public var sensorEvents: MotionStream<SensorEvent> {
        makeStream(insert: StreamPolicy.newest(64)) { push in
            addSensorHandler { event, _ in push([event]) }
        }
    }

    /// A stream for a handler on an actor, and the token that removes the handler and ends the stream.
    func makeGestureStream(
        _ recognizer: Recognizer, _ response: GestureResponse
    ) -> (MotionStream<GestureEvent>, RecognizerToken) {
        let admission = GestureAdmission()
        let (buffer, stream, end) = makeBuffer { admission.insert($1, into: &$0) }
        // Cancellations that are still to come after the removal; the last one ends the stream.
        let pending = Mutex<Int?>(nil)
        let token = addResponder(for: recognizer) { event in
            buffer.push([event])
            let isLast = pending.withLock { pending in
                pending = pending.map { $0 - 1 }
                return pending == 0
            }
            if isLast { buffer.finish() }
            return response
        } onRemove: { count in
            end.remove()
            pending.withLock { $0 = count }
            if count == 0 { buffer.finish() }
        }
        return (stream, token)
    }

    /// Creates a stream and connects it.
    ///
    /// - Parameters:
    ///   - insert: stores an element in the buffer.
    ///   - connect: adds the handler that pushes; returns its token.
    /// - Returns: a stream that has begun already.
    private func makeStream<Element: Sendable>(
        insert: @escaping StreamBuffer<Element>.Insert,
        _ connect: (@escaping @Sendable ([Element]) -> Void) -> HandlerToken
    ) -> MotionStream<Element> {
        let (buffer, stream, end) = makeBuffer(insert: insert)
        let token = connect { buffer.push($0) }
        buffer.onTermination {
            end.remove()
            token.remove()
        }
        return stream
    }

    /// Creates a stream and its buffer, which the manager's end finishes unless `end` is removed.
    private func makeBuffer<Element: Sendable>(
        insert: @escaping StreamBuffer<Element>.Insert
    ) -> (buffer: StreamBuffer<Element>, stream: MotionStream<Element>, end: HandlerToken) {
        let (signals, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let buffer = StreamBuffer<Element>(continuation, insert: insert)
        return (buffer, MotionStream(buffer, signals), handlers.ends.add { buffer.finish() })
    }
}

/// What streams do when their consumer is slow.
enum StreamPolicy {
    /// Drops the oldest elements beyond `capacity`.
    static func newest<Element: Sendable>(_ capacity: Int) -> StreamBuffer<Element>.Insert {
        { queue, element in
            var dropped = 0
            while queue.count >= capacity, queue.pop() != nil { dropped += 1 }
            queue.append(element)
            return dropped
        }
    }
}

/// Decides which gestures a full buffer takes: whole ones or none.
final class GestureAdmission: Sendable {
    /// Events that wait for a consumer, ends of admitted gestures not counted.
    private static let capacity = 64

    /// The gestures under way whose beginning was dropped.
    private let dropped = Mutex<Set<GestureSource>>([])

    /// Stores an event or drops it; returns how many events were dropped.
    func insert(_ event: GestureEvent, into queue: inout StreamQueue<GestureEvent>) -> Int {
        let source = GestureSource(event)
        let isFull = queue.count >= GestureAdmission.capacity
        switch event.phase {
        case .recognized:
            if isFull { return 1 }
        case .began:
            if isFull {
                dropped.withLock { _ = $0.insert(source) }
                return 1
            }
        case .changed:
            if dropped.withLock({ $0.contains(source) }) { return 1 }
            if isFull {
                // The newest change replaces the one before it.
                queue.replaceLast(of: { GestureSource($0) == source }, with: event) { $0.phase == .changed }
                return 1
            }
        case .ended, .cancelled:
            if dropped.withLock({ $0.remove(source) }) != nil { return 1 }
        }
        queue.append(event)
        return 0
    }
}

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
