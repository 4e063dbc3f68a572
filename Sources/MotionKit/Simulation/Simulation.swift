internal import IMUDrivers
internal import LinuxSystem
internal import MotionCore
internal import Synchronization

/// A movement that is being simulated: its thread, and what the other threads have to say to it.
struct Simulation: Sendable {
    let movement: SimulatedMovement
    let control: SimulationControl
    private let thread: WorkerThread

    /// Begins to simulate a movement; what comes of it goes to the delivery thread of `exchange`.
    ///
    /// - Returns: `nil` where the system has no descriptor or thread left.
    init?(
        _ movement: SimulatedMovement, exchange: SensorExchange, imu: IMUSettings, settings: MotionSettings,
        silenced: GestureSet
    ) {
        guard let control = SimulationControl() else { return nil }
        let thread = WorkerThread(name: "jostle-simulate") {
            var loop = SimulationLoop(
                movement.plan, control: control, exchange: exchange, imu: imu, settings: settings, silenced: silenced)
            loop.run()
            control.isOver.store(true, ordering: .releasing)
        }
        guard let thread else { return nil }
        self.movement = movement
        self.control = control
        self.thread = thread
    }

    /// Whether it has told everything.
    var isOver: Bool { control.isOver.load(ordering: .acquiring) }

    /// Takes over new settings with the next batch.
    func order(_ settings: MotionSettings) {
        control.orders.withLock { $0.settings = settings }
    }

    /// Says which gestures may not begin from the next batch on.
    func silence(_ gestures: GestureSet) {
        control.orders.withLock { $0.silenced = gestures }
    }

    /// Cancels what is open and waits for the thread's end. To be called once, also where it is over.
    func stop() {
        control.shouldStop.store(true, ordering: .releasing)
        control.wake.signal()
        thread.join(within: 0.5)
    }
}

/// Where the simulation's thread and the others meet.
final class SimulationControl: Sendable {
    let shouldStop = Atomic<Bool>(false)
    let isOver = Atomic<Bool>(false)
    let wake: WakeSignal
    let orders = Mutex(SensorOrders())

    /// Makes a control, or `nil` where the system has no descriptor left.
    init?() {
        guard let wake = WakeSignal() else { return nil }
        self.wake = wake
    }
}

/// The time in which the virtual board lives: it stands still while nobody advances it.
final class SimulatedClock: MonotonicClock, Sendable {
    private let nanoseconds: Atomic<Int64>

    /// Makes a clock that shows `instant`.
    init(_ instant: Timestamp) {
        nanoseconds = Atomic(instant.nanoseconds)
    }

    func now() -> Timestamp { Timestamp(nanoseconds: nanoseconds.load(ordering: .relaxed)) }

    /// Lets time pass until `instant`; by a microsecond at least, so that a driver that wants to be asked again at once
    /// does not wait for ever.
    func advance(to instant: Timestamp) {
        nanoseconds.store(max(instant.nanoseconds, now().nanoseconds + 1000), ordering: .relaxed)
    }
}
