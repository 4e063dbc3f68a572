internal import IMUDrivers
internal import LinuxSensors
internal import MotionCore
internal import VirtualIMU

/// The simulation thread's work: runs a virtual chip, its driver and a pipeline, from the movement to the gestures.
///
/// The chip is switched on in the past, so that its movement begins now. Its clock runs through the quiet time before as
/// fast as that can be computed, and then with the system's clock: gestures come at the times at which they would come
/// from a real movement. The sensor thread is not involved.
struct SimulationLoop: ~Copyable {
    /// Seconds to wait for the end of a gesture after the movement; then it is cancelled. A vibration ends only after the
    /// longest pause that a machine may make.
    private var timeout: Double {
        let usual = 15.0
        return pipeline.openGestures.contains(.vibration)
            ? max(usual, pipeline.settings.gestures.vibration.doneAfter + 5) : usual
    }

    /// Seconds from the start to the movement, in which the quiet time before it is computed.
    private static let preparation = 0.1

    private let plan: SimulationPlan
    private let control: SimulationControl
    private let exchange: SensorExchange
    private let nearMisses: HandlerList<NearMiss>
    private let clock: SimulatedClock
    private let device: any SensorDevice
    private let systemClock = SystemClock()
    private let settled: Timestamp
    private var pipeline: MotionPipeline
    private var batch = SampleBatch(capacity: 128)

    init(
        _ plan: SimulationPlan, control: SimulationControl, exchange: SensorExchange, nearMisses: HandlerList<NearMiss>,
        imu: IMUSettings, settings: MotionSettings, silenced: GestureSet, variants: [GestureVariant]
    ) {
        let start = SystemClock().now().advanced(bySeconds: SimulationLoop.preparation - plan.start)
        let clock = SimulatedClock(start)
        let chip = VirtualMPU6050(trajectory: plan.trajectory, start: start)
        let driver = MPU6050(bus: VirtualBus(chip, clock: clock), clock: clock, settings: imu)
        device = DriverDevice(driver, DeviceNames(title: "simulation", storage: "virtual"), isSimulated: true)
        pipeline = MotionPipeline(settings: SimulationLoop.adapted(settings))
        pipeline.silenced = silenced
        if !variants.isEmpty { pipeline.apply(variants) { _ in } }
        settled = start.advanced(bySeconds: plan.start + plan.duration)
        self.plan = plan
        self.control = control
        self.exchange = exchange
        self.nearMisses = nearMisses
        self.clock = clock
    }

    /// Runs until the movement is over and every gesture has ended, or until a stop is requested.
    mutating func run() {
        while !shouldStop {
            applyRequests()
            let poll = device.poll(into: &batch)
            process()
            if isOver { break }
            pass(until: poll.next)
        }
        let (control, exchange) = (control, exchange)
        pipeline.cancelGestures(.stopped) { SimulationLoop.post($0, control, exchange) }
    }

    private var shouldStop: Bool { control.shouldStop.load(ordering: .acquiring) }

    /// Whether no gesture can come any more, or the wait for an end has timed out.
    private var isOver: Bool {
        let since = clock.now().seconds(since: settled)
        return since >= timeout || since >= 0 && pipeline.openGestures.isEmpty
    }

    /// Advances the clock, waiting if the system's clock is behind.
    private func pass(until next: Timestamp) {
        while !shouldStop {
            let ahead = next.seconds(since: systemClock.now())
            if ahead <= 0 { break }
            control.wake.wait(seconds: ahead)
        }
        clock.advance(to: next)
    }

    /// Applies the requests since the last batch.
    private mutating func applyRequests() {
        let requests = control.requests.withLock { requests in
            defer { requests = SensorRequests() }
            return requests
        }
        let (control, exchange) = (control, exchange)
        if let silenced = requests.silenced { pipeline.silenced = silenced }
        if let settings = requests.settings {
            pipeline.apply(SimulationLoop.adapted(settings)) { SimulationLoop.post($0, control, exchange) }
        }
        if let variants = requests.variants {
            pipeline.apply(variants) { SimulationLoop.post($0, control, exchange) }
        }
    }

    private mutating func process() {
        let (control, exchange) = (control, exchange)
        pipeline.explainsNearMisses = !nearMisses.isEmpty
        for index in 0..<batch.count {
            pipeline.process(batch[index]) { SimulationLoop.post($0, control, exchange) }
            while let miss = pipeline.takeNearMiss() { SimulationLoop.post(miss, exchange) }
        }
        batch.removeAll()
    }

    /// The settings without a mounting: simulated movements are along the body's axes.
    private static func adapted(_ settings: MotionSettings) -> MotionSettings {
        var settings = settings
        settings.mount = .identity
        return settings
    }

    /// Sends an event to the delivery thread, marked as simulated. Waits while the queue is full, since no end may be lost.
    /// If the manager stops meanwhile, the delivery thread cancels open gestures.
    private static func post(_ event: GestureEvent, _ control: SimulationControl, _ exchange: SensorExchange) {
        var event = event
        event.isSimulated = true
        while !exchange.simulatedGestures.push(event) {
            if control.shouldStop.load(ordering: .acquiring) { return }
            control.wake.wait(seconds: 0.02)
        }
        exchange.deliveryWake.signal()
    }

    /// Sends a near miss to the delivery thread, marked as simulated; drops it while the queue is full.
    private static func post(_ miss: NearMiss, _ exchange: SensorExchange) {
        var miss = miss
        miss.isSimulated = true
        if exchange.simulatedNearMisses.push(miss) { exchange.deliveryWake.signal() }
    }
}
