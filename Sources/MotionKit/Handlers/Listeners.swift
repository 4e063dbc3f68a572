internal import Synchronization

/// The handlers of one kind of news, told in the order in which they were added.
final class Listeners<News>: Sendable {
    private struct Listener {
        let id: Int
        let handler: @Sendable (News) -> Void
    }

    private struct State {
        var listeners: [Listener] = []
        var lastID = 0
    }

    private let state = Mutex(State())
    private let count = Atomic<Int>(0)

    /// Whether there is nobody to tell. Takes no lock, so that the sensor thread may ask, too.
    var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    func add(_ handler: @escaping @Sendable (News) -> Void) -> HandlerToken {
        let id = state.withLock { state in
            state.lastID += 1
            state.listeners.append(Listener(id: state.lastID, handler: handler))
            count.store(state.listeners.count, ordering: .relaxed)
            return state.lastID
        }
        return HandlerToken { self.remove(id) }
    }

    private func remove(_ id: Int) {
        state.withLock { state in
            state.listeners.removeAll { $0.id == id }
            count.store(state.listeners.count, ordering: .relaxed)
        }
    }

    /// Tells everybody who is here now. One whose turn has not come when another takes it out is not called any more.
    func tell(_ news: News) {
        for listener in state.withLock({ $0.listeners }) where contains(listener.id) { listener.handler(news) }
    }

    private func contains(_ id: Int) -> Bool {
        state.withLock { state in state.listeners.contains { $0.id == id } }
    }
}

/// A handler that was added to a `MotionManager`; dropping it changes nothing.
public final class HandlerToken: Sendable {
    private let takeOut: @Sendable () -> Void

    init(_ takeOut: @escaping @Sendable () -> Void) {
        self.takeOut = takeOut
    }

    /// Takes the handler out: it is not called any more, but for a call that is under way.
    public func remove() {
        takeOut()
    }
}
