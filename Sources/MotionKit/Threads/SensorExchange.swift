internal import IMUDrivers
internal import LinuxSystem
internal import MotionCore
internal import Synchronization

/// What the sensor thread sends to the delivery thread, in order.
enum SensorMessage: Sendable, BitwiseCopyable {
    case gesture(GestureEvent)
    case nearMiss(NearMiss)
    case sensor(SensorEvent, at: Timestamp)
    case reference(ReferenceChange)
    case rest(RestReport)
    case scale(ScaleReport)
    case machine(MachineReport)
}

/// What the other threads ask of the sensor thread; `nil` for no request.
struct SensorRequests: Sendable {
    var settings: MotionSettings?
    /// The reference of an earlier run, if the policy becomes `.stored` with the settings.
    var storedReference: Quaternion?
    var variants: [GestureVariant]?
    /// The learned gestures; `.some(nil)` for none.
    var learned: LearnedGestures??
    var silenced: GestureSet?
    var calibration: CalibrationChange?
    var reference: ReferenceRequest?
    var intervals: UpdateIntervals?
    /// What somebody says about the machine.
    var machine: MachineStatement?
}

enum ReferenceRequest: Sendable {
    /// The present attitude.
    case take
    /// Its heading alone.
    case takeHeading
    case clear
}

/// The latest state of the sensor.
struct SensorSnapshot: Sendable {
    var state: MotionState?
    var status = IMUStatus()
    var magnetometer: MagnetometerStatus?
    var info: IMUInfo?
    /// The mean specific force of the present rest, m/s², if that is long.
    var restingForce: Double?
}

/// What the sensor thread shares with the others. The sensor thread never waits here: it uses rings, and takes a lock only
/// if that is free.
final class SensorExchange: Sendable {
    let messages = Ring<SensorMessage>(capacity: 256)
    let states = Ring<MotionState>(capacity: 64)
    let samples = Ring<MotionSample>(capacity: 4096)

    /// Readings of the magnetometer, if there is a handler for them.
    let fields = Ring<MagneticSample>(capacity: 512)

    /// Samples as the pipeline used them, if there is a handler for them.
    let measured = Ring<MeasuredSample>(capacity: 2048)

    /// The gestures of a simulation. The producer is the simulation's thread; there is one at a time.
    let simulatedGestures = Ring<GestureEvent>(capacity: 32)

    /// The near misses of a simulation, likewise.
    let simulatedNearMisses = Ring<NearMiss>(capacity: 32)

    /// The last seconds of samples, if they are kept.
    let memory: SampleMemory?

    /// What was dropped because a ring was full: the delivery thread did not keep up.
    let droppedMessages = Atomic<Int>(0)
    let droppedSamples = Atomic<Int>(0)

    /// Counts the rounds of the sensor thread's loop, for a watchdog.
    let loopCount = Atomic<Int>(0)

    /// Whether the sensor thread runs with real-time priority.
    let hasRealTimePriority = Atomic<Bool>(false)

    let shouldStop = Atomic<Bool>(false)
    /// The sensor thread has ended or was abandoned: it sends nothing more that counts.
    let hasStopped = Atomic<Bool>(false)
    /// The sensor thread does not use the device any more.
    let hasLeftDevice = Atomic<Bool>(false)

    /// Wakes the sensor thread from its pause.
    let sensorWake: WakeSignal
    /// Wakes the delivery thread.
    let deliveryWake: WakeSignal

    /// What was learnt about the machine, as of the last report.
    private let machine = Mutex(MachineKnowledge())

    private let requests = Mutex(SensorRequests())
    private let requestGeneration = Atomic<Int>(0)
    private let latest = Mutex(SensorSnapshot())

    /// - Returns: `nil` if the system has no descriptor left.
    init?(memory: SampleMemory? = nil) {
        guard let sensorWake = WakeSignal(), let deliveryWake = WakeSignal() else { return nil }
        self.sensorWake = sensorWake
        self.deliveryWake = deliveryWake
        self.memory = memory
    }

    // MARK: For the other threads

    var snapshot: SensorSnapshot { latest.withLock { $0 } }

    /// Requests something of the sensor thread, which does it before the next batch.
    func request(_ change: (inout SensorRequests) -> Void) {
        requests.withLock { change(&$0) }
        requestGeneration.add(1, ordering: .releasing)
        sensorWake.signal()
    }

    /// What was learnt about the machine.
    var machineKnowledge: MachineKnowledge { machine.withLock { $0 } }

    // MARK: For the sensor thread

    /// Copies what was learnt about the machine. While another thread is reading it, that waits for the next time.
    func keepMachine(of pipeline: inout MotionPipeline) {
        let deviation = pipeline.machineDeviation
        _ = machine.withLockIfAvailable { knowledge in
            pipeline.withMachineMemory { knowledge.take($0, deviation) }
        }
    }

    /// Whether there are requests since the generation `seen`. One that is not seen yet is found before the next batch.
    func hasRequests(since seen: Int) -> Bool { requestGeneration.load(ordering: .relaxed) != seen }

    /// The requests since the generation `seen`, if there are some. While another thread is writing, they wait for the next
    /// batch.
    func newRequests(since seen: inout Int) -> SensorRequests? {
        let generation = requestGeneration.load(ordering: .acquiring)
        let taken = requests.withLockIfAvailable { requests in
            let taken = requests
            requests = SensorRequests()
            return taken
        }
        if taken != nil { seen = generation }
        return taken
    }

    /// Updates the snapshot. While another thread is reading it, that waits for the next batch. A sensor whose readings cannot be
    /// measurements counts as lost, although its driver streams.
    func show(
        state: MotionState?, of device: any SensorDevice, fault: MeasurementFault? = nil, restingForce: Double? = nil
    ) {
        var (status, magnetometer, info) = (device.status, device.magnetometerStatus, device.info)
        if let fault, status.state == .streaming {
            status.state = .recovering
            status.lastFault = .measurement(fault)
        }
        _ = latest.withLockIfAvailable { snapshot in
            if let state { snapshot.state = state }
            snapshot.status = status
            snapshot.magnetometer = magnetometer
            snapshot.info = info
            snapshot.restingForce = restingForce
        }
    }

    func post(_ message: SensorMessage) {
        if !messages.push(message) { droppedMessages.add(1, ordering: .relaxed) }
    }

    /// Posts a message and wakes the delivery thread.
    func send(_ message: SensorMessage) {
        post(message)
        deliveryWake.signal()
    }
}
