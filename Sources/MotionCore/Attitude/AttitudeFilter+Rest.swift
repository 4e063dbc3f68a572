// Rest and steady turns: when the mean rate is the bias, and when the force is no measure of the vertical.
extension AttitudeFilter {
    /// Updates the rest detector with the block and returns whether the sensor is at rest.
    mutating func detectRest() -> Bool {
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
    private var isNearBias: Bool {
        for axis in 0..<3 {
            let deviation = Double(covariance.variance(ErrorState.bias(axis))).squareRoot()
            let distance = abs(rest.meanRate[axis] - strapdown.bias[axis])
            if distance > 3 * deviation + parameters.restBiasMargin { return false }
        }
        return true
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
    mutating func carryThroughTurn() {
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
