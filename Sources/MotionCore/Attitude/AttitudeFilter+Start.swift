// The start, and the restart after a long gap: the mean force gives the vertical.
extension AttitudeFilter {
    /// Sets bias, scale and delay to their priors, before the first sample.
    mutating func resetCalibration(_ prior: ScaleEstimate?) {
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
    mutating func beginStart() {
        start.begin(duration: parameters.startDuration)
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
    mutating func continueStart(_ force: Vector3, interval: Double) {
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
    mutating func halt(velocity: Double) {
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
