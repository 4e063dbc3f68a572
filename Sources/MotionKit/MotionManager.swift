public import IMUDrivers
internal import LinuxSensors
internal import LinuxSystem
public import MotionCore
package import StateStorage
internal import Synchronization

/// A motion sensor with attitude and gestures, in the manner of CoreMotion and of UIKit's gesture recognizers.
///
/// `start` opens the sensor and begins to read it on a thread of its own; handlers are called on a second thread, the
/// delivery thread, one at a time and in order, so that a slow handler costs no sample. `stop` puts the chip to sleep.
/// A manager may be started and stopped any number of times and used from any thread.
public final class MotionManager: Sendable {
    let selection: SensorSelection
    let imu: IMUSettings
    private let stateDirectory: String?
    private let writer: StateWriter
    /// Whether the writer is nobody else's, who would see to its end.
    private let ownsWriter: Bool
    let handlers = Handlers()
    private let shared: Mutex<Shared>

    private struct Shared {
        var settings: MotionSettings
        /// What may not begin now.
        var silenced: GestureSet = []
        var updateInterval: Double
        var run: Run?
        /// The movement that is being simulated, or was last in this run.
        var simulation: Simulation?
        /// Where the last run's threads met; its sensor thread may still be about to end.
        var last: SensorExchange?
    }

    /// One time from start to stop.
    private struct Run {
        let device: any SensorDevice
        let exchange: SensorExchange
        let keepers: Keepers
        let sensor: WorkerThread
        let delivery: WorkerThread
    }

    /// What a run keeps for the next ones.
    private struct Keepers {
        let references: ReferenceKeeper
        let calibrations: CalibrationKeeper
    }

    /// Makes a manager that is not started.
    ///
    /// - Parameters:
    ///   - sensor: which sensor to use; by default the first that is found.
    ///   - imu: rate, ranges and batching of the sensor.
    ///   - settings: everything about attitude and gestures; may be changed at any time.
    ///   - updateInterval: seconds between two states for motion handlers; default 0.1.
    ///   - stateDirectory: where a stored reference attitude and calibrations are kept; `nil` keeps nothing.
    public convenience init(
        sensor: SensorSelection = .automatic, imu: IMUSettings = IMUSettings(),
        settings: MotionSettings = MotionSettings(), updateInterval: Double = 0.1, stateDirectory: String? = nil
    ) {
        self.init(
            sensor: sensor, imu: imu, settings: settings, updateInterval: updateInterval,
            stateDirectory: stateDirectory, writer: nil)
    }

    /// The same with the writer of a program that keeps more than this: it sees to the writer's end.
    package init(
        sensor: SensorSelection = .automatic, imu: IMUSettings = IMUSettings(),
        settings: MotionSettings = MotionSettings(), updateInterval: Double = 0.1, stateDirectory: String?,
        writer: StateWriter?
    ) {
        selection = sensor
        self.imu = imu
        self.stateDirectory = stateDirectory
        self.writer = writer ?? StateWriter()
        ownsWriter = writer == nil
        shared = Mutex(Shared(settings: settings, updateInterval: updateInterval))
    }

    deinit {
        stop()
    }

    // MARK: Start and stop

    /// Whether the sensor is being read.
    public var isRunning: Bool { shared.withLock { $0.run != nil } }

    /// Opens the sensor and begins to read it; does nothing where it runs already.
    ///
    /// - Throws: `SensorError`, which says what can be done about it.
    public func start() throws(SensorError) {
        guard try mayStart() else { return }
        try start(with: try selection.open(imu))
    }

    /// Begins to read a device that is open already; does nothing where one runs.
    ///
    /// - Throws: `SensorError`, which says what can be done about it.
    package func start(with device: any SensorDevice) throws(SensorError) {
        guard try mayStart() else { return }
        guard let exchange = SensorExchange() else { throw SensorError.resources }
        let keepers = Keepers(
            references: ReferenceKeeper(
                store: stateDirectory.map { ReferenceStore(stateDirectory: $0) }, writer: writer),
            calibrations: CalibrationKeeper(
                store: stateDirectory.map { CalibrationStore(stateDirectory: $0) }, name: device.storageName,
                writer: writer))
        let hasThreads = shared.withLock { shared in
            guard shared.run == nil else { return true }
            shared.run = makeRun(device, exchange, keepers, shared)
            return shared.run != nil
        }
        guard hasThreads else { throw SensorError.resources }
    }

    /// Whether nothing runs.
    ///
    /// - Throws: `stillStopping` where a thread of the last run may still use the device.
    private func mayStart() throws(SensorError) -> Bool {
        let (isRunning, isStopping) = shared.withLock { shared in
            (shared.run != nil, shared.last.map { !$0.hasLeftDevice.load(ordering: .acquiring) } ?? false)
        }
        if isStopping { throw SensorError.stillStopping }
        return !isRunning
    }

    /// Starts the threads; `nil` where the system has none left.
    private func makeRun(
        _ device: any SensorDevice, _ exchange: SensorExchange, _ keepers: Keepers, _ shared: Shared
    ) -> Run? {
        // Neither thread holds the manager: dropping the last reference to it stops it.
        let delivery = Delivery(
            exchange: exchange, handlers: handlers, references: keepers.references, calibrations: keepers.calibrations)
        let handlers = self.handlers
        let (settings, silenced, updateInterval) = (shared.settings, shared.silenced, shared.updateInterval)
        let storedReference = keepers.references.attitude
        let calibration = keepers.calibrations.order
        guard let deliveryThread = WorkerThread(name: "jostle-deliver", { delivery.run() }) else { return nil }
        let sensorThread = WorkerThread(name: "jostle-sensor") {
            // What is made up can wait, and computing it takes longer than reading a chip.
            let isUrgent = !device.isSimulated && RealTimePriority.claim()
            exchange.hasRealTimePriority.store(isUrgent, ordering: .relaxed)
            var loop = SensorLoop(
                device: device, exchange: exchange, handlers: handlers, settings: settings,
                silenced: silenced, storedReference: storedReference, calibration: calibration,
                updateInterval: updateInterval)
            loop.run()
        }
        guard let sensorThread else {
            exchange.hasStopped.store(true, ordering: .releasing)
            exchange.deliveryWake.signal()
            deliveryThread.join(within: 1)
            return nil
        }
        handlers.chain.attach(exchange.deliveryWake)
        return Run(
            device: device, exchange: exchange, keepers: keepers, sensor: sensorThread, delivery: deliveryThread)
    }

    /// Cancels open gestures, puts the chip to sleep and ends the threads; does nothing where nothing runs.
    ///
    /// The handlers have heard everything when it returns, except where it is called from a handler. A thread that is
    /// stuck, in a transaction on a dead bus or in a handler, is left behind after half a second. What is to be kept is then
    /// on the disk, unless that takes more than two seconds.
    public func stop() {
        let (run, simulation) = shared.withLock { shared in
            let stopped = (shared.run, shared.simulation)
            shared.run = nil
            shared.simulation = nil
            if let run = stopped.0 { shared.last = run.exchange }
            return stopped
        }
        guard let run else { return }
        // First, so that the delivery thread is still there for what it has to cancel.
        simulation?.stop()
        run.exchange.shouldStop.store(true, ordering: .releasing)
        run.exchange.sensorWake.signal()
        if !run.sensor.join(within: 0.5) {
            run.exchange.hasStopped.store(true, ordering: .releasing)
            run.exchange.deliveryWake.signal()
        }
        run.delivery.join(within: 0.5)
        handlers.chain.detach(run.exchange.deliveryWake)
        if ownsWriter { writer.flush(within: 2) }
    }

    // MARK: Simulation

    /// Lets handlers hear of a movement that nobody makes, so that what it sets off can be tried: a virtual chip makes it,
    /// and a driver and a pipeline with the present settings find the gestures in it.
    ///
    /// The events are marked (`GestureEvent.isSimulated`) and go down the same responder chain, at the time at which they
    /// would come if somebody moved the device. The real sensor goes on: neither its state nor its gestures know of it,
    /// and it need not work. Gates are judged by the virtual board, which lies flat and still. What is open when the
    /// manager is stopped is cancelled.
    ///
    /// - Throws: `busy` while another movement is being simulated; `notRunning`, `resources`.
    public func simulate(_ movement: SimulatedMovement) throws(SimulationError) {
        let failure: SimulationError? = shared.withLock { shared in
            guard let run = shared.run else { return .notRunning }
            if let current = shared.simulation {
                guard current.isOver else { return .busy(current.movement.name) }
                current.stop()
                shared.simulation = nil
            }
            shared.simulation = Simulation(
                movement, exchange: run.exchange, imu: imu, settings: shared.settings, silenced: shared.silenced)
            return shared.simulation == nil ? .resources : nil
        }
        if let failure { throw failure }
    }

    /// Ends what is being simulated; its gestures under way are cancelled. Does nothing where nothing is.
    public func stopSimulation() {
        let simulation = shared.withLock { shared in
            defer { shared.simulation = nil }
            return shared.simulation
        }
        simulation?.stop()
    }

    /// What is being simulated; `nil` where nothing is.
    public var simulatedMovement: SimulatedMovement? {
        shared.withLock { $0.simulation.flatMap { $0.isOver ? nil : $0.movement } }
    }

    // MARK: What is known

    /// What the sensor does and measures: the latest; `nil` before the first sample and where nothing runs.
    public var state: MotionState? { exchange?.snapshot.state }

    /// The attitude relative to the reference attitude, after the low-pass; `nil` where `state` is.
    public var attitude: Quaternion? { state?.relativeAttitude }

    /// The driver's state and counters; `nil` where nothing runs.
    public var sensorStatus: IMUStatus? { exchange?.snapshot.status }

    /// The same where something runs, and as it was at the end of the last run where nothing does; `nil` before the first.
    public var lastSensorStatus: IMUStatus? { shared.withLock { $0.run?.exchange ?? $0.last }?.snapshot.status }

    /// The chip and what it was configured to; `nil` where nothing runs.
    public var sensorInfo: IMUInfo? { exchange?.snapshot.info }

    /// The sensor in a few words for people; `nil` where nothing runs.
    public var sensorTitle: String? { shared.withLock { $0.run?.device.title } }

    /// Whether the samples are made up; `nil` where nothing runs.
    public var isSimulated: Bool? { shared.withLock { $0.run?.device.isSimulated } }

    /// Whether the sensor thread goes before all ordinary threads of the machine, which takes a right that processes do not
    /// have by default (CAP_SYS_NICE or RLIMIT_RTPRIO); `nil` where nothing runs.
    public var hasRealTimePriority: Bool? { exchange?.hasRealTimePriority.load(ordering: .relaxed) }

    /// The gestures that have begun and not ended, without those of a simulation.
    public var openGestures: GestureSet { handlers.chain.openGestures }

    /// How often the sensor thread has turned its loop: it stands still only where a transaction is stuck.
    public var turns: Int { exchange?.turns.load(ordering: .relaxed) ?? 0 }

    /// Messages and samples that found no room because handlers were slow.
    public var droppedDeliveries: Int {
        guard let exchange else { return 0 }
        return exchange.droppedMessages.load(ordering: .relaxed) + exchange.droppedSamples.load(ordering: .relaxed)
    }

    var exchange: SensorExchange? { shared.withLock { $0.run?.exchange } }
    var keeper: CalibrationKeeper? { shared.withLock { $0.run?.keepers.calibrations } }

    // MARK: What can be changed at any time

    /// Everything about attitude and gestures; a change is in force with the next batch of samples.
    public var settings: MotionSettings {
        get { shared.withLock { $0.settings } }
        set { changeSettings { $0 = newValue } }
    }

    /// Changes some of the settings and leaves the others as they are, whatever other threads change.
    public func changeSettings(_ change: (inout MotionSettings) -> Void) {
        // Ordered under the lock: of two threads that write, the same one comes last here and there.
        shared.withLock { shared in
            let oldPolicy = shared.settings.reference
            change(&shared.settings)
            let settings = shared.settings
            let becomesStored = settings.reference == .stored && oldPolicy != .stored
            let storedReference = becomesStored ? shared.run?.keepers.references.attitude : nil
            shared.run?.exchange.order { orders in
                orders.settings = settings
                if let storedReference { orders.storedReference = storedReference }
            }
            shared.simulation?.order(settings)
        }
    }

    /// The gestures that may not begin now, whatever their settings say, for example in quiet hours: a state of the moment and
    /// no setting, which a change of the settings leaves as it is. Those under way end as they would. Default: none.
    public var silencedGestures: GestureSet { shared.withLock { $0.silenced } }

    /// Says which gestures may not begin from the next batch of samples on.
    public func silence(_ gestures: GestureSet) {
        shared.withLock { shared in
            shared.silenced = gestures
            shared.run?.exchange.order { $0.silenced = gestures }
            shared.simulation?.silence(gestures)
        }
    }

    /// Seconds between two states for motion handlers; 0 for the state after every sample.
    public var updateInterval: Double {
        get { shared.withLock { $0.updateInterval } }
        set {
            // Ordered under the lock: of two threads that write, the same one comes last here and there.
            shared.withLock { shared in
                shared.updateInterval = newValue
                shared.run?.exchange.order { $0.updateInterval = newValue }
            }
        }
    }

    /// Makes the present attitude the reference, or its heading alone: from the next batch on it is zero. Before the
    /// first sample it is that batch's attitude which becomes the reference.
    public func takeReference(headingOnly: Bool = false) {
        exchange?.order { $0.reference = headingOnly ? .takeHeading : .take }
    }

    /// Tells attitude from the vertical and the start's heading again.
    public func clearReference() {
        exchange?.order { $0.reference = .clear }
    }
}
