internal import IMUDrivers
internal import LinuxSensors
internal import MotionCore
internal import Synchronization

/// The sensor thread's work: polls the device, runs its samples through the pipeline and queues the results.
///
/// Nothing here publishes or waits for another thread. Nothing allocates, except when settings or recognizers change.
struct SensorLoop: ~Copyable {
    private let device: any SensorDevice
    private let exchange: SensorExchange
    private let handlers: Handlers
    private let clock = SystemClock()
    private var pipeline: MotionPipeline
    private var batch = SampleBatch(capacity: 128)
    private var policy = BatchPolicy()
    private var seenRequests = 0
    /// Seconds between two states, as `MotionHandlers.takeIntervals` limits them; 0 for every sample.
    private var intervals: UpdateIntervals
    private var updates = UpdateSchedule()
    /// The states at rest, of those above.
    private var restingUpdates = UpdateSchedule()
    /// The reference as it was last reported.
    private var reference: Quaternion?
    private var hasSamples = false
    /// The pipeline's fault as it was last reported.
    private var fault: MeasurementFault?
    /// The last sample that was used before the fault.
    private var lastUsed = Timestamp(nanoseconds: 0)
    /// Samples processed so far.
    private var count: UInt64 = 0
    /// A request that waits for the first sample.
    private var pendingReference: ReferenceRequest?
    /// When the bias is reported next, if the sensor is still at rest.
    private var nextRestReport: Timestamp?
    /// When the gyroscope's scale is reported next, and the calibration that it belongs to.
    private var nextScaleReport: Timestamp?
    private var calibrationRevision: Int
    /// When what was learnt about the machine is kept next.
    private var nextMachineReport: Timestamp?

    /// Seconds of rest between two reports: long enough for the filter to estimate the bias.
    private static let restInterval = 10.0

    /// Seconds between two reports of the gyroscope's scale, which takes minutes to estimate.
    private static let scaleInterval = 60.0

    /// Seconds between two looks at what is learnt about the machine, without an occasion.
    private static let machineInterval = 600.0

    init(
        device: any SensorDevice, exchange: SensorExchange, handlers: Handlers, settings: MotionSettings,
        silenced: GestureSet, variants: [GestureVariant], learned: LearnedGestures?, storedReference: Quaternion?,
        calibration: CalibrationChange, intervals: UpdateIntervals, machine: MachineKnowledge, openVibration: Double?
    ) {
        self.device = device
        self.exchange = exchange
        self.handlers = handlers
        let info = device.info
        var unknown: UnknownRanges = []
        if info.accelerometerRange.isInfinite { unknown.insert(.accelerometer) }
        if info.gyroscopeRange.isInfinite { unknown.insert(.gyroscope) }
        pipeline = MotionPipeline(
            settings: device.effective(settings), storedReference: storedReference, calibration: calibration.chip,
            learntScale: calibration.learntScale, magnetometer: calibration.magnetometer ?? MagneticCalibration(),
            unknownRanges: unknown)
        pipeline.silenced = silenced
        pipeline.noiseDensity = info.noiseDensity
        machine.restore(&pipeline)
        if let openVibration { pipeline.resumeVibration(after: openVibration) }
        if !variants.isEmpty { pipeline.apply(variants) { _ in } }
        pipeline.apply(learned)
        calibrationRevision = calibration.revision
        reference = pipeline.reference.attitude
        self.intervals = intervals
    }

    /// Runs until a stop is requested, then cancels open gestures and puts the chip to sleep.
    mutating func run() {
        while !exchange.shouldStop.load(ordering: .acquiring) {
            exchange.loopCount.add(1, ordering: .relaxed)
            applyRequests()
            let poll = device.poll(into: &batch)
            // The start of a stream is reported before its samples, the end after them.
            if case .failed = poll.event {
                process()
                report(poll.event)
            } else {
                report(poll.event)
                process()
            }
            reportFault()
            reportReference()
            exchange.show(
                state: hasSamples ? pipeline.state : nil, of: device, fault: fault, restingForce: pipeline.restingForce)
            let now = clock.now()
            let next = policy.next(after: poll, &pipeline, wantsSamples: wantsSamples, at: now)
            exchange.sensorWake.wait(seconds: next.seconds(since: now))
        }
        // Requests made just before the stop count too: a reference to store, for example.
        applyRequests()
        reportReference()
        if hasSamples { postScale() }
        let exchange = self.exchange
        exchange.keepMachine(of: &pipeline)
        pipeline.cancelGestures(.stopped) { exchange.post(.gesture($0)) }
        do { try device.stop() } catch { exchange.post(.sensor(.failed(.bus(error)), at: clock.now())) }
        exchange.show(state: nil, of: device)
        exchange.hasLeftDevice.store(true, ordering: .releasing)
        exchange.hasStopped.store(true, ordering: .releasing)
        exchange.deliveryWake.signal()
    }

    /// Whether somebody wants every sample, or states more often than the long pauses would bring them. It changes nothing;
    /// but for a getter that does not say so, the loop with its pipeline is copied.
    private var wantsSamples: Bool {
        mutating get {
            // Copies: Swift 6.0.3 crashes when a stored reference of a noncopyable value is read behind `&&`.
            let (handlers, interval) = (handlers, intervals.moving)
            return !(handlers.samples.isEmpty && handlers.measured.isEmpty && handlers.fields.isEmpty)
                || interval <= IMUSettings.restingBatch
        }
    }

    /// Applies the requests since the last batch.
    private mutating func applyRequests() {
        // Asked first, because copying no requests takes as long as copying some.
        guard exchange.hasRequests(since: seenRequests),
            let requests = exchange.newRequests(since: &seenRequests)
        else { return }
        if let settings = requests.settings { apply(settings, storedReference: requests.storedReference) }
        if let variants = requests.variants {
            let exchange = self.exchange
            pipeline.apply(variants) { exchange.post(.gesture($0)) }
        }
        if let learned = requests.learned { pipeline.apply(learned) }
        if let silenced = requests.silenced { pipeline.silenced = silenced }
        if let calibration = requests.calibration {
            let exchange = self.exchange
            pipeline.apply(
                calibration.chip, learntScale: calibration.learntScale,
                magnetometer: calibration.magnetometer ?? MagneticCalibration()
            ) { exchange.post(.gesture($0)) }
            calibrationRevision = calibration.revision
            nextRestReport = nil
            nextScaleReport = nil
        }
        if let intervals = requests.intervals {
            self.intervals = intervals
            // The next sample brings a state, however long the old interval was.
            updates = UpdateSchedule()
            restingUpdates = UpdateSchedule()
        }
        if let statement = requests.machine, hasSamples {
            let exchange = self.exchange
            pipeline.learn(statement) { exchange.post(.gesture($0)) }
            reportMachine(isRequired: true)
        }
        if let request = requests.reference {
            pendingReference = request
            changeReference()
        }
        exchange.deliveryWake.signal()
    }

    /// Takes or clears the reference as requested, as soon as there is an attitude.
    private mutating func changeReference() {
        switch pendingReference {
        case .take where hasSamples: pipeline.takeReference()
        case .takeHeading where hasSamples: pipeline.takeReference(headingOnly: true)
        case .take, .takeHeading: return
        case .clear: pipeline.clearReference()
        case nil: break
        }
        pendingReference = nil
    }

    private mutating func apply(_ settings: MotionSettings, storedReference: Quaternion?) {
        let exchange = self.exchange
        let oldPolicy = pipeline.settings.reference
        pipeline.apply(device.effective(settings), storedReference: storedReference) { exchange.post(.gesture($0)) }
        guard settings.reference == .stored, oldPolicy != .stored else { return }
        if let attitude = pipeline.reference.attitude, attitude != storedReference {
            // The present reference was taken before the policy changed: it is stored from now on.
            exchange.post(
                .reference(ReferenceChange(attitude: attitude, origin: pipeline.reference.origin, isStored: true)))
        }
        // A reference that came from the store, or has just been sent there, is not reported.
        reference = pipeline.reference.attitude
    }

    /// Runs the batch through the pipeline, and the readings of the magnetometer.
    private mutating func process() {
        let exchange = self.exchange
        let wantsFields = !handlers.fields.isEmpty
        while let field = device.takeField() {
            pipeline.process(field)
            exchange.memory?.append(field)
            if wantsFields, !exchange.fields.push(field) { exchange.droppedSamples.add(1, ordering: .relaxed) }
        }
        guard !batch.isEmpty else { return }
        exchange.memory?.append(batch)
        let wantsSamples = !handlers.samples.isEmpty
        let wantsMeasured = !handlers.measured.isEmpty
        var hasOutput = wantsSamples || wantsMeasured
        pipeline.explainsNearMisses = !handlers.nearMisses.isEmpty
        for index in 0..<batch.count {
            let sample = batch[index]
            pipeline.process(sample) { event in
                exchange.post(.gesture(event))
                hasOutput = true
            }
            while let miss = pipeline.takeNearMiss() {
                exchange.post(.nearMiss(miss))
                hasOutput = true
            }
            if wantsSamples, !exchange.samples.push(sample) { exchange.droppedSamples.add(1, ordering: .relaxed) }
            defer { count += 1 }
            guard pipeline.fault == nil else { continue }
            if wantsMeasured, !exchange.measured.push(MeasuredSample(number: count, sample, in: pipeline)) {
                exchange.droppedSamples.add(1, ordering: .relaxed)
            }
            if updates.isDue(at: sample.timestamp, interval: intervals.moving),
                !policy.isResting || restingUpdates.isDue(at: sample.timestamp, interval: intervals.resting)
            {
                exchange.states.push(pipeline.state)
                hasOutput = true
            }
        }
        batch.removeAll()
        hasSamples = true
        changeReference()
        if hasOutput { exchange.deliveryWake.signal() }
        reportRest()
        reportScale()
        reportMachine()
    }

    /// Reports how the machine is, when there is something to report, and keeps what was learnt about it.
    private mutating func reportMachine(isRequired: Bool = false) {
        let time = pipeline.state.timestamp
        let report = pipeline.takeMachineReport()
        guard isRequired || report != nil || (nextMachineReport.map { time >= $0 } ?? true) else { return }
        nextMachineReport = time.advanced(bySeconds: SensorLoop.machineInterval)
        exchange.keepMachine(of: &pipeline)
        exchange.send(.machine(report ?? pipeline.machineReport))
    }

    /// Reports the gyroscope's bias during a long rest, a few times a minute.
    private mutating func reportRest() {
        let state = pipeline.state
        guard state.isAtRest else {
            nextRestReport = nil
            return
        }
        guard let next = nextRestReport else {
            nextRestReport = state.timestamp.advanced(bySeconds: SensorLoop.restInterval)
            return
        }
        guard state.timestamp >= next else { return }
        nextRestReport = state.timestamp.advanced(bySeconds: SensorLoop.restInterval)
        let bias = pipeline.calibration.sensorReading(ofRate: state.gyroscopeBias, temperature: state.temperature)
        exchange.send(.rest(RestReport(bias: bias, temperature: state.temperature, time: state.timestamp)))
    }

    /// Reports the estimate of the gyroscope's scale once a minute.
    private mutating func reportScale() {
        let time = pipeline.state.timestamp
        if let next = nextScaleReport, time >= next { postScale() }
        guard nextScaleReport.map({ time >= $0 }) ?? true else { return }
        nextScaleReport = time.advanced(bySeconds: SensorLoop.scaleInterval)
    }

    private mutating func postScale() {
        let estimate = pipeline.learntScale
        let time = pipeline.state.timestamp
        exchange.send(.scale(ScaleReport(estimate: estimate, revision: calibrationRevision, time: time)))
    }

    /// Reports readings that cannot be measurements as a loss of the sensor, and their end as its return.
    private mutating func reportFault() {
        guard pipeline.fault != fault else { return }
        // The state belongs to the last sample that was used.
        let time = pipeline.state.timestamp
        if let found = pipeline.fault {
            if fault == nil { lastUsed = time }
            exchange.send(.sensor(.failed(.measurement(found)), at: clock.now()))
        } else {
            exchange.send(.sensor(.streaming(afterGap: time.seconds(since: lastUsed)), at: clock.now()))
        }
        fault = pipeline.fault
    }

    /// Reports the reference if it has changed.
    private mutating func reportReference() {
        guard pipeline.reference.attitude != reference else { return }
        reference = pipeline.reference.attitude
        let isStored = pipeline.settings.reference == .stored
        exchange.send(
            .reference(ReferenceChange(attitude: reference, origin: pipeline.reference.origin, isStored: isStored)))
    }

    /// Passes on an event of the driver; losing the sensor cancels open gestures.
    private mutating func report(_ event: SensorEvent) {
        let exchange = self.exchange
        switch event {
        case .none:
            return
        case .failed:
            pipeline.cancelGestures(.sensorLost) { exchange.post(.gesture($0)) }
        case .streaming where fault != nil:
            // It is not used yet.
            return
        case .gap, .streaming:
            break
        }
        exchange.send(.sensor(event, at: clock.now()))
    }
}

/// Decides when the sensor thread polls next: soon while something happens, later at rest.
///
/// The first sign of movement ends the long pauses at once. They begin again only after a second without one, so that noise
/// does not make them alternate.
struct BatchPolicy: Sendable, BitwiseCopyable {
    /// Seconds without activity before a long pause.
    static let calm = 1.0

    /// Since when there has been no activity.
    private var calmSince: Timestamp?
    /// Whether the last pause was a long one.
    private(set) var isResting = false

    /// When to poll next, after a poll at `now` and its samples, which the pipeline has processed.
    mutating func next(
        after poll: IMUPoll, _ pipeline: inout MotionPipeline, wantsSamples: Bool, at now: Timestamp
    ) -> Timestamp {
        let isActive = !pipeline.takeStillness() || pipeline.expectsGesture() || wantsSamples
        return next(after: poll, isActive: isActive, at: now)
    }

    /// When to poll next, after a poll at `now` that did or did not show activity.
    mutating func next(after poll: IMUPoll, isActive: Bool, at now: Timestamp) -> Timestamp {
        guard !isActive else {
            calmSince = nil
            isResting = false
            return poll.next
        }
        let since = calmSince ?? now
        calmSince = since
        isResting = now.seconds(since: since) >= BatchPolicy.calm
        guard isResting else { return poll.next }
        return poll.next.advanced(bySeconds: poll.reprieve)
    }
}
