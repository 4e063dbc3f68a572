internal import IMUDrivers
internal import LinuxSensors
internal import LinuxSystem
internal import MotionCore
internal import Synchronization
internal import VirtualIMU

/// A movement that is being simulated: its thread, and the requests of other threads.
struct Simulation: Sendable {
    let movement: SimulatedMovement
    private let control: SimulationControl
    private let thread: WorkerThread

    /// Starts to simulate a movement, whose gestures go to the delivery thread of `exchange`, and its near misses too while
    /// `nearMisses` has a handler.
    ///
    /// - Returns: `nil` if the system has no descriptor or thread left.
    init?(
        _ movement: SimulatedMovement, exchange: SensorExchange, nearMisses: HandlerList<NearMiss>, imu: IMUSettings,
        settings: MotionSettings, silenced: GestureSet, variants: [GestureVariant], learned: LearnedGestures?
    ) {
        guard let control = SimulationControl(exchange) else { return nil }
        let thread = WorkerThread(name: "jostle-simulate") {
            let loop = SimulationLoop(
                movement.plan, control: control, nearMisses: nearMisses, imu: imu, settings: settings,
                silenced: silenced, variants: variants, learned: learned)
            loop.run()
            control.isOver.store(true, ordering: .releasing)
        }
        guard let thread else { return nil }
        self.movement = movement
        self.control = control
        self.thread = thread
    }

    /// Whether the movement and its gestures are over.
    var isOver: Bool { control.isOver.load(ordering: .acquiring) }

    /// Requests something of the thread, which does it before the next batch. It has no use for a reference or a calibration.
    func request(_ change: (inout SensorRequests) -> Void) {
        control.requests.withLock { change(&$0) }
    }

    /// Cancels open gestures and waits for the thread's end. Call it once, even if the simulation is over.
    func stop() {
        control.shouldStop.store(true, ordering: .releasing)
        control.wake.signal()
        thread.join(within: 0.5)
    }
}

/// What the simulation's thread shares with the others.
private final class SimulationControl: Sendable {
    let shouldStop = Atomic<Bool>(false)
    let isOver = Atomic<Bool>(false)
    let wake: WakeSignal
    let requests = Mutex(SensorRequests())
    private let exchange: SensorExchange

    /// - Returns: `nil` if the system has no descriptor left.
    init?(_ exchange: SensorExchange) {
        guard let wake = WakeSignal() else { return nil }
        self.wake = wake
        self.exchange = exchange
    }

    /// Sends an event to the delivery thread, marked as simulated. Waits while the queue is full, since no end may be lost.
    /// If the manager stops meanwhile, the delivery thread cancels open gestures.
    func post(_ event: GestureEvent) {
        var event = event
        event.isSimulated = true
        while !exchange.simulatedGestures.push(event) {
            if shouldStop.load(ordering: .acquiring) { return }
            wake.wait(seconds: 0.02)
        }
        exchange.deliveryWake.signal()
    }

    /// Sends a near miss to the delivery thread, marked as simulated; drops it while the queue is full.
    func post(_ miss: NearMiss) {
        var miss = miss
        miss.isSimulated = true
        if exchange.simulatedNearMisses.push(miss) { exchange.deliveryWake.signal() }
    }
}

/// The virtual board's clock, which stands still until it is advanced.
final class SimulatedClock: MonotonicClock, Sendable {
    private let nanoseconds: Atomic<Int64>

    init(_ instant: Timestamp) {
        nanoseconds = Atomic(instant.nanoseconds)
    }

    func now() -> Timestamp { Timestamp(nanoseconds: nanoseconds.load(ordering: .relaxed)) }

    /// Advances the clock to `instant`, by a microsecond at least: a driver that asks to be polled again at once must see
    /// time pass.
    func advance(to instant: Timestamp) {
        nanoseconds.store(max(instant.nanoseconds, now().nanoseconds + 1000), ordering: .relaxed)
    }
}

/// The simulation thread's work: runs a virtual chip, its driver and a pipeline, from the movement to the gestures.
///
/// The chip is switched on in the past, so that its movement begins now. Its clock runs through the quiet time before as
/// fast as that can be computed, and then with the system's clock: gestures come at the times at which they would come
/// from a real movement. The sensor thread is not involved.
private final class SimulationLoop {
    /// Seconds to wait for the end of a gesture after the movement; then it is cancelled. A vibration ends only after the
    /// longest pause that a machine may make.
    private var timeout: Double {
        let usual = 15.0
        guard pipeline.openGestures.contains(.vibration) else { return usual }
        return max(usual, (pipeline.settings.gestures.vibration.doneAfter ?? VibrationSettings.usualDoneAfter) + 5)
    }

    /// Seconds from the start to the movement, in which the quiet time before it is computed.
    private static let preparation = 0.1

    private let control: SimulationControl
    private let nearMisses: HandlerList<NearMiss>
    private let clock: SimulatedClock
    private let device: any SensorDevice
    private let systemClock = SystemClock()
    private let settled: Timestamp
    private var pipeline: MotionPipeline
    private var batch = SampleBatch(capacity: 128)

    init(
        _ plan: SimulationPlan, control: SimulationControl, nearMisses: HandlerList<NearMiss>, imu: IMUSettings,
        settings: MotionSettings, silenced: GestureSet, variants: [GestureVariant], learned: LearnedGestures?
    ) {
        let start = SystemClock().now().advanced(bySeconds: SimulationLoop.preparation - plan.start)
        let clock = SimulatedClock(start)
        let chip = VirtualIMUChip(trajectory: plan.trajectory, start: start)
        let driver = MPU6050(bus: VirtualBus(chip, clock: clock), clock: clock, settings: imu, line: NoDataReadyLine())
        device = DriverDevice(driver, DeviceNames(title: "simulation", storage: "virtual"), isSimulated: true)
        pipeline = MotionPipeline(settings: SimulationLoop.adapted(settings))
        pipeline.silenced = silenced
        if !variants.isEmpty { pipeline.apply(variants) { _ in } }
        pipeline.apply(learned)
        settled = start.advanced(bySeconds: plan.start + plan.duration)
        self.control = control
        self.nearMisses = nearMisses
        self.clock = clock
    }

    /// Runs until the movement is over and every gesture has ended, or until a stop is requested.
    func run() {
        while !shouldStop {
            applyRequests()
            let poll = device.poll(into: &batch)
            process()
            if isOver { break }
            pass(until: poll.next)
        }
        pipeline.cancelGestures(.stopped) { control.post($0) }
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
    private func applyRequests() {
        let requests = control.requests.withLock { requests in
            defer { requests = SensorRequests() }
            return requests
        }
        if let learned = requests.learned { pipeline.apply(learned) }
        if let silenced = requests.silenced { pipeline.silenced = silenced }
        if let settings = requests.settings {
            pipeline.apply(SimulationLoop.adapted(settings)) { control.post($0) }
        }
        if let variants = requests.variants {
            pipeline.apply(variants) { control.post($0) }
        }
    }

    private func process() {
        pipeline.explainsNearMisses = !nearMisses.isEmpty
        for index in 0..<batch.count {
            pipeline.process(batch[index]) { control.post($0) }
            while let miss = pipeline.takeNearMiss() { control.post(miss) }
        }
        batch.removeAll()
    }

    /// The settings without a mounting: simulated movements are along the body's axes.
    private static func adapted(_ settings: MotionSettings) -> MotionSettings {
        var settings = settings
        settings.mount = .identity
        settings.gestures.vibration = settings.gestures.vibration.withThreshold
        return settings
    }
}

/// Why a movement cannot be simulated.
public enum SimulationError: Error, Equatable, Sendable {
    /// There is no movement of this name.
    case unknownMovement(String, known: [String])
    /// The number of repetitions is out of range.
    case badCount(Int)
    /// The duration, in seconds, is out of range.
    case badLength(Double)
    /// The movement ends by itself, so that it takes no duration.
    case endsByItself(String)
    /// The movement does not end by itself, so that it cannot be repeated.
    case endless(String)
    /// With this number of repetitions, it would take too long.
    case tooLong(String, count: Int, seconds: Double)
    /// Another movement is being simulated.
    case busy(String)
    /// The manager is not running, so it would not deliver gestures.
    case notRunning
    /// The system has no file descriptor or thread left.
    case resources
}

extension SimulationError: CustomStringConvertible {
    /// What is wrong, and what is possible instead.
    public var description: String {
        switch self {
        case .unknownMovement(let name, let known):
            return "there is no movement \"\(name)\"; the movements are \(known.joined(separator: ", "))"
        case .badCount(let count):
            let counts = SimulatedMovement.counts
            return "the count must be \(counts.lowerBound) to \(counts.upperBound), not \(count)"
        case .badLength(let seconds):
            let lengths = SimulatedMovement.lengths
            return "the duration must be \(lengths.lowerBound) to \(lengths.upperBound) s, not \(seconds) s"
        case .endsByItself(let name):
            return "\(name) ends by itself: it can be repeated, but takes no duration"
        case .endless(let name):
            return "\(name) does not end by itself: it takes a duration, but cannot be repeated"
        case .tooLong(let name, let count, let seconds):
            let longest = SimulatedMovement.maximumDuration
            return "\(name) \(count) times takes \(seconds.rounded()) s, more than \(longest) s"
        case .busy(let name): return "\(name) is being simulated; try again when it is over"
        case .notRunning: return "the sensor is not being read, so no gesture would be reported"
        case .resources: return "the system has no file descriptor or thread left"
        }
    }
}
