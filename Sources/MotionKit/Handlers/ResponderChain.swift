internal import LinuxSystem
internal import MotionCore
internal import Synchronization

/// One handler in the chain.
final class Responder: Sendable {
    let recognizer: Recognizer?
    /// The variant whose events it receives; 0 for those of the manager's settings.
    let variant: UInt16
    let handler: GestureHandler
    /// Changed under the chain's lock, read without.
    let isEnabled = Atomic<Bool>(true)

    /// Creates a responder for what `recognizer` accepts, or for all gestures if that is `nil`.
    init(recognizer: Recognizer?, variant: UInt16 = 0, handler: @escaping GestureHandler) {
        self.recognizer = recognizer
        self.variant = variant
        self.handler = handler
    }

    func accepts(_ event: GestureEvent) -> Bool {
        isEnabled.load(ordering: .relaxed) && event.variant == variant && (recognizer?.accepts(event) ?? true)
    }
}

/// Passes an event from handler to handler, newest first and the default responder last, until one consumes it.
///
/// Who takes part in a gesture is decided when it begins. Each handler that received the beginning receives exactly one
/// end, even if a handler before it consumes the end. A handler that is switched off or removed in between receives a
/// cancellation as its end.
///
/// Handlers are called without the lock, so they may change the chain. A handler is recorded as a participant before it
/// is called and removed from the participants before it receives the end; a responder that is removed in between
/// receives a cancellation.
final class ResponderChain: Sendable {
    private let state = Mutex(State())
    /// Wakes the delivery thread when a responder leaves; `nil` while there is no such thread.
    private let delivery = Mutex<WakeSignal?>(nil)

    /// A gesture that has not ended.
    private struct OpenGesture {
        var latest: GestureEvent
        /// Those that received its beginning and not its end.
        var participants: [Responder] = []
    }

    private struct State {
        /// Newest first.
        var responders: [Responder] = []
        var last: Responder?
        var open: [GestureSource: OpenGesture] = [:]
        /// Cancellations for responders that left a gesture under way, not yet delivered.
        var pendingCancellations: [(responder: Responder, event: GestureEvent)] = []

        /// Whether a responder is in the chain and switched on.
        func hasEnabled(_ responder: Responder) -> Bool {
            responder.isEnabled.load(ordering: .relaxed)
                && (last === responder || responders.contains { $0 === responder })
        }

        /// The sources of open gestures, always in the same order.
        var sources: [GestureSource] { open.keys.sorted { $0.rank < $1.rank } }

        /// Removes a responder from every gesture under way.
        mutating func leave(_ responder: Responder) {
            for source in sources {
                guard let latest = open[source]?.latest,
                    let index = open[source]?.participants.firstIndex(where: { $0 === responder })
                else { continue }
                open[source]?.participants.remove(at: index)
                pendingCancellations.append((responder, latest.cancelled(.disabled)))
            }
        }
    }

    // MARK: For any thread

    /// Sets the signal that wakes the delivery thread.
    func attach(_ signal: WakeSignal) {
        delivery.withLock { $0 = signal }
    }

    /// Forgets the signal, unless another one has replaced it.
    func detach(_ signal: WakeSignal) {
        delivery.withLock { if $0 === signal { $0 = nil } }
    }

    private func wake() {
        delivery.withLock { $0 }?.signal()
    }

    func add(_ responder: Responder) {
        state.withLock { $0.responders.insert(responder, at: 0) }
    }

    /// Makes `responder` the last of the chain, replacing the one before.
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

    /// Removes a responder. If it was there, `body` is called before its cancellations are delivered, with their number.
    func remove(_ responder: Responder, then body: (_ pendingCancellations: Int) -> Void) {
        state.withLock { state in
            let count = state.responders.count
            state.responders.removeAll { $0 === responder }
            state.leave(responder)
            guard state.responders.count < count else { return }
            body(state.pendingCancellations.count { $0.responder === responder })
        }
        wake()
    }

    /// The gestures that have begun and not ended, except simulated ones.
    var openGestures: GestureSet {
        state.withLock { state in
            state.open.keys.reduce(into: GestureSet()) { open, source in
                if !source.isSimulated { open.insert(GestureSet(source.gesture)) }
            }
        }
    }

    // MARK: For the delivery thread

    /// Passes an event along the chain.
    func deliver(_ event: GestureEvent) {
        deliverCancellations()
        switch event.phase {
        case .began:
            // A gesture is still open only if its end was dropped on the way here.
            cancel(GestureSource(event), .interrupted)
            state.withLock { $0.open[GestureSource(event)] = OpenGesture(latest: event) }
            offer(event)
        case .recognized:
            offer(event)
        case .changed:
            for responder in update(event) where takesPart(responder, in: GestureSource(event)) {
                _ = responder.handler(event)
            }
        case .ended, .cancelled:
            // What began before the program has no participants.
            if event.beginning == .reported { close(event) } else { offer(event) }
        }
    }

    /// Delivers the cancellations to responders that left.
    func deliverCancellations() {
        while let (responder, event) = nextCancellation() { _ = responder.handler(event) }
    }

    private func nextCancellation() -> (Responder, GestureEvent)? {
        state.withLock { $0.pendingCancellations.isEmpty ? nil : $0.pendingCancellations.removeFirst() }
    }

    /// Cancels every gesture under way.
    func cancelAll(_ reason: CancellationReason) {
        deliverCancellations()
        for source in state.withLock({ $0.sources }) { cancel(source, reason) }
        deliverCancellations()
    }

    private func cancel(_ source: GestureSource, _ reason: CancellationReason) {
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

    /// Records a responder as a participant; returns false if it was switched off or removed meanwhile.
    private func enter(_ responder: Responder, _ event: GestureEvent) -> Bool {
        state.withLock { state in
            guard state.hasEnabled(responder) else { return false }
            if event.phase == .began { state.open[GestureSource(event)]?.participants.append(responder) }
            return true
        }
    }

    /// Records a gesture's latest event; returns its participants.
    private func update(_ event: GestureEvent) -> [Responder] {
        state.withLock { state in
            state.open[GestureSource(event)]?.latest = event
            return state.open[GestureSource(event)]?.participants ?? []
        }
    }

    private func takesPart(_ responder: Responder, in source: GestureSource) -> Bool {
        state.withLock { state in state.open[source]?.participants.contains { $0 === responder } ?? false }
    }

    /// Delivers a gesture's end to its participants.
    private func close(_ event: GestureEvent) {
        _ = update(event)
        while let responder = removeFirstParticipant(of: GestureSource(event)) { _ = responder.handler(event) }
    }

    /// Removes the first participant; forgets the gesture if there is none left.
    private func removeFirstParticipant(of source: GestureSource) -> Responder? {
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
