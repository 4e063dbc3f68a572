public import IMUDrivers
internal import LinuxSensors
internal import LinuxSystem
public import MotionCore
package import StateStorage
internal import Synchronization

/// A motion sensor with attitude and gestures, in the manner of CoreMotion and of UIKit's gesture recognizers.
///
/// `start` opens the sensor and reads it on a thread of its own. A second thread, the delivery thread, calls the handlers,
/// one at a time and in order, so a slow handler costs no sample. `stop` puts the chip to sleep. A manager may be started
/// and stopped any number of times and used from any thread. Releasing it stops it.
public final class MotionManager: Sendable {
    let selection: SensorSelection
    private let stateDirectory: String?
    private let writer: StateWriter
    /// Whether the writer was created here, so that `stop` waits for it.
    private let ownsWriter: Bool
    let handlers = Handlers()
    private let shared: Mutex<Shared>

    private struct Shared {
        var imu: IMUSettings
        var memorySeconds = 0.0
        var settings: MotionSettings
        /// The gestures that may not begin now.
        var silenced: GestureSet = []
        /// The recognizers with requirements of their own.
        var variants = VariantTable()
        /// The learned gestures of the program, those and the recognizers' as they were last prepared or are about to be, and
        /// what was prepared of them.
        var ownLearned: [LearnedGestureSettings] = []
        var wantedLearned: [LearnedGestureSettings] = []
        var learned: LearnedGestures?
        /// Since when a machine runs that an earlier run reported.
        var openVibration: Timestamp?
        var updateInterval: Double
        var restingInterval = 0.0
        /// The intervals at which the sensor thread sends states: the shortest that a handler asks for.
        var sentIntervals: UpdateIntervals?
        var run: Run?
        /// The movement that is being simulated, or was last in this run.
        var simulation: Simulation?
        /// The exchange of the last run, whose sensor thread may not have ended yet.
        var last: SensorExchange?

        /// Requests something of the sensor thread and of the simulation.
        func request(_ change: (inout SensorRequests) -> Void) {
            run?.exchange.request(change)
            simulation?.request(change)
        }
    }

    /// One run, from start to stop.
    private struct Run {
        let device: any SensorDevice
        let exchange: SensorExchange
        let references: ReferenceSaver
        let calibrations: CalibrationSaver
        let sensor: WorkerThread
        let delivery: WorkerThread
    }

    /// Creates a manager that is not started.
    ///
    /// - Parameters:
    ///   - sensor: which sensor to use; by default the first that is found.
    ///   - imu: rate, ranges and batching of the sensor.
    ///   - settings: everything about attitude and gestures; may be changed at any time.
    ///   - updateInterval: seconds between two states for motion handlers; default 0.1.
    ///   - stateDirectory: where the stored reference attitude and the calibrations are kept; `nil` keeps nothing.
    public convenience init(
        sensor: SensorSelection = .automatic, imu: IMUSettings = IMUSettings(),
        settings: MotionSettings = MotionSettings(), updateInterval: Double = 0.1, stateDirectory: String? = nil
    ) {
        self.init(
            sensor: sensor, imu: imu, settings: settings, updateInterval: updateInterval,
            stateDirectory: stateDirectory, writer: nil)
    }

    /// Creates a manager that shares the writer of its program, which waits for the writer itself when it ends.
    package init(
        sensor: SensorSelection = .automatic, imu: IMUSettings = IMUSettings(),
        settings: MotionSettings = MotionSettings(), updateInterval: Double = 0.1, stateDirectory: String?,
        writer: StateWriter?
    ) {
        selection = sensor
        self.stateDirectory = stateDirectory
        self.writer = writer ?? StateWriter()
        ownsWriter = writer == nil
        shared = Mutex(Shared(imu: imu, settings: settings, updateInterval: updateInterval))
    }

    deinit {
        stop()
        handlers.ends.notify(())
    }

    // MARK: Start and stop

    /// Whether the sensor is being read.
    public var isRunning: Bool { shared.withLock { $0.run != nil } }

    /// Opens the sensor and begins to read it; does nothing if it runs already.
    ///
    /// Looking for a chip on every bus may take some tenths of a second. In an asynchronous function, `try await start()`
    /// calls the form that does not block its caller. In top-level code the compiler always chooses this one.
    ///
    /// - Throws: `SensorError`, which says what to do about it.
    public func start() throws(SensorError) {
        guard try mayStart() else { return }
        try start(with: try selection.open(imu))
    }

    /// Rate, ranges and batching of the sensor; a change takes effect at the next start.
    package var imu: IMUSettings {
        get { shared.withLock { $0.imu } }
        set { shared.withLock { $0.imu = newValue } }
    }

    /// Seconds of samples that `recentSamples` reaches back; 0 keeps none. A change takes effect at the next start. The memory
    /// is fixed: 83 bytes for a sample at the nominal rate, 2.5 s more of them, and 18 kB.
    package var memorySeconds: Double {
        get { shared.withLock { $0.memorySeconds } }
        set { shared.withLock { $0.memorySeconds = newValue } }
    }

    /// What the sensor measured between two instants, as far as it is kept; `nil` if nothing runs or nothing is kept.
    package func recentSamples(from start: Timestamp, to end: Timestamp) -> RecentSamples? {
        guard let exchange, let memory = exchange.memory, let info = exchange.snapshot.info else { return nil }
        return memory.copy(from: start, to: end, info)
    }

    /// Opens the sensor and begins to read it, without blocking the caller; does nothing if it runs already.
    ///
    /// - Throws: `SensorError`, which says what to do about it.
    public func start() async throws(SensorError) {
        let result: Result<Void, SensorError> = await withCheckedContinuation { continuation in
            let thread = WorkerThread(name: "jostle-start") { [self] in
                continuation.resume(returning: Result { () throws(SensorError) in try start() })
            }
            guard let thread else { return continuation.resume(returning: .failure(.resources)) }
            // Detached: nobody waits for its end.
            thread.join(within: 0)
        }
        try result.get()
    }

    /// Begins to read a device that is open already; does nothing if one runs.
    package func start(with device: any SensorDevice) throws(SensorError) {
        guard try mayStart() else { return }
        let memory = memorySeconds > 0 ? SampleMemory(seconds: memorySeconds, of: device) : nil
        guard let exchange = SensorExchange(memory: memory) else { throw SensorError.resources }
        let references = ReferenceSaver(
            store: stateDirectory.map { ReferenceStore(stateDirectory: $0) }, writer: writer)
        let calibrations = CalibrationSaver(
            store: stateDirectory.map { CalibrationStore(stateDirectory: $0) }, name: device.storageName, writer: writer
        )
        let machines = MachineSaver(store: stateDirectory.map { MachineStore(stateDirectory: $0) }, writer: writer)
        let hasThreads = shared.withLock { shared in
            guard shared.run == nil else { return true }
            shared.run = makeRun(device, exchange, references, calibrations, machines, &shared)
            return shared.run != nil
        }
        guard hasThreads else { throw SensorError.resources }
    }

    /// Whether nothing runs.
    ///
    /// - Throws: `stillStopping` if a thread of the last run may still use the device, `noStateDirectory`.
    private func mayStart() throws(SensorError) -> Bool {
        let (isRunning, last) = shared.withLock { ($0.run != nil, $0.last) }
        if let last, !last.hasLeftDevice.load(ordering: .acquiring) { throw SensorError.stillStopping }
        if cannotStoreReference { throw SensorError.noStateDirectory }
        return !isRunning
    }

    /// Whether the policy is `.stored` and there is no place to store a reference.
    private var cannotStoreReference: Bool { stateDirectory == nil && settings.reference == .stored }

    /// Starts the threads; `nil` if the system has none left.
    private func makeRun(
        _ device: any SensorDevice, _ exchange: SensorExchange, _ references: ReferenceSaver,
        _ calibrations: CalibrationSaver, _ machines: MachineSaver, _ shared: inout Shared
    ) -> Run? {
        // Neither thread holds the manager, so releasing it stops it.
        let delivery = Delivery(
            exchange: exchange, handlers: handlers, references: references, calibrations: calibrations,
            machines: machines)
        let handlers = self.handlers
        let intervals = handlers.motion.takeIntervals(usual: shared.updateInterval, resting: shared.restingInterval)
        shared.sentIntervals = intervals
        let (settings, silenced) = (shared.settings, shared.silenced)
        let variants = shared.variants.variants(of: settings.gestures)
        let learned = shared.learned
        let storedReference = references.attitude
        let calibration = calibrations.change
        let machine = stateDirectory == nil ? shared.last?.machineKnowledge ?? MachineKnowledge() : machines.knowledge
        let openVibration = shared.openVibration.map { SystemClock().now().seconds(since: $0) }
        guard let deliveryThread = WorkerThread(name: "jostle-deliver", { delivery.run() }) else { return nil }
        let sensorThread = WorkerThread(name: "jostle-sensor") {
            // A simulated sensor can wait, and takes more processor time than reading a chip.
            let isUrgent = !device.isSimulated && RealTimePriority.claim()
            exchange.hasRealTimePriority.store(isUrgent, ordering: .relaxed)
            var loop = SensorLoop(
                device: device, exchange: exchange, handlers: handlers, settings: settings,
                silenced: silenced, variants: variants, learned: learned, storedReference: storedReference,
                calibration: calibration, intervals: intervals, machine: machine, openVibration: openVibration)
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
            device: device, exchange: exchange, references: references, calibrations: calibrations,
            sensor: sensorThread,
            delivery: deliveryThread)
    }

    /// Has the next start take up the run of a machine that was reported as begun at this time: it ends once, with its whole
    /// duration, or is cancelled if the machine does not run any more. `nil` for none.
    package func resumeVibration(since start: Timestamp?) {
        shared.withLock { $0.openVibration = start }
    }

    /// Cancels open gestures, puts the chip to sleep and ends the threads; does nothing if nothing runs.
    ///
    /// When it returns, the handlers have received everything, unless it was called from a handler, and what is stored is
    /// on the disk, unless that takes more than two seconds. A thread that is stuck, in a transaction on a dead bus or in a
    /// handler, is abandoned after half a second.
    public func stop() {
        let (run, simulation) = shared.withLock { shared in
            let stopped = (shared.run, shared.simulation)
            shared.run = nil
            shared.simulation = nil
            if let run = stopped.0 { shared.last = run.exchange }
            return stopped
        }
        guard let run else { return }
        // First, while the delivery thread can still deliver the simulation's cancellations.
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

    /// Simulates a movement, to try what its gestures set off: a virtual chip makes it, and a driver and a pipeline with
    /// the present settings recognise the gestures.
    ///
    /// The events have `GestureEvent.isSimulated` set and pass along the same responder chain, at the times at which they
    /// would come from a real movement. The real sensor is not affected, and need not work. Gates are judged by the
    /// virtual board, which lies flat and still. Stopping the manager cancels the gestures that are open.
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
                movement, exchange: run.exchange, nearMisses: handlers.nearMisses, imu: shared.imu,
                settings: shared.settings, silenced: shared.silenced,
                variants: shared.variants.variants(of: shared.settings.gestures), learned: shared.learned)
            return shared.simulation == nil ? .resources : nil
        }
        if let failure { throw failure }
    }

    /// Ends the simulation and cancels its open gestures; does nothing if there is none.
    public func stopSimulation() {
        let simulation = shared.withLock { shared in
            defer { shared.simulation = nil }
            return shared.simulation
        }
        simulation?.stop()
    }

    /// The movement that is being simulated; `nil` if none is.
    public var simulatedMovement: SimulatedMovement? {
        shared.withLock { $0.simulation.flatMap { $0.isOver ? nil : $0.movement } }
    }

    // MARK: State

    /// The latest motion state; `nil` before the first sample and if nothing runs. At rest, it is up to 0.1 s old, because the
    /// sensor is then read that seldom.
    public var state: MotionState? { exchange?.snapshot.state }

    /// The latest attitude, relative to the reference attitude; `nil`, and as old, as `state` is.
    public var attitude: Quaternion? { state?.relativeAttitude }

    /// The driver's state and counters; `nil` if nothing runs.
    public var sensorStatus: IMUStatus? { exchange?.snapshot.status }

    /// The driver's state and counters, of the last run if nothing runs; `nil` before the first.
    package var lastSensorStatus: IMUStatus? { lastExchange?.snapshot.status }

    /// The mean specific force of the present rest, m/s²: on a good sensor it is as long as gravity. `nil` if nothing runs, and
    /// before 20 s of rest.
    package var restingForce: Double? { exchange?.snapshot.restingForce }

    /// The same of the magnetometer's driver; `nil` without one.
    package var lastMagnetometerStatus: MagnetometerStatus? { lastExchange?.snapshot.magnetometer }

    /// The chip and its configuration; `nil` if nothing runs.
    public var sensorInfo: IMUInfo? { exchange?.snapshot.info }

    /// A short description of the sensor, such as "MPU-6050 at 0x68 on /dev/i2c-1"; `nil` if nothing runs.
    public var sensorTitle: String? { running?.device.title }

    /// Whether the samples come from a virtual chip or a recording; `nil` if nothing runs.
    public var isSimulated: Bool? { running?.device.isSimulated }

    /// Whether the sensor thread runs with real-time priority, which needs CAP_SYS_NICE or RLIMIT_RTPRIO; `nil` if
    /// nothing runs.
    public var hasRealTimePriority: Bool? { exchange?.hasRealTimePriority.load(ordering: .relaxed) }

    /// The gestures that have begun and not ended, except simulated ones.
    public var openGestures: GestureSet { handlers.chain.openGestures }

    /// The rounds of the sensor thread's loop. It stops growing only if a transaction is stuck.
    package var loopCount: Int { exchange?.loopCount.load(ordering: .relaxed) ?? 0 }

    /// Messages and samples that were dropped because handlers were slow.
    public var droppedDeliveries: Int {
        exchange.map { $0.droppedMessages.load(ordering: .relaxed) + $0.droppedSamples.load(ordering: .relaxed) } ?? 0
    }

    private var exchange: SensorExchange? { running?.exchange }
    private var lastExchange: SensorExchange? { shared.withLock { $0.run?.exchange ?? $0.last } }

    /// The exchange, the calibration and the sensor of the present run; `nil` if nothing runs.
    var running: (exchange: SensorExchange, calibrations: CalibrationSaver, device: any SensorDevice)? {
        shared.withLock { shared in shared.run.map { ($0.exchange, $0.calibrations, $0.device) } }
    }

    // MARK: Settings

    /// Everything about attitude and gestures; a change applies from the next batch of samples.
    ///
    /// The reference policy `.stored` needs a state directory: without one `start` and `takeReference` throw.
    public var settings: MotionSettings {
        get { shared.withLock { $0.settings } }
        set { changeSettings { $0 = newValue } }
    }

    /// Changes some of the settings and leaves the others as they are, even if other threads change them.
    public func changeSettings(_ change: (inout MotionSettings) -> Void) {
        // Requested under the lock, so that of two writing threads the same one is last everywhere.
        shared.withLock { shared in
            let oldPolicy = shared.settings.reference
            change(&shared.settings)
            let settings = shared.settings
            let becomesStored = settings.reference == .stored && oldPolicy != .stored
            let storedReference = becomesStored ? shared.run?.references.attitude : nil
            let variants = shared.variants.isEmpty ? nil : shared.variants.variants(of: settings.gestures)
            shared.request { requests in
                requests.settings = settings
                if let storedReference { requests.storedReference = storedReference }
                if let variants { requests.variants = variants }
            }
            if variants != nil { requestLearned(&shared) }
        }
    }

    /// Sets the gestures that may not begin from the next batch of samples on, for example in quiet hours. Those under way
    /// end as usual. It is not a setting: a change of the settings leaves it as it is. Default: none.
    package func silence(_ gestures: GestureSet) {
        shared.withLock { shared in
            shared.silenced = gestures
            shared.request { $0.silenced = gestures }
        }
    }

    /// Seconds between two states for motion handlers; 0 for the state after every sample.
    ///
    /// While a handler is slow, states are skipped and it receives the newest, unless this is 0.
    public var updateInterval: Double {
        get { shared.withLock { $0.updateInterval } }
        set {
            shared.withLock { shared in
                shared.updateInterval = newValue
                requestInterval(&shared)
            }
        }
    }

    /// Seconds between two states at rest, for handlers without an interval of their own, if it is longer than
    /// `updateInterval`: a state that does not change need not wake anybody. The first sign of movement ends it.
    package var restingInterval: Double {
        get { shared.withLock { $0.restingInterval } }
        set {
            shared.withLock { shared in
                shared.restingInterval = newValue
                requestInterval(&shared)
            }
        }
    }

    /// Has the sensor thread send states as often as a handler wants them.
    func motionHandlersChanged() { shared.withLock { requestInterval(&$0) } }

    private func requestInterval(_ shared: inout Shared) {
        let intervals = handlers.motion.takeIntervals(usual: shared.updateInterval, resting: shared.restingInterval)
        guard shared.sentIntervals != intervals else { return }
        shared.sentIntervals = intervals
        shared.run?.exchange.request { $0.intervals = intervals }
    }

    /// The variant that recognises for `recognizer`, which `releaseVariant` gives back.
    func retainVariant(for recognizer: Recognizer) -> UInt16 {
        shared.withLock { shared in
            let number = shared.variants.retain(recognizer)
            if number != 0 { requestVariants(&shared) }
            return number
        }
    }

    func releaseVariant(_ number: UInt16) {
        shared.withLock { shared in
            if shared.variants.release(number) { requestVariants(&shared) }
        }
    }

    private func requestVariants(_ shared: inout Shared) {
        let variants = shared.variants.variants(of: shared.settings.gestures)
        shared.request { $0.variants = variants }
        requestLearned(&shared)
    }

    /// The learned gestures that this program recognises beside those of `Recognizer.learned`. A change applies as soon as they
    /// are prepared, which takes tenths of a second. Default: none.
    package var learned: [LearnedGestureSettings] {
        get { shared.withLock { $0.ownLearned } }
        set {
            shared.withLock { shared in
                shared.ownLearned = newValue
                requestLearned(&shared)
            }
        }
    }

    /// Has the learned gestures prepared on a thread of their own.
    private func requestLearned(_ shared: inout Shared) {
        let wanted = (shared.ownLearned + shared.variants.learned(under: shared.settings.gestures)).filter(
            \.common.isEnabled)
        guard wanted != shared.wantedLearned else { return }
        shared.wantedLearned = wanted
        let thread = WorkerThread(name: "jostle-learned") { [weak self] in
            let learned = wanted.isEmpty ? nil : LearnedGestures(wanted)
            self?.shared.withLock { shared in
                guard shared.wantedLearned == wanted else { return }
                shared.learned = learned
                shared.request { $0.learned = .some(learned) }
            }
        }
        // Detached: nobody waits for its end.
        thread?.join(within: 0)
        // Without a thread it is tried again at the next change.
        if thread == nil { shared.wantedLearned = [] }
    }

    // MARK: Reference attitude

    /// Makes the present attitude the reference, or its heading alone: it reads zero from the next batch on. Before the
    /// first sample, the attitude of the first batch becomes the reference.
    ///
    /// - Throws: `notRunning`; `noStateDirectory` if the policy is `.stored` and there is none.
    public func takeReference(headingOnly: Bool = false) throws(ReferenceError) {
        if cannotStoreReference { throw ReferenceError.noStateDirectory }
        try request(headingOnly ? .takeHeading : .take)
    }

    /// Removes the reference: attitude is relative to the vertical and to the heading at the start again.
    ///
    /// - Throws: `notRunning`.
    public func clearReference() throws(ReferenceError) {
        try request(.clear)
    }

    private func request(_ reference: ReferenceRequest) throws(ReferenceError) {
        guard let exchange else { throw ReferenceError.notRunning }
        exchange.request { $0.reference = reference }
    }
}

extension MotionManager {
    // MARK: Gestures

    /// Adds a handler at the front of the responder chain: it receives a gesture before those added earlier.
    ///
    /// - Parameters:
    ///   - recognizer: which gestures it is for.
    ///   - handler: called on the delivery thread. What it returns when a gesture begins or is recognised decides whether
    ///     the others receive that gesture.
    /// - Returns: a token that switches the handler off and on, and removes it.
    @discardableResult
    public func addRecognizer(_ recognizer: Recognizer, handler: @escaping GestureHandler) -> RecognizerToken {
        addResponder(for: recognizer, handler) { _ in }
    }

    /// Adds a handler with its variant, which the token releases. `onRemove` is called when the handler is removed, with
    /// the number of cancellations that it is still to receive.
    func addResponder(
        for recognizer: Recognizer, _ handler: @escaping GestureHandler,
        onRemove: @escaping @Sendable (_ pendingCancellations: Int) -> Void
    ) -> RecognizerToken {
        let variant = retainVariant(for: recognizer)
        let responder = Responder(recognizer: recognizer, variant: variant, handler: handler)
        handlers.chain.add(responder)
        return RecognizerToken(chain: handlers.chain, responder: responder) { [weak self] pending in
            if variant != 0 { self?.releaseVariant(variant) }
            onRemove(pending)
        }
    }

    /// Adds a handler that runs on an actor, so that it may use the actor's state.
    ///
    /// It receives events in order, one at a time. Up to 64 wait for a busy actor; beyond that whole gestures are dropped,
    /// never an end alone.
    ///
    /// - Parameters:
    ///   - recognizer: which gestures it is for.
    ///   - actor: the actor, which the manager retains until the handler is removed.
    ///   - response: whether the responders further down the chain receive these gestures too. It is decided here because
    ///     the chain does not wait for the actor.
    ///   - handler: called on the actor.
    /// - Returns: a token that switches the handler off and on, and removes it.
    @discardableResult
    public func addRecognizer<Target: Actor>(
        _ recognizer: Recognizer, on actor: Target, response: GestureResponse = .passOn,
        handler: @escaping @Sendable (isolated Target, GestureEvent) async -> Void
    ) -> RecognizerToken {
        let (stream, token) = makeGestureStream(recognizer, response)
        Task {
            for await event in stream { await handler(actor, event) }
        }
        return token
    }

    /// Adds a handler that runs on the main actor: `addRecognizer(.shake, on: MainActor.self) { … }`.
    ///
    /// Otherwise as `addRecognizer(_:on:response:handler:)` with another actor.
    @discardableResult
    public func addRecognizer(
        _ recognizer: Recognizer, on actor: MainActor.Type, response: GestureResponse = .passOn,
        handler: @escaping @MainActor @Sendable (GestureEvent) async -> Void
    ) -> RecognizerToken {
        let (stream, token) = makeGestureStream(recognizer, response)
        Task {
            for await event in stream { await handler(event) }
        }
        return token
    }

    /// Sets the handler at the end of the responder chain, which receives every gesture that no other consumed. It does not
    /// receive gestures of recognizers with requirements of their own.
    public func setDefaultResponder(_ handler: (@Sendable (GestureEvent) -> Void)?) {
        handlers.chain.setLast(
            handler.map { handler in
                Responder(recognizer: nil) { event in
                    handler(event)
                    return .consume
                }
            })
    }

    /// Adds a handler of movements that were almost gestures, with the reason why they were not.
    @discardableResult
    public func addNearMissHandler(_ handler: @escaping @Sendable (NearMiss) -> Void) -> HandlerToken {
        handlers.nearMisses.add(handler)
    }

    /// Adds a handler of how the machine is that carries the board: once a minute while it runs, when it starts, pauses and is
    /// done, and when it begins or ceases to deviate from its earlier runs.
    @discardableResult
    public func addMachineHandler(_ handler: @escaping @Sendable (MachineReport) -> Void) -> HandlerToken {
        handlers.machine.add(handler)
    }

    /// What was learnt about the machine; `nil` if nothing runs.
    package var machineKnowledge: MachineKnowledge? { exchange?.machineKnowledge }

    /// Says how the machine is now, so that the board need not learn it by itself. Does nothing if nothing runs.
    public func learnMachine(_ now: MachineStatement) {
        exchange?.request { $0.machine = now }
    }

    // MARK: Motion, sensor, samples

    /// Adds a handler of the motion state.
    ///
    /// - Parameters:
    ///   - interval: seconds between two calls, 0 for every sample; `nil` for `updateInterval`. A handler that takes longer
    ///     misses states and receives the newest next, unless the interval is 0.
    ///   - handler: called on the delivery thread.
    /// - Returns: a token that removes the handler.
    @discardableResult
    public func addMotionHandler(
        every interval: Double? = nil, _ handler: @escaping @Sendable (MotionState) -> Void
    ) -> HandlerToken {
        let token = handlers.motion.add(
            interval: interval, onRemove: { [weak self] in self?.motionHandlersChanged() }, handler)
        motionHandlersChanged()
        return token
    }

    /// Adds a handler of what happens to the sensor: it streams, it lost samples, it failed.
    @discardableResult
    public func addSensorHandler(_ handler: @escaping @Sendable (SensorEvent, Timestamp) -> Void) -> HandlerToken {
        handlers.sensor.add { handler($0.event, $0.time) }
    }

    /// Adds a handler that is called when the reference attitude is taken or cleared.
    @discardableResult
    public func addReferenceHandler(_ handler: @escaping @Sendable (ReferenceChange) -> Void) -> HandlerToken {
        handlers.references.add(handler)
    }

    /// Adds a handler of every sample as the pipeline used it: calibrated, along the body's axes, with the attitude, in
    /// batches and in order.
    @discardableResult
    public func addMeasuredSampleHandler(_ handler: @escaping @Sendable ([MeasuredSample]) -> Void) -> HandlerToken {
        defer { exchange?.sensorWake.signal() }
        return handlers.measured.add(handler)
    }

    /// Adds a handler of every sample, along the sensor's axes, in batches and in order.
    @discardableResult
    public func addSampleHandler(_ handler: @escaping @Sendable ([MotionSample]) -> Void) -> HandlerToken {
        defer { exchange?.sensorWake.signal() }
        return handlers.samples.add(handler)
    }

    /// Adds a handler for the readings of the magnetometer, along the sensor's axes, not calibrated, about 20 a second. They
    /// come before the samples of the same time.
    @discardableResult
    public func addMagneticFieldHandler(_ handler: @escaping @Sendable ([MagneticSample]) -> Void) -> HandlerToken {
        defer { exchange?.sensorWake.signal() }
        return handlers.fields.add(handler)
    }

    /// Adds a handler for the magnetic field as the heading is computed from it: the readings of `addMagneticFieldHandler`,
    /// calibrated and along the body's axes.
    package func addMeasuredFieldHandler(_ handler: @escaping @Sendable ([MagneticSample]) -> Void) -> HandlerToken {
        addMagneticFieldHandler { [weak self] readings in
            guard let self, let running else { return }
            let mount = running.device.effective(settings).mount
            let calibration = running.calibrations.calibration.magnetometer ?? MagneticCalibration()
            handler(
                readings.filter(\.field.isFinite).map {
                    MagneticSample(timestamp: $0.timestamp, field: mount * calibration.apply($0.field))
                })
        }
    }
}

extension MotionManager {
    /// The calibration of the running chip; `nil` if nothing runs.
    ///
    /// `biasLine` is updated while the sensor rests, `learntScale` while it moves. The calibration that samples are
    /// corrected with changes only with `setCalibration` and at the next start.
    public var calibration: StoredCalibration? { running?.calibrations.calibration }

    /// Why the chip's stored calibration was ignored at the start; `nil` if it was not, or if nothing runs.
    public var calibrationWarning: CalibrationStoreError? { running?.calibrations.warning }

    /// Replaces the calibration of the chip with the next batch of samples, and saves it if there is a state directory: it
    /// is on the disk when this returns. Attitude and reference start again, as with another mounting.
    ///
    /// - Throws: `notRunning`, or `notWritten`: the calibration is then in force, and saving it is retried.
    public func setCalibration(_ calibration: StoredCalibration) throws(CalibrationStoreError) {
        guard let running else { throw CalibrationStoreError.notRunning }
        let change = running.calibrations.set(calibration)
        running.exchange.request { $0.calibration = change }
        try running.calibrations.save()
    }

    /// Forgets the calibration of the chip, the estimated bias and scale too.
    ///
    /// - Throws: `notRunning`, or `notWritten`: the calibration is then no longer in force, and removing it is retried.
    public func clearCalibration() throws(CalibrationStoreError) {
        try setCalibration(StoredCalibration())
    }
}
