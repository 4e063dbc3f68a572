/// The path of a sample through the core. Read this file first.
///
/// `process(_:emit:)` takes a sample from a driver through these stages:
///
/// 1. `MeasurementCheck` finds what cannot be a measurement. `SensorCalibration` removes the chip's errors and rotates sensor
///    axes into body axes.
/// 2. `AttitudeFilter` estimates the attitude and the gyroscope's bias; with a magnetometer, `HeadingFilter` turns it to
///    north.
/// 3. `ReferenceAttitude` and the low-passes turn these into the published values: `state`.
/// 4. `GestureRecognizers` looks for gestures, which go to `emit`.
///
/// The pipeline knows no clock, no bus and no MQTT topic; the only time is that of the samples. After `init` it does
/// not allocate and does not block.
package struct MotionPipeline: ~Copyable {
    /// The result of the last sample.
    package private(set) var state = MotionState()

    /// The user's settings.
    package private(set) var settings: MotionSettings

    /// The reference attitude; `state.relativeAttitude` is relative to it.
    package private(set) var reference: ReferenceAttitude

    /// The mounting of the sensor and its chip's errors.
    package private(set) var calibration: SensorCalibration

    /// Why the samples are not used: what they show cannot be. `nil` while they are. Stored, because another module reads a
    /// computed property from a copy of the pipeline: twelve kilobytes for each sample.
    package private(set) var fault: MeasurementFault?

    /// Gyroscope scale and misalignment from earlier runs, sensor axes: what the filter started with.
    private var scalePrior: ScaleEstimate?

    private let unknownRanges: UnknownRanges
    private var accelerometerClipping = ClippingDetector.accelerometer
    private var gyroscopeClipping = ClippingDetector.gyroscope
    private var filter: AttitudeFilter
    private var heading: HeadingFilter
    private var magneticReadings = MagneticQueue()
    /// The errors of the magnetometer.
    private var magneticCalibration: MagneticCalibration
    /// The time of the last reading of the magnetometer that was used.
    private var lastReading: Timestamp?
    private var attitudeLowPass: AttitudeLowPass
    private var accelerationLowPass: VectorLowPass
    private var rotationRateLowPass: VectorLowPass
    private var gestures: GestureRecognizers
    private var variants = GestureVariants()
    private var check = MeasurementCheck()
    private var last: Timestamp?
    /// Seconds of samples since the last one that was used, and since the last one that could be part of a gesture.
    private var unusedTime = 0.0
    private var unrecognizedTime = 0.0
    /// Whether a sample since `takeStillness` has shown movement.
    private var hasMoved = false

    /// Creates a pipeline that has seen no samples.
    ///
    /// - Parameters:
    ///   - settings: the user's settings.
    ///   - storedReference: the reference attitude of an earlier run, for the policy `.stored`.
    ///   - calibration: the errors of the chip that delivers the samples.
    ///   - learntScale: the gyroscope's scale and misalignment beyond `calibration` that earlier runs estimated, along
    ///     the sensor's axes, with their deviations.
    ///   - magnetometer: the errors of the magnetometer, if there is one.
    ///   - unknownRanges: the sensors whose ranges are unknown, so that their samples carry no clipping flags.
    package init(
        settings: MotionSettings = MotionSettings(), storedReference: Quaternion? = nil,
        calibration: ChipCalibration = ChipCalibration(), learntScale: ScaleEstimate? = nil,
        magnetometer: MagneticCalibration = MagneticCalibration(), unknownRanges: UnknownRanges = []
    ) {
        self.settings = settings
        self.unknownRanges = unknownRanges
        self.calibration = SensorCalibration(mount: settings.mount, chip: calibration)
        scalePrior = learntScale
        filter = AttitudeFilter(scale: learntScale?.turned(by: settings.mount))
        magneticCalibration = magnetometer
        heading = HeadingFilter(calibratedField: magnetometer.place)
        attitudeLowPass = AttitudeLowPass(cutoff: settings.attitudeLowPass)
        accelerationLowPass = VectorLowPass(cutoff: settings.accelerationLowPass)
        rotationRateLowPass = VectorLowPass(cutoff: settings.rotationRateLowPass)
        gestures = GestureRecognizers(settings: settings.gestures)
        reference = ReferenceAttitude(policy: settings.reference, stored: storedReference)
    }

    /// The estimated scale and misalignment of the gyroscope beyond the calibration, along the sensor's axes. It does
    /// not depend on the mounting. Not usable before the first sample.
    package var learntScale: ScaleEstimate {
        filter.scaleEstimate.turned(by: calibration.mount.transposed)
    }

    /// Processes one sample along the sensor's axes and passes the resulting gestures to `emit`.
    ///
    /// Samples must arrive in the order of their timestamps. A sample that is not later than the previous one is
    /// ignored. While there is a `fault`, samples are not used, as if the sensor were lost.
    package mutating func process(_ raw: MotionSample, emit: (GestureEvent) -> Void) {
        var interval = 0.0
        if let last {
            guard raw.timestamp > last else { return }
            interval = raw.timestamp.seconds(since: last)
        }
        last = raw.timestamp

        let marked = unknownRanges.isEmpty ? raw : markClipped(raw)
        let isKnownFault = check.fault != nil
        let verdict = check.judge(marked, interval: interval, isAtRest: state.isAtRest)
        fault = check.fault
        interval += unusedTime
        if verdict == .impossible {
            hasMoved = true
            unusedTime = interval
            if !isKnownFault { forgetFault(emit: emit) }
            return
        }
        unusedTime = 0
        let sample = calibration.apply(marked)
        filter.update(sample, interval: interval)
        if !filter.isStill(sample) { hasMoved = true }
        let attitude = turnToNorth(filter.attitude, with: sample, interval: interval)
        if reference.isAwaitingRest {
            reference.update(
                attitude, acceleration: sample.acceleration, isAtRest: filter.isAtRest, interval: interval)
        }
        updateState(with: sample, attitude: attitude, interval: interval)
        if verdict == .doubtful {
            unrecognizedTime += interval
        } else {
            recognize(in: sample, interval: interval + unrecognizedTime, emit: emit)
            unrecognizedTime = 0
        }
    }

    /// Drops what came from impossible samples: the gestures, and the bias of a gyroscope that was none.
    private mutating func forgetFault(emit: (GestureEvent) -> Void) {
        cancelGestures(.sensorLost, emit: emit)
        if check.fault?.sensor == .gyroscope { restartFilter(scale: scalePrior) }
    }

    /// The length of the mean specific force of the present rest, m/s²; `nil` before 20 s of rest. It changes nothing; but for
    /// a getter that does not say so, another module copies the pipeline.
    package var restingForce: Double? {
        mutating get { fault == nil && filter.rest.quietTime >= Self.longRest ? filter.rest.meanForce.length : nil }
    }

    private static var longRest: Double { 20 }

    /// Runs the gesture recognizers on the sample.
    private mutating func recognize(in sample: MotionSample, interval: Double, emit: (GestureEvent) -> Void) {
        guard sample.acceleration.isFinite else { return }
        var input = GestureSample(
            timestamp: sample.timestamp, interval: interval, acceleration: sample.acceleration)
        if sample.rotationRate.isFinite, state.hasRotationRate {
            input.rotationRate = filter.rotationRate
            input.hasRotationRate = true
        }
        input.isClipped = !sample.flags.isDisjoint(with: .accelerationClipped)
        input.gravity = state.gravity
        input.referenceUp = reference.up
        input.isVerticalKnown = filter.isVerticalKnown
        input.isReferenceKnown = !reference.isAwaitingRest
        input.isMoving = filter.isMoving
        input.isAtRest = state.isAtRest
        gestures.update(input, emit: emit)
        if !variants.isEmpty { variants.update(input, emit: emit) }
        state.isMoving = gestures.isMoving
        state.isVibrating = gestures.isVibrating
        state.vibrationLevel = gestures.vibrationLevel
    }

    /// Adds clipping flags for the sensors whose ranges are unknown.
    private mutating func markClipped(_ raw: MotionSample) -> MotionSample {
        var axes: UInt16 = 0
        if unknownRanges.contains(.accelerometer) { axes |= accelerometerClipping.clippedAxes(raw.acceleration) }
        if unknownRanges.contains(.gyroscope) { axes |= gyroscopeClipping.clippedAxes(raw.rotationRate) << 3 }
        guard axes != 0 else { return raw }
        var marked = raw
        marked.flags.insert(MotionSample.Flags(clippedAxes: axes))
        return marked
    }

    /// Updates the published values.
    private mutating func updateState(with sample: MotionSample, attitude: Quaternion, interval: Double) {
        state.timestamp = sample.timestamp
        state.attitude = attitude
        state.relativeAttitude = reference.relative(attitudeLowPass.update(attitude, interval: interval))
        state.hasReference = reference.attitude != nil
        state.referenceUp = reference.up
        state.gravity = attitude.unrotate(Vector3(0, 0, standardGravity))
        state.gyroscopeBias = filter.gyroscopeBias
        state.deviation = filter.deviation
        state.isAtRest = filter.isAtRest
        if !sample.temperature.isNaN { state.temperature = sample.temperature }
        if sample.acceleration.isFinite {
            state.linearAcceleration = accelerationLowPass.update(
                sample.acceleration - state.gravity, interval: interval)
        }
        state.hasRotationRate = sample.flags.contains(.rotationRate)
        if sample.rotationRate.isFinite, state.hasRotationRate {
            state.rotationRate = rotationRateLowPass.update(filter.rotationRate, interval: interval)
        }
        // Hysteresis: the side changes only if another one is clearly more upward, so a board on its edge does not
        // flicker.
        let nearest = BodySide(nearestTo: state.gravity)
        if nearest != state.side,
            state.gravity.dot(nearest.direction) > state.gravity.dot(state.side.direction) + 0.15 * standardGravity
        {
            state.side = nearest
        }
    }
}

// MARK: - Commands, between samples

extension MotionPipeline {
    /// Makes the current attitude the reference, or its heading only, whatever the policy.
    package mutating func takeReference(headingOnly: Bool = false) {
        reference.take(state.attitude, headingOnly: headingOnly)
    }

    /// Removes the reference: the attitude is again relative to the vertical and the initial heading.
    package mutating func clearReference() {
        reference.clear()
    }

    /// Applies new settings between two samples.
    ///
    /// Whatever the settings do not change continues without a jump. A gesture in progress is cancelled if its
    /// recognizer is turned off. A new mounting restarts attitude and reference, since they belong to the old axes;
    /// scale and misalignment belong to the chip and are kept.
    ///
    /// If the policy changes to `.stored`, a reference that the user has taken stays in force, to be stored. Otherwise
    /// `storedReference`, the reference of an earlier run, comes into force.
    package mutating func apply(
        _ new: MotionSettings, storedReference: Quaternion? = nil, emit: (GestureEvent) -> Void
    ) {
        let old = settings
        let stored = new.reference == old.reference ? nil : storedReference
        settings = new
        attitudeLowPass.cutoff = new.attitudeLowPass
        accelerationLowPass.cutoff = new.accelerationLowPass
        rotationRateLowPass.cutoff = new.rotationRateLowPass
        if new.mount != old.mount {
            let known = learntScale
            restartAttitude(
                with: SensorCalibration(mount: new.mount, chip: calibration.chip),
                scale: known.isUsable ? known : scalePrior, storedReference: stored, emit: emit)
        } else if new.reference != old.reference {
            let present = reference.attitude
            let isTaken = present != nil && reference.origin == .request
            reference = ReferenceAttitude(policy: new.reference, stored: isTaken ? present : stored ?? present)
        }
        gestures.apply(new.gestures, at: state.timestamp, emit: emit)
    }

    /// Applies another calibration of the chip between two samples, with the scale and misalignment estimated beyond it
    /// (sensor axes), and of the magnetometer. Like a new mounting, this restarts attitude and reference.
    package mutating func apply(
        _ chip: ChipCalibration, learntScale: ScaleEstimate? = nil,
        magnetometer: MagneticCalibration = MagneticCalibration(), emit: (GestureEvent) -> Void
    ) {
        guard chip != calibration.chip || learntScale != scalePrior || magnetometer != magneticCalibration else {
            return
        }
        scalePrior = learntScale
        magneticCalibration = magnetometer
        restartAttitude(with: SensorCalibration(mount: settings.mount, chip: chip), scale: learntScale, emit: emit)
    }

    /// Restarts everything that depended on the old calibration or body axes; `scale` is along the sensor's axes.
    private mutating func restartAttitude(
        with calibration: SensorCalibration, scale: ScaleEstimate?, storedReference: Quaternion? = nil,
        emit: (GestureEvent) -> Void
    ) {
        self.calibration = calibration
        restartFilter(scale: scale)
        accelerationLowPass.reset()
        rotationRateLowPass.reset()
        cancelGestures(.interrupted, emit: emit)
        reference = ReferenceAttitude(policy: settings.reference, stored: storedReference)
    }

    /// Restarts the attitude and its heading; `scale` is along the sensor's axes.
    private mutating func restartFilter(scale: ScaleEstimate?) {
        filter = AttitudeFilter(scale: scale?.turned(by: calibration.mount))
        heading = HeadingFilter(calibratedField: magneticCalibration.place)
        magneticReadings.removeAll()
        lastReading = nil
        state.heading = nil
        attitudeLowPass.reset()
    }

    /// Takes up the run of a machine that an earlier run of the program has reported as begun, so many seconds ago. Call it
    /// before the first sample.
    package mutating func resumeVibration(after seconds: Double) {
        gestures.resumeVibration(after: seconds)
    }

    /// The accelerometer's noise, m/s²/√Hz per axis; `nil` if it is not known.
    package var noiseDensity: Double? {
        get { gestures.noiseDensity }
        set { gestures.noiseDensity = newValue }
    }

    /// In what the machine deviates from its earlier runs. It changes nothing; but for a getter that does not say so, another
    /// module copies the pipeline.
    package var machineDeviation: MachineDeviation? { mutating get { gestures.machineDeviation } }

    /// Takes up a deviation of the machine that an earlier run of the program has reported.
    package mutating func resumeMachine(_ deviation: MachineDeviation?) { gestures.resumeMachine(deviation) }

    /// Somebody says how the machine is now.
    package mutating func learn(_ now: MachineStatement, emit: (GestureEvent) -> Void) {
        gestures.learn(now, at: state.timestamp, emit: emit)
        state.isVibrating = gestures.isVibrating
    }

    /// How the machine is now.
    package var machineReport: MachineReport { mutating get { gestures.machineReport(at: state.timestamp) } }

    /// Removes and returns the last report of the machine.
    package mutating func takeMachineReport() -> MachineReport? { gestures.takeMachineReport() }

    /// Has what was learnt of the machine read or replaced.
    package mutating func withMachineMemory<R>(_ body: (inout MachineMemory) -> R) -> R {
        gestures.withMachineMemory(body)
    }

    /// Cancels every gesture in progress, for example because the source stopped or was lost. A machine runs on while it is
    /// lost.
    package mutating func cancelGestures(_ reason: CancellationReason, emit: (GestureEvent) -> Void) {
        gestures.cancel(reason, at: state.timestamp, emit: emit)
        variants.cancel(reason, at: state.timestamp, emit: emit)
    }

    /// Replaces the variants: further recognizers with settings of their own, whose events carry their number. Allocates.
    /// The gestures of a variant that is no longer among them are cancelled. Default: none.
    package mutating func apply(_ new: [GestureVariant], emit: (GestureEvent) -> Void) {
        variants.apply(new, silenced: silenced, at: state.timestamp, emit: emit)
    }

    /// Replaces the learned gestures; `nil` for none. Allocates.
    package mutating func apply(_ learned: LearnedGestures?) { gestures.apply(learned) }

    /// The score of the last learned gesture; `nil` before the first.
    package var learnedScore: LearnedScore? {
        mutating get { gestures.learnedScore }
    }

    /// Removes and returns what the last movement lacked to be a learned gesture. Call after each sample.
    package mutating func takeLearnedMiss() -> LearnedMiss? { gestures.takeLearnedMiss() }

    /// Has the frames recorded by which learned gestures are compared, for `takeFrame`. Allocates.
    package mutating func recordFrames() { gestures.recordFrames() }

    /// Removes and returns the oldest recorded frame.
    package mutating func takeFrame() -> SampledFrame? { gestures.takeFrame() }

    /// The gestures in progress.
    package var openGestures: GestureSet { gestures.open.union(variants.open) }

    /// Whether a gesture is in progress, or the current movement may become one.
    package mutating func expectsGesture() -> Bool { gestures.isExpecting() || variants.areExpecting() }

    /// Whether the sensor was still at every sample since the last call. It notices a movement sooner than `isMoving` and
    /// `isAtRest` of the state, some of which is noise.
    package mutating func takeStillness() -> Bool {
        defer { hasMoved = false }
        return !hasMoved
    }

    /// The gestures that may not begin now whatever the settings say, for example in quiet hours. The core has no
    /// clock, so the caller decides. Gestures in progress still end normally. This is not a setting: `apply` does not
    /// change it. Default: none.
    package var silenced: GestureSet {
        get { gestures.silenced }
        set {
            gestures.silenced = newValue
            variants.silence(newValue)
        }
    }

    /// Whether to keep near misses, movements that were almost gestures, for `takeNearMiss()`. Default: false.
    package var explainsNearMisses: Bool {
        get { gestures.explainsNearMisses }
        set { gestures.explainsNearMisses = newValue }
    }

    /// Removes and returns the oldest near miss. Call after each sample until it returns `nil`.
    package mutating func takeNearMiss() -> NearMiss? { gestures.takeNearMiss() }
}

// The magnetometer's part of the pipeline: readings meet the samples of their time, and turn the attitude to north.
extension MotionPipeline {
    /// Takes a reading of the magnetometer, along the sensor's axes, not calibrated. It is used with the first sample that is
    /// not earlier.
    ///
    /// From the first reading on, the attitude points to magnetic north: its x axis at yaw 0. Without readings, heading is
    /// zero at the start and drifts with the gyroscope.
    package mutating func process(_ reading: MagneticSample) {
        guard reading.field.isFinite else { return }
        magneticReadings.append(reading)
    }

    /// Turns the six-axis attitude to north, if there is a magnetometer.
    private mutating func turnToNorth(_ attitude: Quaternion, with sample: MotionSample, interval: Double) -> Quaternion
    {
        guard magneticReadings.count > 0 || state.heading != nil, sample.flags.contains(.rotationRate) else {
            return attitude
        }
        let rate = filter.rotationRate
        heading.follow(correction: filter.headingCorrection)
        heading.turn(rate: rate.length, interval: interval, lostAngle: lostAngle(sample, rate, interval))
        while let reading = magneticReadings.first, reading.timestamp <= sample.timestamp {
            magneticReadings.removeFirst()
            take(reading, attitude: attitude, rate: rate, at: sample.timestamp)
        }
        guard let found = heading.state else { return attitude }
        // The first one turns the attitude at once.
        if state.heading == nil { attitudeLowPass.reset() }
        state.heading = found
        return Quaternion(angle: heading.offset, axis: Vector3(0, 0, 1)) * attitude
    }

    private mutating func take(_ reading: MagneticSample, attitude: Quaternion, rate: Vector3, at time: Timestamp) {
        let since = lastReading.map { reading.timestamp.seconds(since: $0) } ?? 0
        guard since > 0 || lastReading == nil else { return }
        lastReading = reading.timestamp
        // As long as the vertical is not known, neither is the horizontal direction of the field.
        guard filter.isVerticalKnown else { return }
        let field = calibration.mount * magneticCalibration.apply(reading.field)
        // One from a gap shows a heading that the board has left.
        let earlier = time.seconds(since: reading.timestamp)
        guard earlier <= filter.longestInterpolation else { return }
        heading.take(
            field, attitude: attitude * Quaternion(rotationVector: -earlier * rate), rate: rate, interval: since,
            drift: filter.gyroscopeBiasDeviation)
    }

    /// By how much the gyroscope may have missed the heading since the sample before, rad.
    private mutating func lostAngle(_ sample: MotionSample, _ rate: Vector3, _ interval: Double) -> Double {
        if interval > filter.longestInterpolation { return min(.pi, filter.deviationInGap(rate.length) * interval) }
        return sample.flags.isDisjoint(with: .rotationRateClipped) ? 0 : Self.clippedRate * interval
    }

    /// How much faster than its range a gyroscope that is clipped may turn, rad/s.
    private static var clippedRate: Double { 3 }
}

/// Readings of a magnetometer that wait for the motion samples of their time, in memory that is fixed at `init`.
private struct MagneticQueue: ~Copyable {
    /// Three seconds of readings: longer than a batch of samples.
    static var capacity: Int { 64 }

    private let readings = FixedBuffer<MagneticSample>(count: MagneticQueue.capacity)
    private var start = 0
    private(set) var count = 0

    /// The oldest reading.
    var first: MagneticSample? { count > 0 ? readings[start] : nil }

    /// Adds a reading. If the queue is full, the oldest one is lost.
    mutating func append(_ reading: MagneticSample) {
        if count == Self.capacity { removeFirst() }
        readings[(start + count) % Self.capacity] = reading
        count += 1
    }

    mutating func removeFirst() {
        guard count > 0 else { return }
        start = (start + 1) % Self.capacity
        count -= 1
    }

    mutating func removeAll() { count = 0 }
}
