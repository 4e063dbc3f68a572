internal import MotionCore
internal import Synchronization

/// One handler in the chain.
final class Responder: Sendable {
    let recognizer: Recognizer?
    let handler: GestureHandler
    /// Changed under the chain's lock, read by anybody.
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
///
/// Handlers are called without the lock, so that they may change the chain. Who takes part is noted before it is called
/// and struck off before it is told the end: whoever leaves in between is owed a cancellation, and nobody else is.
final class ResponderChain: Sendable {
    private let state = Mutex(State())
    /// Rung where somebody leaves; there is one while a delivery thread runs.
    private let delivery = Mutex<WakeSignal?>(nil)

    /// A gesture that has not ended.
    private struct OpenGesture {
        var latest: GestureEvent
        /// Those that heard its beginning, and not its end.
        var participants: [Responder] = []
    }

    private struct State {
        /// Newest first.
        var responders: [Responder] = []
        var last: Responder?
        var open: [Gesture: OpenGesture] = [:]
        /// The ends that are owed to those that left while they took part.
        var owed: [(responder: Responder, event: GestureEvent)] = []

        /// Whether a responder may be told of a gesture.
        func hasEnabled(_ responder: Responder) -> Bool {
            responder.isEnabled.load(ordering: .relaxed)
                && (last === responder || responders.contains { $0 === responder })
        }

        /// Strikes a responder off every gesture under way.
        mutating func leave(_ responder: Responder) {
            for gesture in Gesture.allCases {
                guard let latest = open[gesture]?.latest,
                    let index = open[gesture]?.participants.firstIndex(where: { $0 === responder })
                else { continue }
                open[gesture]?.participants.remove(at: index)
                owed.append((responder, latest.cancelled(.disabled)))
            }
        }
    }

    // MARK: For any thread

    /// Says which signal wakes the delivery thread.
    func attach(_ signal: WakeSignal) {
        delivery.withLock { $0 = signal }
    }

    /// Forgets the signal, unless another one has taken its place.
    func detach(_ signal: WakeSignal) {
        delivery.withLock { if $0 === signal { $0 = nil } }
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
            if let old = state.last { state.leave(old) }
            state.last = responder
        }
        wake()
    }

    func setEnabled(_ isEnabled: Bool, of responder: Responder) {
        state.withLock { state in
            responder.isEnabled.store(isEnabled, ordering: .relaxed)
            if !isEnabled { state.leave(responder) }
        }
        if !isEnabled { wake() }
    }

    func remove(_ responder: Responder) {
        state.withLock { state in
            state.responders.removeAll { $0 === responder }
            state.leave(responder)
        }
        wake()
    }

    // MARK: For the delivery thread

    /// Sends an event down the chain.
    func deliver(_ event: GestureEvent) {
        cancelForLeaving()
        switch event.phase {
        case .began:
            // Still open is only a gesture whose end found no room on its way here.
            cancel(event.gesture, .interrupted)
            state.withLock { $0.open[event.gesture] = OpenGesture(latest: event) }
            offer(event)
        case .recognized:
            offer(event)
        case .changed:
            for responder in update(event) where takesPart(responder, in: event.gesture) {
                _ = responder.handler(event)
            }
        case .ended, .cancelled:
            close(event)
        }
    }

    /// Cancels, for those that left, what they took part in.
    func cancelForLeaving() {
        while let (responder, event) = state.withLock({ $0.owed.isEmpty ? nil : $0.owed.removeFirst() }) {
            _ = responder.handler(event)
        }
    }

    /// Cancels every gesture under way.
    func cancelAll(_ reason: CancellationReason) {
        cancelForLeaving()
        for gesture in Gesture.allCases { cancel(gesture, reason) }
        cancelForLeaving()
    }

    private func cancel(_ gesture: Gesture, _ reason: CancellationReason) {
        guard let latest = state.withLock({ $0.open[gesture]?.latest }) else { return }
        close(latest.cancelled(reason))
    }

    /// Offers an event from the newest responder down, until one consumes it.
    private func offer(_ event: GestureEvent) {
        let responders = state.withLock { state in state.responders + (state.last.map { [$0] } ?? []) }
        for responder in responders where responder.accepts(event) {
            guard enter(responder, event) else { continue }
            if responder.handler(event) == .consume { return }
        }
    }

    /// Notes that a responder hears of a beginning; returns false where it was switched off or removed meanwhile.
    private func enter(_ responder: Responder, _ event: GestureEvent) -> Bool {
        state.withLock { state in
            guard state.hasEnabled(responder) else { return false }
            if event.phase == .began { state.open[event.gesture]?.participants.append(responder) }
            return true
        }
    }

    /// Notes a gesture's latest event; returns those that take part in it.
    private func update(_ event: GestureEvent) -> [Responder] {
        state.withLock { state in
            state.open[event.gesture]?.latest = event
            return state.open[event.gesture]?.participants ?? []
        }
    }

    private func takesPart(_ responder: Responder, in gesture: Gesture) -> Bool {
        state.withLock { state in state.open[gesture]?.participants.contains { $0 === responder } ?? false }
    }

    /// Tells a gesture's end to everybody who takes part in it.
    private func close(_ event: GestureEvent) {
        _ = update(event)
        while let responder = nextToEnd(event.gesture) { _ = responder.handler(event) }
    }

    /// Strikes the first participant off; forgets the gesture where there is none left.
    private func nextToEnd(_ gesture: Gesture) -> Responder? {
        state.withLock { state in
            guard let first = state.open[gesture]?.participants.first else {
                state.open[gesture] = nil
                return nil
            }
            state.open[gesture]?.participants.removeFirst()
            return first
        }
    }
}

extension GestureEvent {
    /// The same gesture, cancelled for `reason`.
    fileprivate func cancelled(_ reason: CancellationReason) -> GestureEvent {
        var event = self
        event.phase = .cancelled
        event.reason = reason
        return event
    }
}
