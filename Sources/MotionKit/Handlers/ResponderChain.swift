internal import LinuxSystem
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

    /// What there is one of at a time: a gesture of the device, and beside it the same of a simulation.
    private struct Source: Hashable {
        let gesture: Gesture
        let isSimulated: Bool

        init(_ event: GestureEvent) {
            gesture = event.gesture
            isSimulated = event.isSimulated
        }
    }

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
        var open: [Source: OpenGesture] = [:]
        /// The ends that are owed to those that left while they took part.
        var owed: [(responder: Responder, event: GestureEvent)] = []

        /// Whether a responder may be told of a gesture.
        func hasEnabled(_ responder: Responder) -> Bool {
            responder.isEnabled.load(ordering: .relaxed)
                && (last === responder || responders.contains { $0 === responder })
        }

        /// What is open, in an order that does not change from run to run.
        var inOrder: [Source] {
            open.keys.sorted {
                ($0.isSimulated ? 1 : 0, $0.gesture.rawValue) < ($1.isSimulated ? 1 : 0, $1.gesture.rawValue)
            }
        }

        /// Strikes a responder off every gesture under way.
        mutating func leave(_ responder: Responder) {
            for source in inOrder {
                guard let latest = open[source]?.latest,
                    let index = open[source]?.participants.firstIndex(where: { $0 === responder })
                else { continue }
                open[source]?.participants.remove(at: index)
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
        delivery.withLock { $0 }?.signal()
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

    /// The gestures that have begun and not ended, without those of a simulation.
    var openGestures: GestureSet {
        state.withLock { state in
            state.open.keys.reduce(into: GestureSet()) { open, source in
                if !source.isSimulated { open.insert(GestureSet(source.gesture)) }
            }
        }
    }

    // MARK: For the delivery thread

    /// Sends an event down the chain.
    func deliver(_ event: GestureEvent) {
        cancelForLeaving()
        switch event.phase {
        case .began:
            // Still open is only a gesture whose end found no room on its way here.
            cancel(Source(event), .interrupted)
            state.withLock { $0.open[Source(event)] = OpenGesture(latest: event) }
            offer(event)
        case .recognized:
            offer(event)
        case .changed:
            for responder in update(event) where takesPart(responder, in: Source(event)) {
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
        for source in state.withLock({ $0.inOrder }) { cancel(source, reason) }
        cancelForLeaving()
    }

    private func cancel(_ source: Source, _ reason: CancellationReason) {
        guard let latest = state.withLock({ $0.open[source]?.latest }) else { return }
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
            if event.phase == .began { state.open[Source(event)]?.participants.append(responder) }
            return true
        }
    }

    /// Notes a gesture's latest event; returns those that take part in it.
    private func update(_ event: GestureEvent) -> [Responder] {
        state.withLock { state in
            state.open[Source(event)]?.latest = event
            return state.open[Source(event)]?.participants ?? []
        }
    }

    private func takesPart(_ responder: Responder, in source: Source) -> Bool {
        state.withLock { state in state.open[source]?.participants.contains { $0 === responder } ?? false }
    }

    /// Tells a gesture's end to everybody who takes part in it.
    private func close(_ event: GestureEvent) {
        _ = update(event)
        while let responder = nextToEnd(Source(event)) { _ = responder.handler(event) }
    }

    /// Strikes the first participant off; forgets the gesture where there is none left.
    private func nextToEnd(_ source: Source) -> Responder? {
        state.withLock { state in
            guard let first = state.open[source]?.participants.first else {
                state.open[source] = nil
                return nil
            }
            state.open[source]?.participants.removeFirst()
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
