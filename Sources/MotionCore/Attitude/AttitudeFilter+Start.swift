// The start, and starting over after samples were missing for long: the vertical is found from the mean force.
extension AttitudeFilter {
    /// What is known of the sensor before the first sample.
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

    /// Takes over what an earlier run learnt of scale and misalignment.
    ///
    /// Nothing is less certain than what is known of a chip of which nothing was learnt, and no element beyond what the filter
    /// may find itself.
    private mutating func begin(with prior: ScaleEstimate) {
        for to in 0..<3 {
            for from in 0..<3 {
                strapdown.scale[to][from] = clamp(prior.scale[to][from], parameters.largestScale)
                let deviation = Float(min(prior.deviation[to][from], parameters.initialScale))
                covariance.reset(ErrorState.scale(to, from), variance: deviation * deviation)
            }
        }
    }

    /// Begins a start phase: tilt, heading and motion are found anew, calibration is kept.
    mutating func beginStart() {
        start.begin(duration: parameters.startDuration)
        gapTilt = 0
        interpolationVelocity = 0
        interpolationTilt = 0
        level.reset()
        sums.clear()
        covariance.reset(ErrorState.heading, variance: 0)
        for axis in 0..<2 {
            covariance.reset(
                ErrorState.attitude(axis), variance: Float(parameters.initialTilt * parameters.initialTilt))
        }
        halt(velocity: parameters.initialVelocity)
    }

    /// Takes a sample of the start phase, `force` in the earth frame.
    mutating func continueStart(_ force: Vector3, interval: Double) {
        let isDue = start.add(
            force, interval: interval, firstLevelling: parameters.firstLevelling, block: blockDuration)
        guard isDue else { return }
        let turn = Quaternion(from: start.up, to: Vector3(0, 0, 1))
        strapdown.attitude = (turn * strapdown.attitude).normalized
        start.levelled()
        if start.elapsed > 0 { doubtStart() }
    }

    /// Velocity and position are not known better than their priors.
    mutating func halt(velocity: Double) {
        strapdown.halt()
        hold = 0
        for axis in 0..<2 {
            covariance.reset(ErrorState.velocity + axis, variance: Float(velocity * velocity))
            covariance.reset(
                ErrorState.position + axis, variance: Float(parameters.initialPosition * parameters.initialPosition))
        }
    }

    /// How doubtful tilt and velocity are, and how they depend on one another.
    ///
    /// The mean force over t is g + (v1 - v0)/t, with both velocities of variance s², so that the tilt's is 2s²/(gt)² and its
    /// covariance with v1 is s²/(gt): that is what lets the first swing back repair the tilt. The vertical change of velocity
    /// is seen, since g is known, and tells what the horizontal one may be.
    private mutating func doubtStart() {
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
        let isDoubtful = tilt > parameters.startDoubt * parameters.startDoubt
        if !start.isUnderWay, isDoubtful, start.elapsed < parameters.longestStart {
            start.extend(by: blockDuration)
        }
    }
}
