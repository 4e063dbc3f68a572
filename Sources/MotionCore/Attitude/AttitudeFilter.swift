/// Fuses angular rate and specific force into attitude. At rest and in motion it also estimates the gyroscope's bias,
/// scale and misalignment, and the accelerometer's delay.
///
/// This is a motion-bounded inertial filter. Other filters treat acceleration as noise on gravity. This one treats it
/// as the derivative of a velocity that stays bounded, which is the derivative of a position that stays bounded.
/// Specific force minus gravity is integrated into horizontal velocity and position, and a Kalman filter takes as its
/// measurement that the position stays close to a slowly wandering origin. What does not fit is attributed to tilt and
/// to the causes of tilt: bias, scale, misalignment and delay.
///
/// Every sample goes through the navigation equations (`Strapdown`) and is added to the sums of a block (`BlockSums`).
/// About ten times a second a block is complete: it propagates the covariance (`ErrorCovariance`), the measurements are
/// applied, and the correction is fed back. Heading has no reference and starts at zero.
package struct AttitudeFilter: ~Copyable {
    private let parameters = AttitudeParameters()
    /// Scale and misalignment to start with, body axes; `nil` if unknown.
    private let prior: ScaleEstimate?
    private var strapdown = Strapdown()
    private var covariance = ErrorCovariance()
    private var sums = BlockSums()
    private(set) var rest = RestDetector()
    private var start = StartPhase()
    private var divergence = DivergenceDetector()
    private var slowInnovations = SlowInnovations()
    private var forceRoughness = Roughness()
    private var rateRoughness = Roughness()
    private var doubt = AttitudeDoubt()

    /// The usual sample period, s.
    private var usualInterval = 0.0
    /// The block's period, s.
    private var blockDuration = 0.1
    /// Seconds between two additions to the Jacobians and spreads, less half a sample.
    private var sumInterval = 0.0
    /// Seconds since the last usable sample.
    private var skipped = 0.0
    private var hasBegun = false

    /// Specific force and corrected rate of the previous sample.
    private var lastForce = Vector3.zero
    private var lastRate = Vector3.zero

    /// Variances that the next block adds: of the attitude after a gap (rad²), and of attitude (rad²) and velocity
    /// (m²/s²) for interpolated samples.
    private var gapTiltVariance = 0.0
    private var interpolationTiltVariance = 0.0
    private var interpolationVelocityVariance = 0.0

    /// Seconds for which heading and calibration are still held.
    private var holdTime = 0.0

    /// Whether the sensor turns steadily about the vertical: the force is steady in the body frame, too.
    private var isTurningSteadily = false

    /// Whether the block showed that tilt, heading and motion are to be estimated from scratch.
    private var mustRestart = false

    /// Standard deviation of the prior of the bias about the vertical of the start, rad/s, 0 before the start; and that
    /// vertical, body frame.
    private var verticalBiasPrior = 0.0
    private var verticalAtStart = Vector3.zero

    /// The sum of the turns about the vertical by which corrections have changed the heading, rad.
    package private(set) var headingCorrection = 0.0

    /// Used without a gyroscope only.
    private var inclination = VectorLowPass(cutoff: 1)

    /// The angular rate of the last sample, corrected for bias, scale and misalignment, rad/s, body frame.
    package var rotationRate: Vector3 { lastRate }

    /// - Parameter scale: scale and misalignment from an earlier run, body axes, with their deviations. They apply from the
    ///   first sample on and continue to be estimated. Ignored unless `isUsable`.
    package init(scale: ScaleEstimate? = nil) {
        prior = scale.flatMap { $0.isUsable ? $0 : nil }
    }

    // MARK: Estimates

    /// The attitude: rotates body vectors into the earth frame, z up, heading zero at the start.
    package var attitude: Quaternion { strapdown.attitude }

    /// The estimated bias of the gyroscope, rad/s, body frame.
    package var gyroscopeBias: Vector3 { strapdown.bias }

    /// The estimated scale and misalignment K of the gyroscope, beyond the identity: true rate = (1 + K) · bias-free
    /// rate.
    package var gyroscopeScale: Matrix3 { strapdown.scale }

    /// `gyroscopeScale` with the standard deviation of each element: what a later filter can start with.
    ///
    /// An element that the movements so far did not reveal keeps its initial deviation.
    package var scaleEstimate: ScaleEstimate {
        ScaleEstimate(scale: strapdown.scale, deviation: covariance.scaleDeviation)
    }

    /// Standard deviation of the estimated bias, rad/s, the largest of the axes.
    package var gyroscopeBiasDeviation: Double {
        (0..<3).reduce(0) { max($0, covariance.deviation(ErrorState.bias($1))) }
    }

    /// Standard deviation of the tilt, rad, the larger of the two axes.
    package var tiltDeviation: Double { Double(largestTiltVariance).squareRoot() }

    /// How far tilt and heading may be off, as of the last block; `nil` while the vertical is being found, and without a
    /// gyroscope.
    package private(set) var deviation: AttitudeDeviation?

    /// Whether the direction of the vertical is known to within 5°, one standard deviation: not in the first half second, nor
    /// after missing samples until later ones have shown it.
    package var isVerticalKnown: Bool {
        !start.isActive && Double(largestTiltVariance) + gapTiltVariance < 25 * radiansPerDegree * radiansPerDegree
    }

    private var largestTiltVariance: Float {
        max(covariance.variance(ErrorState.attitude(0)), covariance.variance(ErrorState.attitude(1)))
    }

    /// Whether the variance of every error is positive and finite: a wrong covariance shows here first.
    package var hasSoundVariances: Bool { covariance.isSound }

    /// Whether the sensor has been at rest for `restDuration`.
    package var isAtRest: Bool { rest.quietTime >= parameters.restDuration }

    /// Whether the sensor has not been quiet for half a second.
    package var isMoving: Bool { rest.quietTime < 0.5 }

    /// Whether the sensor is at rest and the sample does not show the beginning of a movement. One that is not finite may.
    ///
    /// Inlined, because the call would keep every sample in memory: 200 instructions.
    @inline(__always) func isStill(_ sample: MotionSample) -> Bool {
        guard isAtRest else { return false }
        let (force, rate) = (parameters.startlingAcceleration, parameters.startlingRotationRate)
        let hasRate = sample.flags.contains(.rotationRate)
        return (sample.acceleration - rest.meanForce).lengthSquared < force * force
            && (!hasRate || (sample.rotationRate - rest.meanRate).lengthSquared < rate * rate)
    }

    // MARK: A sample

    /// Processes a sample in body axes, measured `interval` seconds after the previous one; 0 for the first one.
    ///
    /// A sample that is not finite is skipped, and the next one bridges it. Samples may be missing and their periods
    /// may vary: nothing assumes a fixed rate.
    package mutating func update(_ sample: MotionSample, interval: Double) {
        let interval = interval + skipped
        guard sample.acceleration.isFinite, sample.rotationRate.isFinite else {
            skipped = interval
            return
        }
        skipped = 0
        guard sample.flags.contains(.rotationRate) else {
            level(by: sample.acceleration, interval: interval)
            return
        }
        guard hasBegun, interval > 0 else {
            if !hasBegun { begin(with: sample) }
            return
        }
        updateInterval(interval)
        let biasFree = strapdown.biasFree(sample.rotationRate)
        let rate = strapdown.corrected(biasFree)
        var turn = rate * interval
        var force = sample.acceleration
        if interval > 1.5 * usualInterval {
            restartRoughness(at: sample)
            // Samples are missing: the mean of both ends stands in for them.
            let missing = interval - usualInterval
            turn += (lastRate - rate) * (0.5 * missing)
            force += (lastForce - force) * (0.5 * missing / interval)
            if interval > longestInterpolation {
                bridge(turn: turn, rate: rate, force: sample.acceleration, interval: interval)
                return
            }
            interpolationTiltVariance += 0.25 * (lastRate - rate).lengthSquared * missing * missing / 3
            interpolationVelocityVariance +=
                0.25 * (lastForce - sample.acceleration).lengthSquared * missing * missing / 3
        }
        strapdown.turn(by: turn)
        let step = strapdown.step(force, rate: rate, biasFreeRate: biasFree, interval: interval)
        lastForce = sample.acceleration
        lastRate = rate
        if start.isActive {
            restartRoughness(at: sample)
            continueStart(step.force, interval: interval)
            return
        }
        strapdown.move(by: step.force, interval: interval)
        sums.add(sample, force: step.force, interval: interval)
        let weight = Float(interval * interval)
        forceRoughness.add(sample.acceleration, weight: weight)
        rateRoughness.add(sample.rotationRate, weight: weight)
        let isComplete = sums.duration >= blockDuration - 0.5 * interval
        if isComplete || sums.sinceTaken >= sumInterval { sums.take(step, sample) }
        if isComplete { closeBlock(rotation: step.rotation) }
    }

    /// Starts the differences again: samples are missing, or were not added.
    private mutating func restartRoughness(at sample: MotionSample) {
        forceRoughness.restart(at: sample.acceleration)
        rateRoughness.restart(at: sample.rotationRate)
    }

    /// Updates the usual sample period and the block duration: at least one sample.
    private mutating func updateInterval(_ interval: Double) {
        if usualInterval == 0 || interval < 0.5 * usualInterval {
            usualInterval = interval
        } else if interval < 1.5 * usualInterval {
            usualInterval += 0.01 * (interval - usualInterval)
        } else {
            return
        }
        blockDuration = max(usualInterval, parameters.blockDuration)
        sumInterval = 1 / parameters.sumRate - 0.5 * usualInterval
    }

    /// Initialises the filter from the first sample; its force is the first estimate of the vertical.
    private mutating func begin(with sample: MotionSample) {
        resetCalibration(prior)
        strapdown.attitude = Quaternion(from: sample.acceleration, to: Vector3(0, 0, 1))
        lastForce = sample.acceleration
        lastRate = strapdown.corrected(strapdown.biasFree(sample.rotationRate))
        hasBegun = true
        beginStart()
        // It counts like the other samples, although its own period is unknown.
        continueStart(strapdown.attitude.rotate(sample.acceleration), interval: 0)
    }

    /// Without a gyroscope: sets the attitude to the inclination of the low-passed force, heading zero.
    private mutating func level(by force: Vector3, interval: Double) {
        if interval == 0 || interval > parameters.restartGap { start.begin(duration: 2 * parameters.startDuration) }
        _ = start.add(force, interval: min(interval, longestInterpolation), firstLevelling: 0, block: blockDuration)
        let up = inclination.update(force, interval: interval)
        let isQuiet = rest.isQuiet(force: force, interval: interval, parameters)
        _ = rest.updateQuietTime(isQuiet: isQuiet, duration: interval, parameters)
        strapdown.attitude = Quaternion(inclinationOf: up)
    }
}

// At the end of a block: propagate the covariance, then apply the measurements and correct the state.
extension AttitudeFilter {
    /// Processes a complete block.
    private mutating func closeBlock(rotation: Matrix3) {
        covariance.propagate(sums)
        addProcessNoise()
        if sums.clippedRate != .zero || gapTiltVariance > 0 { addAttitudeUncertainty(rotation) }
        if gapTiltVariance > 0 { halt(velocity: parameters.gapVelocity) }
        gapTiltVariance = 0
        interpolationVelocityVariance = 0
        interpolationTiltVariance = 0
        let correction = applyMeasurements()
        applyCorrection(correction)
        widenBiasPrior()
        let hasDiverged = divergence.hasDiverged(after: sums, parameters)
        deviation = doubt.deviation(
            after: sums, covariance, slowForce: divergence.force, interval: usualInterval, parameters)
        sums.clear()
        if hasDiverged || mustRestart { beginStart() }
        mustRestart = false
    }

    /// Adds the process noise of the block to the covariance.
    private mutating func addProcessNoise() {
        let duration = sums.duration
        func variance(_ deviation: Double) -> Float { Float(deviation * deviation * duration) }
        let aliasing = Float(parameters.aliasing)
        let tilt =
            variance(parameters.gyroscopeNoise) + aliasing * rateRoughness.takeNoise()
            + Float(interpolationTiltVariance)
        let bias = variance(parameters.biasWalk)
        let scale = variance(parameters.scaleWalk)
        let largestScale = Float(parameters.initialScale * parameters.initialScale)
        for axis in 0..<3 {
            covariance.addNoise(tilt, to: ErrorState.attitude(axis))
            covariance.addNoise(bias, to: ErrorState.bias(axis))
            for from in 0..<3 {
                let state = ErrorState.scale(axis, from)
                if covariance.variance(state) < largestScale { covariance.addNoise(scale, to: state) }
            }
        }
        // Nothing measures the heading, so its variance would grow without bound.
        let heading = covariance.variance(ErrorState.heading)
        if heading > 0.1 {
            covariance.scale(ErrorState.heading, by: 0.7)
            doubt.addHeading(Double(heading - covariance.variance(ErrorState.heading)))
        }
        let clipped = parameters.clippedAcceleration * sums.clippedForce
        let velocity =
            variance(parameters.accelerometerNoise) + aliasing * forceRoughness.takeNoise()
            + Float(clipped * clipped + interpolationVelocityVariance)
        let origin = variance(parameters.originWalk) * Float(slowInnovations.factor)
        for axis in 0..<2 {
            covariance.addNoise(velocity, to: ErrorState.velocity + axis)
            covariance.addNoise(origin, to: ErrorState.position + axis)
        }
    }

    /// The gyroscope clipped or samples are missing: the attitude becomes uncertain. What later measurements find out
    /// about the attitude must not be blamed on the calibration, so their correlation is removed.
    private mutating func addAttitudeUncertainty(_ rotation: Matrix3) {
        for motion in 0..<ErrorState.count where motion < 3 || motion >= ErrorState.velocity {
            for calibration in 3..<16 { covariance.setCovariance(0, motion, calibration) }
        }
        for axis in 0..<3 {
            let clipped = parameters.clippedRotationRate * sums.clippedRate[axis]
            let variance = clipped * clipped + gapTiltVariance
            let column = Vector3(rotation.row0[axis], rotation.row1[axis], rotation.row2[axis])
            for a in 0..<3 {
                for b in a..<3 { covariance.addCovariance(Float(variance * column[a] * column[b]), a, b) }
            }
        }
        for state in 0..<ErrorState.count where state != ErrorState.heading {
            covariance.setCovariance(0, ErrorState.heading, state)
        }
    }

    /// Applies the measurements of this block one after the other and returns the resulting correction.
    private mutating func applyMeasurements() -> ErrorVector {
        var correction = ErrorVector()
        let duration = sums.duration
        if detectRest() {
            let bias = Float(parameters.restBiasSpread * parameters.restBiasSpread / duration)
            for axis in 0..<3 {
                let error = Float(rest.meanRate[axis] - strapdown.bias[axis])
                apply(error, variance: bias, of: ErrorState.bias(axis), to: &correction)
            }
            let velocity = Float(parameters.restVelocitySpread * parameters.restVelocitySpread / duration)
            apply(Float(-strapdown.velocity.x), variance: velocity, of: ErrorState.velocity, to: &correction)
            apply(Float(-strapdown.velocity.y), variance: velocity, of: ErrorState.velocity + 1, to: &correction)
        }
        if isTurningSteadily {
            carryThroughTurn()
            return correction
        }
        if holdTime > 0 { holdTime -= duration }
        let position = positionVariance(duration)
        apply(Float(-strapdown.position.x), variance: position, of: ErrorState.position, to: &correction)
        apply(Float(-strapdown.position.y), variance: position, of: ErrorState.position + 1, to: &correction)
        return correction
    }

    /// The variance of the measurement that the position is at its origin: the larger, the larger the movement is.
    private mutating func positionVariance(_ duration: Double) -> Float {
        let white = parameters.positionSpread * parameters.positionSpread / duration
        func innovation(_ position: Double, _ axis: Int) -> Double {
            position / (Double(covariance.variance(ErrorState.position + axis)) + white).squareRoot()
        }
        slowInnovations.update(
            x: innovation(strapdown.position.x, 0), y: innovation(strapdown.position.y, 1), duration: duration,
            parameters)
        return Float(white * slowInnovations.factor)
    }

    /// Applies one measurement of a state. `error` is what it measures; `correction` is what the measurements before it
    /// found.
    ///
    /// An innovation of the motion states beyond the limit is reduced to the limit. If it is far beyond, heading and
    /// calibration are held for a while: position swings back through zero, and would correct them in the wrong
    /// direction.
    private mutating func apply(_ error: Float, variance: Float, of state: Int, to correction: inout ErrorVector) {
        let innovation = error - correction[state]
        var innovationVariance = covariance.variance(state) + variance
        var keepsCalibration = false
        if state >= ErrorState.velocity {
            let square = innovation * innovation
            let limit = Float(parameters.innovationLimit * parameters.innovationLimit)
            let calibrationLimit = Float(parameters.calibrationLimit * parameters.calibrationLimit)
            if square > calibrationLimit * innovationVariance {
                keepsCalibration = true
                holdTime = min(parameters.longestHold, holdTime + parameters.holdRatio * sums.duration)
            }
            if state >= ErrorState.position, holdTime > 0 { keepsCalibration = true }
            if square > limit * innovationVariance { innovationVariance = square / limit }
        }
        let gain = covariance.measure(
            state, innovationVariance: innovationVariance, keepsCalibration: keepsCalibration)
        correction = correction + gain * innovation
    }

    /// Adds the correction to the states. The estimated errors are zero afterwards.
    private mutating func applyCorrection(_ correction: ErrorVector) {
        let tilt = correction.attitudeAndDelay
        let turn = Vector3(Double(tilt.x), Double(tilt.y), Double(tilt.z))
        strapdown.attitude = (Quaternion(rotationVector: turn) * strapdown.attitude).normalized
        strapdown.delay = clamp(strapdown.delay + Double(tilt.w), parameters.largestDelay)
        strapdown.scale.row0 = scale(strapdown.scale.row0, correction.calibration0)
        strapdown.scale.row1 = scale(strapdown.scale.row1, correction.calibration1)
        strapdown.scale.row2 = scale(strapdown.scale.row2, correction.calibration2)
        let bias = Vector3(
            Double(correction.calibration0.w), Double(correction.calibration1.w), Double(correction.calibration2.w))
        for axis in 0..<3 {
            strapdown.bias[axis] = clamp(strapdown.bias[axis] + bias[axis], parameters.largestBias)
        }
        headingCorrection += turn.z
        strapdown.velocity.x += Double(correction.motion.x)
        strapdown.velocity.y += Double(correction.motion.y)
        strapdown.position.x += Double(correction.motion.z)
        strapdown.position.y += Double(correction.motion.w)
        limitMotion()
    }

    /// Limits velocity and position. Beyond the limits the motion is not bounded as assumed, so heading and calibration
    /// are held.
    private mutating func limitMotion() {
        let velocity = shortened(strapdown.velocity, to: parameters.largestVelocity)
        let position = shortened(strapdown.position, to: parameters.largestPosition)
        if velocity != strapdown.velocity || position != strapdown.position { holdTime = parameters.longestHold }
        strapdown.velocity = velocity
        strapdown.position = position
    }

    private func scale(_ row: Vector3, _ correction: SIMD4<Float>) -> Vector3 {
        let limit = parameters.largestScale
        return Vector3(
            clamp(row.x + Double(correction.x), limit), clamp(row.y + Double(correction.y), limit),
            clamp(row.z + Double(correction.z), limit))
    }

    private func clamp(_ value: Double, _ limit: Double) -> Double { min(max(value, -limit), limit) }

    private func shortened(_ v: (x: Double, y: Double), to limit: Double) -> (x: Double, y: Double) {
        let square = v.x * v.x + v.y * v.y
        guard square > limit * limit else { return v }
        let ratio = limit / square.squareRoot()
        return (v.x * ratio, v.y * ratio)
    }
}

// The start, and the restart after a long gap: the mean force gives the vertical.
extension AttitudeFilter {
    /// Sets bias, scale and delay to their priors, before the first sample.
    private mutating func resetCalibration(_ prior: ScaleEstimate?) {
        func variance(_ deviation: Double) -> Float { Float(deviation * deviation) }
        covariance.reset(ErrorState.delay, variance: variance(parameters.initialDelay))
        for axis in 0..<3 {
            covariance.reset(ErrorState.bias(axis), variance: variance(parameters.initialBias))
            for from in 0..<3 {
                covariance.reset(ErrorState.scale(axis, from), variance: variance(parameters.initialScale))
            }
        }
        if let prior { begin(with: prior) }
    }

    /// Starts with the scale and misalignment that an earlier run estimated.
    ///
    /// Each deviation is limited to that of an unknown chip, and each element to the largest one that the filter
    /// allows.
    private mutating func begin(with prior: ScaleEstimate) {
        for to in 0..<3 {
            for from in 0..<3 {
                strapdown.scale[to][from] = clamp(prior.scale[to][from], parameters.largestScale)
                let deviation = Float(min(prior.deviation[to][from], parameters.initialScale))
                covariance.reset(ErrorState.scale(to, from), variance: deviation * deviation)
            }
        }
    }

    /// Begins a start phase: tilt, heading and motion are estimated from scratch, calibration is kept.
    private mutating func beginStart() {
        start.begin(duration: parameters.startDuration)
        doubt.addHeading(Double(covariance.variance(ErrorState.heading)) + gapTiltVariance)
        deviation = nil
        gapTiltVariance = 0
        interpolationVelocityVariance = 0
        interpolationTiltVariance = 0
        divergence.reset()
        slowInnovations = SlowInnovations()
        sums.clear()
        covariance.reset(ErrorState.heading, variance: 0)
        for axis in 0..<2 {
            covariance.reset(
                ErrorState.attitude(axis), variance: Float(parameters.initialTilt * parameters.initialTilt))
        }
        halt(velocity: parameters.initialVelocity)
    }

    /// Adds a sample of the start phase; `force` is in the earth frame.
    private mutating func continueStart(_ force: Vector3, interval: Double) {
        let isDue = start.add(
            force, interval: interval, firstLevelling: parameters.firstLevelling, block: blockDuration)
        guard isDue else { return }
        let turn = Quaternion(from: start.up, to: Vector3(0, 0, 1))
        strapdown.attitude = (turn * strapdown.attitude).normalized
        start.didSetVertical()
        if start.elapsed > 0 { setStartVariances() }
        if !start.isActive { trustVerticalBias() }
    }

    /// Sets velocity and position back to their priors.
    private mutating func halt(velocity: Double) {
        strapdown.halt()
        holdTime = 0
        for axis in 0..<2 {
            covariance.reset(ErrorState.velocity + axis, variance: Float(velocity * velocity))
            covariance.reset(
                ErrorState.position + axis, variance: Float(parameters.initialPosition * parameters.initialPosition))
        }
    }

    /// Sets the variances of tilt and velocity, and their covariance.
    ///
    /// The mean force over t is g + (v1 - v0)/t. If both velocities have variance s², the variance of the tilt is
    /// 2s²/(gt)² and its covariance with v1 is s²/(gt). This covariance lets the first swing back correct the tilt. The
    /// vertical change of velocity can be measured, since g is known, and shows how large the horizontal one may be.
    private mutating func setStartVariances() {
        let seen = (start.meanForce - standardGravity) * start.elapsed
        let velocity =
            parameters.initialVelocity * parameters.initialVelocity
            + parameters.initialVelocityPerForce * parameters.initialVelocityPerForce * start.spread + seen * seen
        let pull = standardGravity * start.elapsed
        let tilt = 2 * velocity / (pull * pull)
        let latest = parameters.latestVelocity * parameters.latestVelocity
        for axis in 0..<2 {
            covariance.setCovariance(
                Float(parameters.initialTilt * parameters.initialTilt + tilt), ErrorState.attitude(axis),
                ErrorState.attitude(axis))
            covariance.setCovariance(
                Float(velocity + latest), ErrorState.velocity + axis, ErrorState.velocity + axis)
        }
        covariance.setCovariance(Float(velocity / pull), ErrorState.velocity, ErrorState.attitude(1))
        covariance.setCovariance(Float(-velocity / pull), ErrorState.velocity + 1, ErrorState.attitude(0))
        let isUncertain = tilt > parameters.startTiltLimit * parameters.startTiltLimit
        if !start.isActive, isUncertain, start.elapsed < parameters.longestStart {
            start.extend(by: blockDuration)
        }
    }
}

// Rest and steady turns: when the mean rate is the bias, and when the force is no measure of the vertical.
extension AttitudeFilter {
    /// Updates the rest detector with the block and returns whether the sensor is at rest.
    private mutating func detectRest() -> Bool {
        let isQuiet = rest.isQuiet(sums, parameters)
        rest.updateSteadyTime(isSteady: isQuiet, duration: sums.duration)
        let isNear = isNearBias
        let isPlausible = isQuiet && (isNear || isPossibleBias)
        isTurningSteadily = !isNear && !isPlausible && isKnownTurn
        let hadRested = rest.hasRested
        guard rest.updateQuietTime(isQuiet: isPlausible, duration: sums.duration, parameters) else { return false }
        if !isNear {
            discardBias()
            // The wrong bias has turned the vertical, too. At rest the mean force shows it.
            mustRestart = hadRested
        }
        return true
    }

    // MARK: Bias

    /// Whether the mean rate is close to the current estimate of the bias.
    @inline(__always)
    private var isNearBias: Bool {
        (0..<3).allSatisfy { axis in
            let deviation = covariance.deviation(ErrorState.bias(axis))
            return abs(rest.meanRate[axis] - strapdown.bias[axis]) <= 3 * deviation + parameters.restBiasMargin
        }
    }

    /// Whether the mean rate can be the bias although it is far from the estimate. It can if there was no rest yet and it
    /// is small, or if it has been steady for long.
    ///
    /// The last rule lets a chip with a large zero-rate output start. It also recovers from a wrong bias: a board that
    /// turns steadily about a horizontal axis sees gravity turn, so a steady force shows that it does not turn. About the
    /// vertical nothing tells a turn from a bias. If the force is that of the latest rest and the rate has become smaller,
    /// a turntable has stopped; otherwise the rate is a turn, unless it lasts longer than any bend.
    private var isPossibleBias: Bool {
        var isSmall = !rest.hasRested
        for axis in 0..<3 {
            let rate = abs(rest.meanRate[axis])
            if rate > parameters.largestFirstBias { isSmall = false }
            if rate > parameters.largestSteadyBias { return false }
        }
        if isSmall { return true }
        guard rest.hasRested else { return rest.steadyTime >= parameters.firstSteadyDuration }
        guard rest.steadyTime >= parameters.steadyDuration else { return false }
        let hasStopped = rest.hasForceOfRest(parameters) && rest.meanRate.length < strapdown.bias.length
        let isTurn = !hasStopped && isAxisVertical(within: parameters.possibleTurnAxisTilt)
        return !isTurn || rest.steadyTime >= parameters.turnSteadyDuration
    }

    /// Discards the estimate of the bias. Its variance now covers the error found, so that the next measurement replaces
    /// it at once.
    private mutating func discardBias() {
        for axis in 0..<3 {
            let distance = rest.meanRate[axis] - strapdown.bias[axis]
            let variance = parameters.initialBias * parameters.initialBias + distance * distance
            covariance.reset(ErrorState.bias(axis), variance: Float(variance))
        }
    }

    // MARK: Steady turns

    /// Whether the sensor turns steadily about the vertical, and the gyroscope alone can carry the tilt through it.
    @inline(__always)
    private var isKnownTurn: Bool {
        rest.hasRested && rest.turnTime >= parameters.turnDuration && tiltDeviation < parameters.turnTilt
            && isAxisVertical(within: parameters.turnAxisTilt)
    }

    /// Whether the horizontal part of the mean rate is smaller than a share of it.
    private func isAxisVertical(within share: Double) -> Bool {
        let rate = strapdown.attitude.rotate(rest.meanRate - strapdown.bias)
        return rate.x * rate.x + rate.y * rate.y < share * share * rate.lengthSquared
    }

    /// Carries the attitude through a block of a steady turn without measurements.
    ///
    /// In a bend the force has a steady horizontal part in the body frame, which would soon count as tilt. What the
    /// gyroscope's errors add meanwhile stays small, because they turn with the board. The velocity turns with it, too.
    /// The errors of the heading come from the scale rather than the bias, so the next rest must not correct them.
    private mutating func carryThroughTurn() {
        let turn = strapdown.attitude.rotate(rest.meanRate - strapdown.bias).z * sums.duration
        let x = strapdown.velocity.x - sums.earthForce.x
        let y = strapdown.velocity.y - sums.earthForce.y
        halt(velocity: parameters.turnVelocity)
        let left = max(0, 1 - sums.duration / parameters.turnVelocityMemory)
        strapdown.velocity = ((x - y * turn) * left, (y + x * turn) * left)
        for state in 0..<ErrorState.count where state != ErrorState.heading {
            covariance.setCovariance(0, ErrorState.heading, state)
        }
    }
}

// Missing samples: the attitude is carried across the gap from the rates at both ends, and its variance grows.
extension AttitudeFilter {
    /// The longest step that is interpolated, in seconds. Beyond it the movement in between is unknown.
    var longestInterpolation: Double { max(parameters.gap, 3 * usualInterval) }

    /// Standard deviation of the angular rate while samples are missing, rad/s, if they end with this rate.
    func deviationInGap(_ rate: Double) -> Double {
        let share = parameters.gapRateShare * rate
        return (parameters.gapRotationRate * parameters.gapRotationRate + share * share).squareRoot()
    }

    /// Carries the attitude across a gap that ends with a sample of `rate` and `force`.
    ///
    /// Velocity and position start again from their priors. So does the vertical if the attitude has become too
    /// uncertain. Bias, scale and delay are kept.
    private mutating func bridge(turn: Vector3, rate: Vector3, force: Vector3, interval: Double) {
        let change = 0.25 * (lastRate - rate).lengthSquared
        let share = parameters.gapRateShare * parameters.gapRateShare * rate.lengthSquared
        let rateVariance =
            parameters.gapChangeShare * change + parameters.gapRotationRate * parameters.gapRotationRate + share
        let tiltVariance = rateVariance * interval * interval
        strapdown.turn(by: turn)
        lastForce = force
        lastRate = rate
        gapTiltVariance += tiltVariance
        let needsRestart =
            interval > parameters.restartGap || tiltVariance > parameters.restartTilt * parameters.restartTilt
        if needsRestart || start.isActive {
            rest.reset()
            beginStart()
            // Whatever happened in between, the force of this sample is closer to the vertical.
            continueStart(strapdown.attitude.rotate(force), interval: 0)
        }
    }
}

// The bias before the first rest: movements reveal the part about the vertical last and worst.
extension AttitudeFilter {
    /// Gives the bias about the present vertical a narrower prior than the other two directions.
    ///
    /// A horizontal bias tilts the attitude and is found within seconds. A vertical one turns the heading, which nothing
    /// measures, so its estimate would follow every disturbance.
    private mutating func trustVerticalBias() {
        guard !rest.hasRested, verticalBiasPrior == 0 else { return }
        verticalBiasPrior = min(parameters.initialVerticalBias, parameters.initialBias)
        verticalAtStart = strapdown.attitude.unrotate(Vector3(0, 0, 1))
        let wide = parameters.initialBias * parameters.initialBias
        let difference = wide - verticalBiasPrior * verticalBiasPrior
        for a in 0..<3 {
            for b in a..<3 {
                let shared = difference * verticalAtStart[a] * verticalAtStart[b]
                covariance.setCovariance(Float((a == b ? wide : 0) - shared), ErrorState.bias(a), ErrorState.bias(b))
            }
        }
    }

    /// Widens that prior if the bias about any axis turns out to be large: such a chip has a large one about the others.
    ///
    /// A prior of variance s² is replaced by one of s'² with the measurement "no bias" of the negative variance
    /// 1/(1/s'² - 1/s²), which is exact as long as the filter is linear.
    private mutating func widenBiasPrior() {
        guard verticalBiasPrior > 0, !rest.hasRested else { return }
        var largest = 0.0
        for axis in 0..<3 {
            let deviation = covariance.deviation(ErrorState.bias(axis))
            let size = abs(strapdown.bias[axis])
            if size - 2 * deviation > parameters.largeBiasRatio * verticalBiasPrior { largest = max(largest, size) }
        }
        guard largest > 0 else { return }
        let wider = max(largest, 1.2 * verticalBiasPrior)
        let (old, new) = (verticalBiasPrior * verticalBiasPrior, wider * wider)
        let correction = covariance.widenBias(
            along: verticalAtStart, bias: strapdown.bias, variance: old * new / (new - old))
        verticalBiasPrior = wider
        applyCorrection(correction)
    }
}
