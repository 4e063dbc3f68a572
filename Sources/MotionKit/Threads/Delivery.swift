internal import MotionCore
internal import Synchronization

/// The delivery thread's work: calls the handlers with what the sensor thread queued, in order.
///
/// A slow handler delays the others, but none starves: the messages (gestures, sensor events, what is to be stored) are
/// delivered between any two motion states, and when several states wait, only the newest is delivered, except to
/// handlers that want the state after every sample.
struct Delivery: Sendable {
    let exchange: SensorExchange
    let handlers: Handlers
    let references: ReferenceSaver
    let calibrations: CalibrationSaver
    let machines: MachineSaver

    /// Runs until the sensor thread has stopped and the queues are empty.
    func run() {
        handlers.withExclusiveDelivery {
            var isLast = false
            while !isLast {
                exchange.deliveryWake.wait(seconds: nil)
                isLast = exchange.hasStopped.load(ordering: .acquiring)
                deliverMessages()
                while let (state, isNewest) = nextState() {
                    handlers.motion.notify(state, isNewest: isNewest)
                    deliverMessages()
                }
            }
            // Gestures stay open if the sensor thread is stuck, or if an end found the ring full.
            handlers.chain.cancelAll(.stopped)
            calibrations.saveIfChanged()
            machines.save(exchange.machineKnowledge, at: SystemClock().now(), isLast: true)
        }
    }

    /// The next state to deliver, and whether no newer one waits: the oldest if a handler wants every one, else the newest.
    private func nextState() -> (MotionState, Bool)? {
        guard var state = exchange.states.pop() else { return nil }
        if handlers.motion.wantsEveryState { return (state, exchange.states.isEmpty) }
        while let next = exchange.states.pop() { state = next }
        return (state, true)
    }

    private func deliverMessages() {
        handlers.chain.deliverCancellations()
        deliverSamples()
        while let message = exchange.messages.pop() { deliver(message) }
        while let event = exchange.simulatedGestures.pop() { handlers.chain.deliver(event) }
        while let miss = exchange.simulatedNearMisses.pop() { handlers.nearMisses.notify(miss) }
    }

    private func deliver(_ message: SensorMessage) {
        switch message {
        case .gesture(let event):
            handlers.chain.deliver(event)
        case .sensor(let event, let time):
            handlers.sensor.notify((event, time))
        case .reference(let change):
            if change.isStored { references.save(change.attitude) }
            handlers.references.notify(change)
        case .nearMiss(let miss):
            handlers.nearMisses.notify(miss)
        case .rest(let report):
            calibrations.learn(from: report)
        case .scale(let report):
            calibrations.learn(from: report)
        case .machine(let report):
            machines.save(exchange.machineKnowledge, at: report.timestamp)
            handlers.machine.notify(report)
        }
    }

    /// Delivers the readings of the magnetometer before the samples of their time.
    private func deliverSamples() {
        deliver(exchange.fields, to: handlers.fields)
        deliver(exchange.samples, to: handlers.samples)
        deliver(exchange.measured, to: handlers.measured)
    }

    private func deliver<Element>(_ ring: Ring<Element>, to list: HandlerList<[Element]>) {
        var batch: [Element] = []
        while let element = ring.pop() { batch.append(element) }
        if !batch.isEmpty { list.notify(batch) }
    }
}
