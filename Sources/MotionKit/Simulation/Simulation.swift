internal import IMUDrivers
internal import LinuxSystem
internal import MotionCore
internal import Synchronization

/// A movement that is being simulated: its thread, and the requests of other threads.
struct Simulation: Sendable {
    let movement: SimulatedMovement
    let control: SimulationControl
    private let thread: WorkerThread

    /// Starts to simulate a movement, whose gestures go to the delivery thread of `exchange`, and its near misses too while
    /// `nearMisses` has a handler.
    ///
    /// - Returns: `nil` if the system has no descriptor or thread left.
    init?(
        _ movement: SimulatedMovement, exchange: SensorExchange, nearMisses: HandlerList<NearMiss>, imu: IMUSettings,
        settings: MotionSettings, silenced: GestureSet, variants: [GestureVariant]
    ) {
        guard let control = SimulationControl() else { return nil }
        let thread = WorkerThread(name: "jostle-simulate") {
            var loop = SimulationLoop(
                movement.plan, control: control, exchange: exchange, nearMisses: nearMisses, imu: imu,
                settings: settings,
                silenced: silenced, variants: variants)
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

    /// Applies new settings or variants with the next batch; `nil` leaves them as they are.
    func apply(_ settings: MotionSettings?, _ variants: [GestureVariant]?) {
        control.requests.withLock { requests in
            if let settings { requests.settings = settings }
            if let variants { requests.variants = variants }
        }
    }

    /// Sets the gestures that may not begin from the next batch on.
    func silence(_ gestures: GestureSet) {
        control.requests.withLock { $0.silenced = gestures }
    }

    /// Cancels open gestures and waits for the thread's end. Call it once, even if the simulation is over.
    func stop() {
        control.shouldStop.store(true, ordering: .releasing)
        control.wake.signal()
        thread.join(within: 0.5)
    }
}

/// What the simulation's thread shares with the others.
final class SimulationControl: Sendable {
    let shouldStop = Atomic<Bool>(false)
    let isOver = Atomic<Bool>(false)
    let wake: WakeSignal
    let requests = Mutex(SensorRequests())

    /// - Returns: `nil` if the system has no descriptor left.
    init?() {
        guard let wake = WakeSignal() else { return nil }
        self.wake = wake
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
