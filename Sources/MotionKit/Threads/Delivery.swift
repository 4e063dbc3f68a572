internal import MotionCore
internal import Synchronization

/// The delivery thread's work: everything that the sensor thread handed on goes to the handlers, in order.
struct Delivery: Sendable {
    let exchange: SensorExchange
    let handlers: Handlers
    let references: ReferenceKeeper
    let calibrations: CalibrationKeeper

    /// Runs until the sensor thread has stopped and nothing is left.
    func run() {
        handlers.inTurn {
            var isLast = false
            while !isLast {
                exchange.deliveryWake.wait(seconds: nil)
                isLast = exchange.hasStopped.load(ordering: .acquiring)
                handlers.chain.cancelForLeaving()
                deliverSamples()
                while let message = exchange.messages.pop() { deliver(message) }
                while let event = exchange.simulatedGestures.pop() { handlers.chain.deliver(event) }
                while let state = exchange.states.pop() { handlers.motion.tell(state) }
            }
            // A sensor thread that is stuck, or an end that found no room in the ring, leaves gestures open.
            handlers.chain.cancelAll(.stopped)
            calibrations.keepWhatChanged()
        }
    }

    private func deliver(_ message: SensorMessage) {
        switch message {
        case .gesture(let event):
            handlers.chain.deliver(event)
        case .sensor(let event, let time):
            handlers.sensor.tell((event, time))
        case .reference(let change):
            if change.isKept { references.keep(change.attitude) }
        case .nearMiss(let miss):
            handlers.nearMisses.tell(miss)
        case .rest(let report):
            calibrations.learn(from: report)
        case .scale(let report):
            calibrations.learn(from: report)
        }
    }

    private func deliverSamples() {
        var batch: [MotionSample] = []
        while let sample = exchange.samples.pop() { batch.append(sample) }
        if !batch.isEmpty { handlers.samples.tell(batch) }
        var measured: [MeasuredSample] = []
        while let sample = exchange.measured.pop() { measured.append(sample) }
        if !measured.isEmpty { handlers.measured.tell(measured) }
    }
}
