internal import IMUDrivers
internal import MotionCore
internal import Synchronization

/// The handlers of one kind of value, called in the order in which they were added.
final class HandlerList<Value>: Sendable {
    private struct Entry {
        let id: Int
        let handler: @Sendable (Value) -> Void
    }

    private struct State {
        var entries: [Entry] = []
        var lastID = 0
    }

    private let state = Mutex(State())
    private let count = Atomic<Int>(0)

    /// Whether there is no handler. Takes no lock, so the sensor thread may ask too.
    var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    func add(_ handler: @escaping @Sendable (Value) -> Void) -> HandlerToken {
        let id = state.withLock { state in
            state.lastID += 1
            state.entries.append(Entry(id: state.lastID, handler: handler))
            count.store(state.entries.count, ordering: .relaxed)
            return state.lastID
        }
        return HandlerToken { self.remove(id) }
    }

    private func remove(_ id: Int) {
        state.withLock { state in
            state.entries.removeAll { $0.id == id }
            count.store(state.entries.count, ordering: .relaxed)
        }
    }

    /// Calls the handlers that are present now. One that another handler removes before its turn is not called.
    func notify(_ value: Value) {
        for entry in state.withLock({ $0.entries }) where contains(entry.id) { entry.handler(value) }
    }

    private func contains(_ id: Int) -> Bool {
        state.withLock { state in state.entries.contains { $0.id == id } }
    }
}

/// A handler that was added to a `MotionManager`. Releasing the token does not remove the handler.
public final class HandlerToken: Sendable {
    private let onRemove: @Sendable () -> Void

    init(_ onRemove: @escaping @Sendable () -> Void) {
        self.onRemove = onRemove
    }

    /// Removes the handler. A call that is under way finishes; there is no other.
    public func remove() {
        onRemove()
    }
}

/// All handlers of a manager.
final class Handlers: Sendable {
    let chain = ResponderChain()
    let motion = MotionHandlers()
    let sensor = HandlerList<(event: SensorEvent, time: Timestamp)>()
    let references = HandlerList<ReferenceChange>()
    let samples = HandlerList<[MotionSample]>()
    let fields = HandlerList<[MagneticSample]>()
    let measured = HandlerList<[MeasuredSample]>()
    let nearMisses = HandlerList<NearMiss>()
    let machine = HandlerList<MachineReport>()

    /// What ends the streams when the manager is released.
    let ends = HandlerList<Void>()

    private let delivery = Mutex(())

    /// Calls `body` once no other delivery thread is calling handlers. That of an earlier run may still be, if a handler
    /// stopped and started its manager or does not return.
    func withExclusiveDelivery(_ body: () -> Void) {
        delivery.withLock { _ in body() }
    }
}
