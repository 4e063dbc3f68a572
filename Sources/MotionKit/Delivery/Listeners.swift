internal import IMUDrivers
internal import MotionCore
internal import Synchronization

/// The handlers of everything but gestures.
final class Listeners: Sendable {
    struct Handlers {
        var motion: [Int: @Sendable (MotionState) -> Void] = [:]
        var sensor: [Int: @Sendable (IMUPoll.Event, Timestamp) -> Void] = [:]
        var samples: [Int: @Sendable ([MotionSample]) -> Void] = [:]
        fileprivate var nextID = 0
    }

    private let handlers = Mutex(Handlers())

    /// The handlers as they are now.
    var current: Handlers { handlers.withLock { $0 } }

    /// Whether somebody wants every sample.
    var wantSamples: Bool { handlers.withLock { !$0.samples.isEmpty } }

    func add(_ insert: (inout Handlers, Int) -> Void) -> HandlerToken {
        let id = handlers.withLock { handlers in
            handlers.nextID += 1
            insert(&handlers, handlers.nextID)
            return handlers.nextID
        }
        return HandlerToken(listeners: self, id: id)
    }

    fileprivate func remove(_ id: Int) {
        handlers.withLock { handlers in
            handlers.motion[id] = nil
            handlers.sensor[id] = nil
            handlers.samples[id] = nil
        }
    }
}

/// A handler that was added to a `MotionManager`; dropping it changes nothing.
public final class HandlerToken: Sendable {
    private let listeners: Listeners
    private let id: Int

    init(listeners: Listeners, id: Int) {
        self.listeners = listeners
        self.id = id
    }

    /// Takes the handler out: it is not called any more, but for a call that is under way.
    public func remove() {
        listeners.remove(id)
    }
}
