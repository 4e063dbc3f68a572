/// The way of a sample through the core: axes, attitude, what is published of it, and gestures.
///
/// This is the file to read first. A driver's sample goes through `SensorCalibration` into the body's axes,
/// `AttitudeFilter` turns it into attitude and bias, `ReferenceAttitude` and the low-passes make of that what a user
/// sees, and the recognizers look for gestures. The pipeline knows no clock, no bus and no topic: time is what the
/// samples say. After `init` it allocates nothing and waits for nobody.
package struct MotionPipeline: ~Copyable {
    /// What is known after the last sample.
    package private(set) var state = MotionState()

    /// What the user set.
    package private(set) var settings: MotionSettings

    /// The reference attitude, from which `state.relativeAttitude` is told.
    package private(set) var reference: ReferenceAttitude

    /// How the sensor is mounted, and its chip's errors.
    package private(set) var calibration: SensorCalibration

    /// What earlier runs learnt of the gyroscope's scale and misalignment, sensor axes: what the filter began with.
    private var scalePrior: ScaleEstimate?

    private let untoldRanges: UntoldRanges
    private var accelerometerClipping = ClippingDetector.accelerometer
    private var gyroscopeClipping = ClippingDetector.gyroscope
    private var filter: AttitudeFilter
    private var attitudeLowPass: AttitudeLowPass
    private var accelerationLowPass: VectorLowPass
    private var rotationRateLowPass: VectorLowPass
    private var gestures: GestureRecognizers
    private var variants = GestureVariants()
    private var last: Timestamp?

    /// Makes a pipeline that has seen no sample.
    ///
    /// - Parameters:
    ///   - settings: what the user set.
    ///   - storedReference: the reference attitude of an earlier run, for the policy `.stored`.
    ///   - calibration: the errors of the chip that the samples come from.
    ///   - learntScale: what earlier runs learnt of the gyroscope's scale and misalignment beyond `calibration`, along the
    ///     sensor's axes, and how far that is to be trusted.
    ///   - untoldRanges: the sensors whose samples do not say where they were cut off.
    package init(
        settings: MotionSettings = MotionSettings(), storedReference: Quaternion? = nil,
        calibration: ChipCalibration = ChipCalibration(), learntScale: ScaleEstimate? = nil,
        untoldRanges: UntoldRanges = []
    ) {
        self.settings = settings
        self.untoldRanges = untoldRanges
        self.calibration = SensorCalibration(mount: settings.mount, chip: calibration)
        scalePrior = learntScale
        filter = AttitudeFilter(scale: learntScale?.turned(by: settings.mount))
        attitudeLowPass = AttitudeLowPass(cutoff: settings.attitudeLowPass)
        accelerationLowPass = VectorLowPass(cutoff: settings.accelerationLowPass)
        rotationRateLowPass = VectorLowPass(cutoff: settings.rotationRateLowPass)
        gestures = GestureRecognizers(settings: settings.gestures)
        reference = ReferenceAttitude(policy: settings.reference, stored: storedReference)
    }

    /// What is known of the gyroscope's scale and misalignment beyond the calibration, along the sensor's axes: another
    /// mounting does not change it. Nothing that can be used before the first sample.
    package var learntScale: ScaleEstimate {
        filter.scaleEstimate.turned(by: calibration.mount.transposed)
    }

    /// Takes one sample along the sensor's axes and hands the gestures that it brings about to `emit`.
    ///
    /// Samples come in the order of their timestamps; one that is not later than the one before is left out.
    package mutating func process(_ raw: MotionSample, emit: (GestureEvent) -> Void) {
        var interval = 0.0
        if let last {
            guard raw.timestamp > last else { return }
            interval = raw.timestamp.seconds(since: last)
        }
        last = raw.timestamp

        let sample = calibration.apply(untoldRanges.isEmpty ? raw : markClipped(raw))
        filter.update(sample, interval: interval)
        let attitude = filter.attitude
        if reference.isAwaitingRest {
            reference.update(
                attitude, acceleration: sample.acceleration, isAtRest: filter.isAtRest, interval: interval)
        }
        updateState(with: sample, attitude: attitude, interval: interval)
        recognize(in: sample, interval: interval, emit: emit)
    }

    /// Looks for gestures in the sample.
    private mutating func recognize(in sample: MotionSample, interval: Double, emit: (GestureEvent) -> Void) {
        guard sample.acceleration.isFinite else { return }
        var input = GestureSample(
            timestamp: sample.timestamp, interval: interval, acceleration: sample.acceleration)
        if sample.rotationRate.isFinite, state.hasRotationRate {
            input.rotationRate = filter.rotationRate
            input.hasRotationRate = true
        }
        input.isClipped = !sample.flags.isDisjoint(with: .accelerationClipped)
        input.attitude = state.attitude
        input.gravity = state.gravity
        input.referenceUp = reference.up
        input.isMoving = filter.isMoving
        input.isAtRest = state.isAtRest
        gestures.update(input, emit: emit)
        if !variants.isEmpty { variants.update(input, emit: emit) }
        state.isMoving = gestures.isMoving
        state.isVibrating = gestures.isVibrating
        state.vibrationLevel = gestures.vibrationLevel
    }

    /// The sample with the flags of what was cut off, where the source did not tell.
    private mutating func markClipped(_ raw: MotionSample) -> MotionSample {
        var axes: UInt16 = 0
        if untoldRanges.contains(.accelerometer) { axes |= accelerometerClipping.clippedAxes(raw.acceleration) }
        if untoldRanges.contains(.gyroscope) { axes |= gyroscopeClipping.clippedAxes(raw.rotationRate) << 3 }
        guard axes != 0 else { return raw }
        var marked = raw
        marked.flags.insert(MotionSample.Flags(clippedAxes: axes))
        return marked
    }

    /// Works out what a user sees of the sample.
    private mutating func updateState(with sample: MotionSample, attitude: Quaternion, interval: Double) {
        state.timestamp = sample.timestamp
        state.attitude = attitude
        state.relativeAttitude = reference.relative(attitudeLowPass.update(attitude, interval: interval))
        state.hasReference = reference.attitude != nil
        state.referenceUp = reference.up
        state.gravity = attitude.unrotate(Vector3(0, 0, standardGravity))
        state.gyroscopeBias = filter.gyroscopeBias
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
        // A side is left only where another one is clearly more up, so that a board on an edge does not flicker.
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
    /// Makes the present attitude the reference, or its heading alone, whatever the policy.
    package mutating func takeReference(headingOnly: Bool = false) {
        reference.take(state.attitude, headingOnly: headingOnly)
    }

    /// Tells attitude from the vertical and the start's heading again.
    package mutating func clearReference() {
        reference.clear()
    }

    /// Takes over new settings between two samples. What they do not touch goes on without a jump; a gesture under way
    /// is cancelled where its recognizer is switched off. Another mounting begins attitude and reference anew, since
    /// what was found and taken belongs to the old axes; scale and misalignment are the chip's and stay.
    ///
    /// Where the policy becomes `.stored`, a reference that was taken is the one to store; else `storedReference` comes in
    /// force, the one of an earlier run.
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
            beginAnew(
                with: SensorCalibration(mount: new.mount, chip: calibration.chip),
                scale: known.isUsable ? known : scalePrior, storedReference: stored, emit: emit)
        } else if new.reference != old.reference {
            let present = reference.attitude
            let isTaken = present != nil && reference.origin == .request
            reference = ReferenceAttitude(policy: new.reference, stored: isTaken ? present : stored ?? present)
        }
        gestures.apply(new.gestures, at: state.timestamp, emit: emit)
    }

    /// Takes over another calibration of the chip between two samples, with what was learnt of scale and misalignment
    /// beyond it (sensor axes). It begins attitude and reference anew, as another mounting does.
    package mutating func apply(
        _ chip: ChipCalibration, learntScale: ScaleEstimate? = nil, emit: (GestureEvent) -> Void
    ) {
        guard chip != calibration.chip || learntScale != scalePrior else { return }
        scalePrior = learntScale
        beginAnew(with: SensorCalibration(mount: settings.mount, chip: chip), scale: learntScale, emit: emit)
    }

    /// Forgets what was found and taken in axes that are the body's no more; `scale` is along the sensor's.
    private mutating func beginAnew(
        with calibration: SensorCalibration, scale: ScaleEstimate?, storedReference: Quaternion? = nil,
        emit: (GestureEvent) -> Void
    ) {
        self.calibration = calibration
        filter = AttitudeFilter(scale: scale?.turned(by: calibration.mount))
        attitudeLowPass.reset()
        accelerationLowPass.reset()
        rotationRateLowPass.reset()
        cancelGestures(.interrupted, emit: emit)
        reference = ReferenceAttitude(policy: settings.reference, stored: storedReference)
    }

    /// Cancels every gesture under way: the source stopped, was lost, or something came in between.
    package mutating func cancelGestures(_ reason: CancellationReason, emit: (GestureEvent) -> Void) {
        gestures.cancel(reason, at: state.timestamp, emit: emit)
        variants.cancel(reason, at: state.timestamp, emit: emit)
    }

    /// Replaces the variants: further recognizers with settings of their own, whose events carry their number. Allocates.
    /// The gestures of a variant that is no longer among them are cancelled. Default: none.
    package mutating func apply(_ new: [GestureVariant], emit: (GestureEvent) -> Void) {
        variants.apply(new, silenced: silenced, at: state.timestamp, emit: emit)
    }

    /// The gestures that are switched on and cannot be recognised, because the sensor has no gyroscope.
    package var unavailableGestures: GestureSet { state.unavailableGestures(settings.gestures) }

    /// The gestures under way.
    package var openGestures: GestureSet { gestures.open.union(variants.open) }

    /// The gestures that may not begin now whatever their settings say, for example in quiet hours: the core has no clock, so
    /// that somebody else decides. Those under way end as they would. No setting: `apply` leaves it as it is. Default: none.
    package var silenced: GestureSet {
        get { gestures.silenced }
        set {
            gestures.silenced = newValue
            variants.silence(newValue)
        }
    }

    /// Whether movements that were almost gestures are kept for `takeNearMiss()`. Default: no.
    package var explainsNearMisses: Bool {
        get { gestures.explainsNearMisses }
        set { gestures.explainsNearMisses = newValue }
    }

    /// The oldest near miss that has not been taken; ask after each sample until there is none.
    package mutating func takeNearMiss() -> NearMiss? { gestures.takeNearMiss() }
}
