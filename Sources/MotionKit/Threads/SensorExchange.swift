internal import IMUDrivers
internal import LinuxSystem
internal import MotionCore
internal import Synchronization

/// What the sensor thread tells, in order.
enum SensorMessage: Sendable, BitwiseCopyable {
    case gesture(GestureEvent)
    /// A movement was almost a gesture.
    case nearMiss(NearMiss)
    case sensor(SensorEvent, at: Timestamp)
    /// The reference attitude was taken or cleared, or is to be kept from now on.
    case reference(ReferenceChange)
    /// The sensor rests, and this is the gyroscope's bias.
    case rest(RestReport)
    /// What is known of the gyroscope's scale by now.
    case scale(ScaleReport)
}

/// A reference attitude, or none.
struct ReferenceChange: Sendable, BitwiseCopyable {
    var attitude: Quaternion?
    /// Whether it is to be kept over restarts: the policy that was in force when it changed.
    var isKept: Bool
}

/// What the sensor thread is told.
struct SensorOrders: Sendable {
    var settings: MotionSettings?
    /// The reference of an earlier run, where the policy becomes `.stored` with the settings.
    var storedReference: Quaternion?
    var silenced: GestureSet?
    var calibration: CalibrationOrder?
    var reference: ReferenceOrder?
    /// Seconds between two states that are handed on.
    var updateInterval: Double?
}

enum ReferenceOrder: Sendable {
    /// The present attitude.
    case take
    /// Its heading alone.
    case takeHeading
    case clear
}

/// The latest a reader can know of the sensor.
struct SensorSnapshot: Sendable {
    var state: MotionState?
    var status = IMUStatus()
    var info: IMUInfo?
}

/// Where the sensor thread and the others meet. The sensor thread never waits here: it uses rings, and takes a lock only
/// where that lock is free.
final class SensorExchange: Sendable {
    let messages = Ring<SensorMessage>(capacity: 256)
    let states = Ring<MotionState>(capacity: 64)
    let samples = Ring<MotionSample>(capacity: 4096)

    /// What samples came to, where somebody wants to know.
    let measured = Ring<MeasuredSample>(capacity: 2048)

    /// What a simulation brings about. Its producer is the simulation's thread, of which there is one at a time.
    let simulatedGestures = Ring<GestureEvent>(capacity: 32)

    /// What found no room in a ring because the delivery thread did not keep up.
    let droppedMessages = Atomic<Int>(0)
    let droppedSamples = Atomic<Int>(0)

    /// How often the sensor thread has turned its loop: a sign of life.
    let turns = Atomic<Int>(0)

    /// The sensor thread goes before all ordinary ones.
    let hasRealTimePriority = Atomic<Bool>(false)

    let shouldStop = Atomic<Bool>(false)
    /// Nothing that the sensor thread hands on from now on is of interest: it has ended, or was left behind.
    let hasStopped = Atomic<Bool>(false)
    /// The sensor thread does not touch the device any more.
    let hasLeftDevice = Atomic<Bool>(false)

    /// Wakes the sensor thread out of its pause, and the delivery thread when there is something for it.
    let sensorWake: WakeSignal
    let deliveryWake: WakeSignal

    private let orders = Mutex(SensorOrders())
    private let ordersGeneration = Atomic<Int>(0)
    private let latest = Mutex(SensorSnapshot())

    /// Makes an exchange, or `nil` where the system has no descriptor left.
    init?() {
        guard let sensorWake = WakeSignal(), let deliveryWake = WakeSignal() else { return nil }
        self.sensorWake = sensorWake
        self.deliveryWake = deliveryWake
    }

    // MARK: For the other threads

    /// The latest that is known.
    var snapshot: SensorSnapshot { latest.withLock { $0 } }

    /// Gives the sensor thread an order; it is carried out before the next batch.
    func order(_ change: (inout SensorOrders) -> Void) {
        orders.withLock { change(&$0) }
        ordersGeneration.add(1, ordering: .releasing)
        sensorWake.signal()
    }

    // MARK: For the sensor thread

    /// New orders since the generation `seen`, unless somebody is just writing some: then they wait for the next batch.
    func newOrders(since seen: inout Int) -> SensorOrders? {
        let generation = ordersGeneration.load(ordering: .acquiring)
        guard generation != seen else { return nil }
        let taken = orders.withLockIfAvailable { orders in
            let taken = orders
            orders = SensorOrders()
            return taken
        }
        if taken != nil { seen = generation }
        return taken
    }

    /// Shows the others the latest, unless somebody is just reading: then the next batch does.
    func show(state: MotionState?, status: IMUStatus, info: IMUInfo) {
        _ = latest.withLockIfAvailable { snapshot in
            if let state { snapshot.state = state }
            snapshot.status = status
            snapshot.info = info
        }
    }

    /// Hands on a message.
    func post(_ message: SensorMessage) {
        if !messages.push(message) { droppedMessages.add(1, ordering: .relaxed) }
    }
}
