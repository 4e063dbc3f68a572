internal import MotionCore
internal import Synchronization

/// The delivery thread's work: everything that the sensor thread handed on goes to the handlers, in order.
struct Delivery: Sendable {
    let exchange: SensorExchange
    let chain: ResponderChain
    let listeners: Listeners
    let store: StateDirectory?
    /// The reference policy in force: only a stored reference is kept on disk.
    let policy: @Sendable () -> ReferencePolicy

    /// Runs until the sensor thread has stopped and nothing is left.
    func run() {
        var isLast = false
        while !isLast {
            exchange.deliveryWake.wait(seconds: nil)
            isLast = exchange.hasStopped.load(ordering: .acquiring)
            chain.cancelForLeaving()
            let handlers = listeners.current
            deliverSamples(to: handlers)
            while let message = exchange.messages.pop() { deliver(message, to: handlers) }
            while let state = exchange.states.pop() {
                for handler in handlers.motion.values { handler(state) }
            }
            exchange.wantsSamples.store(!handlers.samples.isEmpty, ordering: .relaxed)
        }
    }

    private func deliver(_ message: SensorMessage, to handlers: Listeners.Handlers) {
        switch message {
        case .gesture(let event):
            chain.deliver(event)
        case .sensor(let event, let timestamp):
            for handler in handlers.sensor.values { handler(event, timestamp) }
        case .reference(let change):
            // A reference that cannot be kept is still in force; the next one taken is another try.
            if policy() == .stored { _ = store?.saveReference(change.attitude) }
        }
    }

    private func deliverSamples(to handlers: Listeners.Handlers) {
        guard !handlers.samples.isEmpty else {
            while exchange.samples.pop() != nil {}
            return
        }
        var batch: [MotionSample] = []
        while let sample = exchange.samples.pop() { batch.append(sample) }
        guard !batch.isEmpty else { return }
        for handler in handlers.samples.values { handler(batch) }
    }
}
