internal import IMUDrivers
internal import LinuxSensors
internal import MotionCore
internal import Synchronization

/// The sensor thread's work: poll the device, put its samples through the pipeline, hand on what comes of it.
///
/// Nothing here publishes, allocates or waits for another thread.
struct SensorLoop: ~Copyable {
    private let device: any SensorDevice
    private let exchange: SensorExchange
    private let sampleListeners: Listeners<[MotionSample]>
    private let measuredListeners: Listeners<[MeasuredSample]>
    private let nearMissListeners: Listeners<NearMiss>
    private let clock = SystemClock()
    private var pipeline: MotionPipeline
    private var batch = SampleBatch(capacity: 128)
    private var seenOrders = 0
    private var updateInterval: Double
    private var nextUpdate = Timestamp(nanoseconds: .min)
    private var reference: Quaternion?
    private var hasSamples = false
    /// Samples that went through the pipeline.
    private var count: UInt64 = 0
    /// A reference is to be taken and there has been no sample to take it from.
    private var owedReference: ReferenceOrder?
    /// When the present rest is told, where it lasts.
    private var nextRestReport: Timestamp?
    /// When it is told next what is known of the gyroscope's scale, and beyond which calibration that is.
    private var nextScaleReport: Timestamp?
    private var calibrationRevision: Int

    /// Seconds of rest between two reports: long enough for the filter to have found the bias.
    private static let restInterval = 10.0

    /// Seconds between two reports of the gyroscope's scale, which is learnt in minutes.
    private static let scaleInterval = 60.0

    /// No update interval is longer, seconds: an instant has to be told from it, also where somebody asks for infinity.
    private static let longestUpdateInterval = 1e6

    init(
        device: any SensorDevice, exchange: SensorExchange, handlers: Handlers, settings: MotionSettings,
        silenced: GestureSet, storedReference: Quaternion?, calibration: CalibrationOrder, updateInterval: Double
    ) {
        self.device = device
        self.exchange = exchange
        sampleListeners = handlers.samples
        measuredListeners = handlers.measured
        nearMissListeners = handlers.nearMisses
        let info = device.info
        var untold: UntoldRanges = []
        if info.accelerometerRange.isInfinite { untold.insert(.accelerometer) }
        if info.gyroscopeRange.isInfinite { untold.insert(.gyroscope) }
        pipeline = MotionPipeline(
            settings: device.effective(settings), storedReference: storedReference, calibration: calibration.chip,
            learntScale: calibration.learntScale, untoldRanges: untold)
        pipeline.silenced = silenced
        calibrationRevision = calibration.revision
        reference = pipeline.reference.attitude
        self.updateInterval = SensorLoop.usable(updateInterval)
    }

    /// Runs until the exchange says stop, then cancels open gestures and puts the chip to sleep.
    mutating func run() {
        while !exchange.shouldStop.load(ordering: .acquiring) {
            exchange.turns.add(1, ordering: .relaxed)
            follow()
            let poll = device.poll(into: &batch)
            // A stream that begins or goes on is told before its samples, one that ends after them.
            if case .failed = poll.event {
                process()
                tell(poll.event)
            } else {
                tell(poll.event)
                process()
            }
            tellReference()
            exchange.show(state: hasSamples ? pipeline.state : nil, status: device.status, info: device.info)
            exchange.sensorWake.wait(seconds: poll.next.seconds(since: clock.now()))
        }
        // What was ordered just before the stop holds, too: a reference that is to be kept, say.
        follow()
        tellReference()
        if hasSamples { tellScale() }
        let exchange = self.exchange
        pipeline.cancelGestures(.stopped) { exchange.post(.gesture($0)) }
        var failure: BusError?
        do throws(BusError) { try device.stop() } catch { failure = error }
        if let failure { exchange.post(.sensor(.failed(.bus(failure)), at: clock.now())) }
        exchange.show(state: nil, status: device.status, info: device.info)
        exchange.hasLeftDevice.store(true, ordering: .releasing)
        exchange.hasStopped.store(true, ordering: .releasing)
        exchange.deliveryWake.signal()
    }

    /// Carries out what was ordered since the last batch.
    private mutating func follow() {
        guard let orders = exchange.newOrders(since: &seenOrders) else { return }
        if let settings = orders.settings { apply(settings, storedReference: orders.storedReference) }
        if let silenced = orders.silenced { pipeline.silenced = silenced }
        if let calibration = orders.calibration {
            let exchange = self.exchange
            pipeline.apply(calibration.chip, learntScale: calibration.learntScale) { exchange.post(.gesture($0)) }
            calibrationRevision = calibration.revision
            nextRestReport = nil
            nextScaleReport = nil
        }
        if let interval = orders.updateInterval {
            updateInterval = SensorLoop.usable(interval)
            // The next state is handed on with the next sample, however long the old interval was.
            nextUpdate = Timestamp(nanoseconds: .min)
        }
        if let order = orders.reference {
            owedReference = order
            followReference()
        }
        exchange.deliveryWake.signal()
    }

    /// Takes or clears the reference as was ordered, as soon as there is an attitude to take.
    private mutating func followReference() {
        switch owedReference {
        case .take where hasSamples: pipeline.takeReference()
        case .takeHeading where hasSamples: pipeline.takeReference(headingOnly: true)
        case .take, .takeHeading: return
        case .clear: pipeline.clearReference()
        case nil: break
        }
        owedReference = nil
    }

    private mutating func apply(_ settings: MotionSettings, storedReference: Quaternion?) {
        let exchange = self.exchange
        let oldPolicy = pipeline.settings.reference
        pipeline.apply(device.effective(settings), storedReference: storedReference) { exchange.post(.gesture($0)) }
        guard settings.reference == .stored, oldPolicy != .stored else { return }
        if let attitude = pipeline.reference.attitude, attitude != storedReference {
            // The reference in force is the one last taken: from now on it is kept.
            exchange.post(.reference(ReferenceChange(attitude: attitude, isKept: true)))
        }
        // What came from where references are kept, or was just sent there, is no news.
        reference = pipeline.reference.attitude
    }

    /// The interval as it can be used: neither a number below zero nor one that is none gets past the comparison.
    private static func usable(_ interval: Double) -> Double {
        interval > 0 ? min(interval, longestUpdateInterval) : 0
    }

    /// Puts the batch through the pipeline.
    private mutating func process() {
        guard !batch.isEmpty else { return }
        let exchange = self.exchange
        let wantsSamples = !sampleListeners.isEmpty
        let wantsMeasured = !measuredListeners.isEmpty
        var isNews = wantsSamples || wantsMeasured
        pipeline.explainsNearMisses = !nearMissListeners.isEmpty
        for index in 0..<batch.count {
            let sample = batch[index]
            pipeline.process(sample) { event in
                exchange.post(.gesture(event))
                isNews = true
            }
            while let miss = pipeline.takeNearMiss() {
                exchange.post(.nearMiss(miss))
                isNews = true
            }
            if wantsSamples, !exchange.samples.push(sample) { exchange.droppedSamples.add(1, ordering: .relaxed) }
            if wantsMeasured, !exchange.measured.push(MeasuredSample(number: count, sample, in: pipeline)) {
                exchange.droppedSamples.add(1, ordering: .relaxed)
            }
            count += 1
            if sample.timestamp >= nextUpdate {
                // On a grid of its own, so that a rate of 10 Hz stays one whatever the sample rate.
                let next = nextUpdate.advanced(bySeconds: updateInterval)
                nextUpdate = next > sample.timestamp ? next : sample.timestamp.advanced(bySeconds: updateInterval)
                exchange.states.push(pipeline.state)
                isNews = true
            }
        }
        batch.removeAll()
        hasSamples = true
        followReference()
        if isNews { exchange.deliveryWake.signal() }
        reportRest()
        reportScale()
    }

    /// Tells what a long rest teaches of the gyroscope's bias, a few times a minute.
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
        exchange.post(.rest(RestReport(bias: bias, temperature: state.temperature, time: state.timestamp)))
        exchange.deliveryWake.signal()
    }

    /// Tells from time to time what movement has taught of the gyroscope's scale.
    private mutating func reportScale() {
        let time = pipeline.state.timestamp
        if let next = nextScaleReport, time >= next { tellScale() }
        guard nextScaleReport.map({ time >= $0 }) ?? true else { return }
        nextScaleReport = time.advanced(bySeconds: SensorLoop.scaleInterval)
    }

    private mutating func tellScale() {
        let estimate = pipeline.learntScale
        let time = pipeline.state.timestamp
        exchange.post(.scale(ScaleReport(estimate: estimate, revision: calibrationRevision, time: time)))
        exchange.deliveryWake.signal()
    }

    /// Hands on the reference where it has changed.
    private mutating func tellReference() {
        guard pipeline.reference.attitude != reference else { return }
        reference = pipeline.reference.attitude
        let isKept = pipeline.settings.reference == .stored
        exchange.post(.reference(ReferenceChange(attitude: reference, isKept: isKept)))
        exchange.deliveryWake.signal()
    }

    /// Hands on what the driver has to tell; a lost sensor cancels what is open.
    private mutating func tell(_ event: SensorEvent) {
        let exchange = self.exchange
        switch event {
        case .none:
            return
        case .failed:
            pipeline.cancelGestures(.sensorLost) { exchange.post(.gesture($0)) }
        case .gap, .streaming:
            break
        }
        exchange.post(.sensor(event, at: clock.now()))
        exchange.deliveryWake.signal()
    }
}
