internal import IMUDrivers
internal import LinuxSensors
internal import MotionCore
internal import VirtualIMU

/// The simulation thread's work: a virtual chip, its driver and a pipeline, from the movement to the gestures.
///
/// The chip is switched on in the past, so long ago that its movement begins now. Its clock runs through the quiet before
/// as fast as that can be worked out, and then with the system's: gestures come when they would if somebody moved the
/// device, and bear the time at which they do. The sensor thread has no part in it.
struct SimulationLoop: ~Copyable {
    /// Seconds for which the end of a gesture is awaited after the movement has settled; then it is cancelled. A machine
    /// is done only after the pauses that it may make.
    private var patience: Double {
        let usual = 15.0
        return pipeline.openGestures.contains(.vibration)
            ? max(usual, pipeline.settings.gestures.vibration.doneAfter + 5) : usual
    }

    /// Seconds from the start until the movement begins: the quiet before it is worked out in them.
    private static let preparation = 0.1

    private let plan: SimulationPlan
    private let control: SimulationControl
    private let exchange: SensorExchange
    private let clock: SimulatedClock
    private let device: any SensorDevice
    private let systemClock = SystemClock()
    private let settled: Timestamp
    private var pipeline: MotionPipeline
    private var batch = SampleBatch(capacity: 128)

    init(
        _ plan: SimulationPlan, control: SimulationControl, exchange: SensorExchange, imu: IMUSettings,
        settings: MotionSettings, silenced: GestureSet
    ) {
        let start = SystemClock().now().advanced(bySeconds: SimulationLoop.preparation - plan.start)
        let clock = SimulatedClock(start)
        let chip = VirtualMPU6050(trajectory: plan.trajectory, start: start)
        let driver = MPU6050(bus: VirtualBus(chip, clock: clock), clock: clock, settings: imu)
        device = DriverDevice(driver, DeviceNames(title: "simulation", storage: "virtual"), isSimulated: true)
        pipeline = MotionPipeline(settings: SimulationLoop.adapted(settings))
        pipeline.silenced = silenced
        settled = start.advanced(bySeconds: plan.start + plan.duration)
        self.plan = plan
        self.control = control
        self.exchange = exchange
        self.clock = clock
    }

    /// Runs until the movement is over and every gesture has ended, or until it is told to stop.
    mutating func run() {
        while !shouldStop {
            follow()
            let poll = device.poll(into: &batch)
            process()
            if isOver { break }
            pass(until: poll.next)
        }
        let (control, exchange) = (control, exchange)
        pipeline.cancelGestures(.stopped) { SimulationLoop.post($0, control, exchange) }
    }

    private var shouldStop: Bool { control.shouldStop.load(ordering: .acquiring) }

    /// Whether nothing more is to be expected, or has been waited for long enough.
    private var isOver: Bool {
        let since = clock.now().seconds(since: settled)
        return since >= patience || since >= 0 && pipeline.openGestures.isEmpty
    }

    /// Lets time pass, waiting for the system's clock where that is behind.
    private func pass(until next: Timestamp) {
        while !shouldStop {
            let ahead = next.seconds(since: systemClock.now())
            if ahead <= 0 { break }
            control.wake.wait(seconds: ahead)
        }
        clock.advance(to: next)
    }

    /// Takes over the settings that came since the last batch.
    private mutating func follow() {
        let orders = control.orders.withLock { orders in
            defer { orders = SensorOrders() }
            return orders
        }
        if let silenced = orders.silenced { pipeline.silenced = silenced }
        guard let settings = orders.settings else { return }
        let (control, exchange) = (control, exchange)
        pipeline.apply(SimulationLoop.adapted(settings)) { SimulationLoop.post($0, control, exchange) }
    }

    private mutating func process() {
        let (control, exchange) = (control, exchange)
        for index in 0..<batch.count {
            pipeline.process(batch[index]) { SimulationLoop.post($0, control, exchange) }
        }
        batch.removeAll()
    }

    /// The settings of a sensor that is mounted straight: movements are those of the body.
    private static func adapted(_ settings: MotionSettings) -> MotionSettings {
        var settings = settings
        settings.mount = .identity
        return settings
    }

    /// Hands an event to the delivery thread, marked; waits where that does not keep up, since no end may be lost. Where
    /// the manager stops meanwhile, the delivery thread itself cancels what is open.
    private static func post(_ event: GestureEvent, _ control: SimulationControl, _ exchange: SensorExchange) {
        var event = event
        event.isSimulated = true
        while !exchange.simulatedGestures.push(event) {
            if control.shouldStop.load(ordering: .acquiring) { return }
            control.wake.wait(seconds: 0.02)
        }
        exchange.deliveryWake.signal()
    }
}
