internal import IMUDrivers
internal import LinuxSensors
internal import MotionCore
internal import Synchronization

/// The sensor thread's work: poll the device, put its samples through the pipeline, hand on what comes of it.
///
/// Nothing here publishes, allocates or waits for another thread.
struct SensorLoop: ~Copyable {
    private let device: any SensorDevice
    private let exchange: SensorExchange
    private let clock = SystemClock()
    private var pipeline: MotionPipeline
    private var batch = SampleBatch(capacity: 128)
    private var seenOrders = 0
    private var updateInterval: Double
    private var nextUpdate = Timestamp(nanoseconds: .min)
    private var reference: Quaternion?
    private var hasSamples = false

    init(
        device: any SensorDevice, exchange: SensorExchange, settings: MotionSettings, storedReference: Quaternion?,
        updateInterval: Double
    ) {
        self.device = device
        self.exchange = exchange
        self.updateInterval = updateInterval
        pipeline = MotionPipeline(settings: settings, storedReference: storedReference)
        reference = pipeline.reference.attitude
    }

    /// Runs until the exchange says stop, then cancels open gestures and puts the chip to sleep.
    mutating func run() {
        while !exchange.shouldStop.load(ordering: .acquiring) {
            exchange.turns.add(1, ordering: .relaxed)
            follow()
            let poll = device.poll(into: &batch)
            // A stream that begins or goes on is told before its samples, one that ends after them.
            if case .failed = poll.event {
                process()
                tell(poll.event)
            } else {
                tell(poll.event)
                process()
            }
            exchange.show(state: hasSamples ? pipeline.state : nil, status: device.status, info: device.info)
            exchange.sensorWake.wait(seconds: poll.next.seconds(since: clock.now()))
        }
        let exchange = self.exchange
        pipeline.cancelGestures(.stopped) { exchange.post(.gesture($0)) }
        var failure: BusError?
        do throws(BusError) { try device.stop() } catch { failure = error }
        if let failure { exchange.post(.sensor(.failed(.bus(failure)), at: clock.now())) }
        exchange.show(state: nil, status: device.status, info: device.info)
        exchange.hasStopped.store(true, ordering: .releasing)
        exchange.deliveryWake.ring()
    }

    /// Carries out what was ordered since the last batch.
    private mutating func follow() {
        guard let orders = exchange.newOrders(since: &seenOrders) else { return }
        let exchange = self.exchange
        if let settings = orders.settings { pipeline.apply(settings) { exchange.post(.gesture($0)) } }
        if let interval = orders.updateInterval { updateInterval = interval }
        switch orders.reference {
        case .take: pipeline.takeReference()
        case .clear: pipeline.clearReference()
        case nil: break
        }
        exchange.deliveryWake.ring()
    }

    /// Puts the batch through the pipeline.
    private mutating func process() {
        guard !batch.isEmpty else { return }
        hasSamples = true
        let exchange = self.exchange
        let wantsSamples = exchange.wantsSamples.load(ordering: .relaxed)
        var isNews = wantsSamples
        for index in 0..<batch.count {
            let sample = batch[index]
            pipeline.process(sample) { event in
                exchange.post(.gesture(event))
                isNews = true
            }
            if wantsSamples, !exchange.samples.push(sample) { exchange.droppedSamples.add(1, ordering: .relaxed) }
            if sample.timestamp >= nextUpdate {
                // On a grid of its own, so that a rate of 10 Hz stays one whatever the sample rate.
                let next = nextUpdate.advanced(bySeconds: updateInterval)
                nextUpdate = next > sample.timestamp ? next : sample.timestamp.advanced(bySeconds: updateInterval)
                exchange.states.push(pipeline.state)
                isNews = true
            }
        }
        batch.removeAll()
        if pipeline.reference.attitude != reference {
            reference = pipeline.reference.attitude
            exchange.post(.reference(ReferenceChange(attitude: reference)))
            isNews = true
        }
        if isNews { exchange.deliveryWake.ring() }
    }

    /// Hands on what the driver has to tell; a lost sensor cancels what is open.
    private mutating func tell(_ event: IMUPoll.Event) {
        let exchange = self.exchange
        switch event {
        case .none:
            return
        case .failed:
            pipeline.cancelGestures(.sensorLost) { exchange.post(.gesture($0)) }
        case .gap, .streaming:
            break
        }
        exchange.post(.sensor(event, at: clock.now()))
        exchange.deliveryWake.ring()
    }
}
