internal import MotionCore
internal import Synchronization

/// One handler in the chain.
final class Responder: Sendable {
    let recognizer: Recognizer?
    let handler: GestureHandler
    let isEnabled = Atomic<Bool>(true)

    /// Makes a responder for what `recognizer` is for, or for all gestures where that is `nil`.
    init(recognizer: Recognizer?, handler: @escaping GestureHandler) {
        self.recognizer = recognizer
        self.handler = handler
    }

    func accepts(_ event: GestureEvent) -> Bool {
        isEnabled.load(ordering: .relaxed) && (recognizer?.accepts(event) ?? true)
    }
}

/// The way of an event through the handlers: newest first, the default responder last, until one consumes it.
///
/// Who takes part in a gesture is decided where it begins. Everybody who heard of its beginning hears of its end, exactly
/// once: also where a handler above consumes the end, and also where the handler is switched off or removed in between;
/// then its end is a cancellation.
final class ResponderChain: Sendable {
    private struct State {
        /// Newest first.
        var responders: [Responder] = []
        var last: Responder?
        /// Those that heard the beginning of a gesture that has not ended.
        var participants: [Gesture: [Responder]] = [:]
        /// The latest event of each gesture under way.
        var open: [Gesture: GestureEvent] = [:]
        /// Those that were switched off or removed while they took part.
        var leaving: [Responder] = []
    }

    private let state = Mutex(State())
    /// Rung where somebody leaves; there is one while a delivery thread runs.
    private let delivery = Mutex<WakeSignal?>(nil)

    // MARK: For any thread

    /// Says which signal wakes the delivery thread; `nil` where none runs.
    func attach(_ signal: WakeSignal?) {
        delivery.withLock { $0 = signal }
    }

    private func wake() {
        delivery.withLock { $0 }?.ring()
    }

    func add(_ responder: Responder) {
        state.withLock { $0.responders.insert(responder, at: 0) }
    }

    /// Makes `responder` the last of the chain, in the place of the one before.
    func setLast(_ responder: Responder?) {
        state.withLock { state in
            if let old = state.last { state.leaving.append(old) }
            state.last = responder
        }
        wake()
    }

    func setEnabled(_ isEnabled: Bool, of responder: Responder) {
        responder.isEnabled.store(isEnabled, ordering: .relaxed)
        guard !isEnabled else { return }
        state.withLock { $0.leaving.append(responder) }
        wake()
    }

    func remove(_ responder: Responder) {
        state.withLock { state in
            state.responders.removeAll { $0 === responder }
            state.leaving.append(responder)
        }
        wake()
    }

    // MARK: For the delivery thread

    /// Sends an event down the chain.
    func deliver(_ event: GestureEvent) {
        cancelForLeaving()
        switch event.phase {
        case .began:
            let heard = offer(event)
            state.withLock { state in
                state.participants[event.gesture] = heard
                state.open[event.gesture] = event
            }
        case .recognized:
            _ = offer(event)
        case .changed, .ended, .cancelled:
            let isEnd = event.phase != .changed
            let heard = state.withLock { state in
                state.open[event.gesture] = isEnd ? nil : event
                return isEnd
                    ? state.participants.removeValue(forKey: event.gesture) ?? []
                    : state.participants[event.gesture] ?? []
            }
            for responder in heard { _ = responder.handler(event) }
        }
    }

    /// Cancels, for those that left, what they take part in.
    func cancelForLeaving() {
        let cancellations = state.withLock { state in
            var cancellations: [(Responder, GestureEvent)] = []
            for responder in state.leaving {
                for (gesture, open) in state.open {
                    guard let index = state.participants[gesture]?.firstIndex(where: { $0 === responder }) else {
                        continue
                    }
                    state.participants[gesture]?.remove(at: index)
                    var event = open
                    event.phase = .cancelled
                    event.reason = .disabled
                    cancellations.append((responder, event))
                }
            }
            state.leaving = []
            return cancellations
        }
        for (responder, event) in cancellations { _ = responder.handler(event) }
    }

    /// Offers an event from the newest responder down.
    ///
    /// - Returns: those that heard it.
    private func offer(_ event: GestureEvent) -> [Responder] {
        let responders = state.withLock { state in state.responders + (state.last.map { [$0] } ?? []) }
        var heard: [Responder] = []
        for responder in responders where responder.accepts(event) {
            heard.append(responder)
            if responder.handler(event) == .consume { break }
        }
        return heard
    }
}
