// At the end of a block: propagate the covariance, then apply the measurements and correct the state.
extension AttitudeFilter {
    /// Processes a complete block.
    mutating func closeBlock(rotation: Matrix3) {
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
        sums.clear()
        if hasDiverged || mustRestart { beginStart() }
        mustRestart = false
    }

    /// Adds the process noise of the block to the covariance.
    private mutating func addProcessNoise() {
        let duration = sums.duration
        func variance(_ deviation: Double) -> Float { Float(deviation * deviation * duration) }
        let tilt = variance(parameters.gyroscopeNoise) + Float(interpolationTiltVariance)
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
        if covariance.variance(ErrorState.heading) > 0.1 { covariance.scale(ErrorState.heading, by: 0.7) }
        let clipped = parameters.clippedAcceleration * sums.clippedForce
        let velocity =
            variance(parameters.accelerometerNoise)
            + Float(parameters.aliasing * sums.roughness / 6 + clipped * clipped + interpolationVelocityVariance)
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
    mutating func applyCorrection(_ correction: ErrorVector) {
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

    func clamp(_ value: Double, _ limit: Double) -> Double { min(max(value, -limit), limit) }

    private func shortened(_ v: (x: Double, y: Double), to limit: Double) -> (x: Double, y: Double) {
        let square = v.x * v.x + v.y * v.y
        guard square > limit * limit else { return v }
        let ratio = limit / square.squareRoot()
        return (v.x * ratio, v.y * ratio)
    }
}
