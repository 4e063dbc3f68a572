// A complete block: time passes for the covariance, then the measurements correct the errors.
extension AttitudeFilter {
    /// Everything that happens once a block.
    mutating func closeBlock(rotation: Matrix3) {
        covariance.propagate(sums)
        addNoise()
        if sums.clippedRate != .zero || gapTilt > 0 { loseAttitude(rotation) }
        if gapTilt > 0 { halt(velocity: parameters.gapVelocity) }
        gapTilt = 0
        interpolationVelocity = 0
        interpolationTilt = 0
        let correction = measure()
        feedBack(correction)
        let isLost = level.isLost(after: sums, parameters)
        sums.clear()
        if isLost { beginStart() }
    }

    /// What wandered during the block.
    private mutating func addNoise() {
        let duration = sums.duration
        func variance(_ deviation: Double) -> Float { Float(deviation * deviation * duration) }
        let tilt = variance(parameters.gyroscopeNoise) + Float(interpolationTilt)
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
        // Heading is never measured: its doubt is kept finite.
        if covariance.variance(ErrorState.heading) > 0.1 { covariance.scale(ErrorState.heading, by: 0.7) }
        let clipped = parameters.clippedAcceleration * sums.clippedForce
        let velocity =
            variance(parameters.accelerometerNoise)
            + Float(parameters.aliasing * sums.roughness / 6 + clipped * clipped + interpolationVelocity)
        let origin = variance(parameters.originWalk)
        for axis in 0..<2 {
            covariance.addNoise(velocity, to: ErrorState.velocity + axis)
            covariance.addNoise(origin, to: ErrorState.position + axis)
        }
    }

    /// The gyroscope was at the end of its range, or samples were missing: attitude is doubtful from here on, and what is
    /// found out about it later says nothing of the calibration.
    private mutating func loseAttitude(_ rotation: Matrix3) {
        for motion in 0..<ErrorState.count where motion < 3 || motion >= ErrorState.velocity {
            for calibration in 3..<16 { covariance.setCovariance(0, motion, calibration) }
        }
        for axis in 0..<3 {
            let clipped = parameters.clippedRotationRate * sums.clippedRate[axis]
            let variance = clipped * clipped + gapTilt
            let column = Vector3(rotation.row0[axis], rotation.row1[axis], rotation.row2[axis])
            for a in 0..<3 {
                for b in a..<3 { covariance.addCovariance(Float(variance * column[a] * column[b]), a, b) }
            }
        }
        for state in 0..<ErrorState.count where state != ErrorState.heading {
            covariance.setCovariance(0, ErrorState.heading, state)
        }
    }

    /// The measurements of this block, one after the other; returns what they correct.
    private mutating func measure() -> ErrorVector {
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
        if hold > 0 { hold -= duration }
        let position = Float(parameters.positionSpread * parameters.positionSpread / duration)
        apply(Float(-strapdown.position.x), variance: position, of: ErrorState.position, to: &correction)
        apply(Float(-strapdown.position.y), variance: position, of: ErrorState.position + 1, to: &correction)
        return correction
    }

    /// Whether the sensor rests.
    private mutating func detectRest() -> Bool {
        let isQuiet = rest.isQuiet(sums, parameters)
        rest.count(isSteady: isQuiet, duration: sums.duration)
        return rest.conclude(isQuiet: isQuiet && isBelievable(), duration: sums.duration, parameters)
    }

    /// Whether the low-passed rate can be the bias: it is near to what is known, or nothing is known and it is small, or it
    /// has been steady for so long that nobody turns like that.
    ///
    /// The last one lets a chip with a large zero-rate output start, and gets the filter out of a bias that was learnt on a
    /// turntable. What was believed is then forgotten.
    private mutating func isBelievable() -> Bool {
        var isNear = true
        var isSmall = !rest.hasRested
        var isPossible = true
        for axis in 0..<3 {
            let rate = abs(rest.meanRate[axis])
            let deviation = Double(covariance.variance(ErrorState.bias(axis))).squareRoot()
            let distance = abs(rest.meanRate[axis] - strapdown.bias[axis])
            if distance > 3 * deviation + parameters.restBiasMargin { isNear = false }
            if rate > parameters.largestFirstBias { isSmall = false }
            if rate > parameters.largestSteadyBias { isPossible = false }
        }
        if isNear || isSmall { return true }
        let needed = rest.hasRested ? parameters.steadyDuration : parameters.firstSteadyDuration
        guard isPossible, rest.steadyTime >= needed else { return false }
        // As doubtful as it turned out to be wrong: the next measurement is then believed at once.
        for axis in 0..<3 {
            let distance = rest.meanRate[axis] - strapdown.bias[axis]
            let variance = parameters.initialBias * parameters.initialBias + distance * distance
            covariance.reset(ErrorState.bias(axis), variance: Float(variance))
        }
        return true
    }

    /// One measurement of a state, of which `error` is what it says and `correction` what the others said before.
    ///
    /// Innovations of motion beyond the limit are shortened, and where they are far beyond, heading and calibration are
    /// left alone: now, and for a while, since position swings back through zero and would teach them the wrong way.
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
                hold = min(parameters.longestHold, hold + parameters.holdRatio * sums.duration)
            }
            if state >= ErrorState.position, hold > 0 { keepsCalibration = true }
            if square > limit * innovationVariance { innovationVariance = square / limit }
        }
        let gain = covariance.measure(
            state, innovationVariance: innovationVariance, keepsCalibration: keepsCalibration)
        correction = correction + gain * innovation
    }

    /// Takes the corrections into the states; the errors are zero afterwards.
    private mutating func feedBack(_ correction: ErrorVector) {
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
        strapdown.velocity.x += Double(correction.motion.x)
        strapdown.velocity.y += Double(correction.motion.y)
        strapdown.position.x += Double(correction.motion.z)
        strapdown.position.y += Double(correction.motion.w)
        strapdown.position = shortened(strapdown.position, to: parameters.largestPosition)
        strapdown.velocity = shortened(strapdown.velocity, to: parameters.largestVelocity)
    }

    private func scale(_ row: Vector3, _ correction: SIMD4<Float>) -> Vector3 {
        let limit = parameters.largestScale
        return Vector3(
            clamp(row.x + Double(correction.x), limit), clamp(row.y + Double(correction.y), limit),
            clamp(row.z + Double(correction.z), limit))
    }

    func clamp(_ value: Double, _ limit: Double) -> Double { min(max(value, -limit), limit) }

    private func shortened(_ v: (x: Double, y: Double), to limit: Double) -> (x: Double, y: Double) {
        let square = v.x * v.x + v.y * v.y
        guard square > limit * limit else { return v }
        let ratio = limit / square.squareRoot()
        return (v.x * ratio, v.y * ratio)
    }
}
