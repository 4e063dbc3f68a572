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
    mutating func bridge(turn: Vector3, rate: Vector3, force: Vector3, interval: Double) {
        let change = 0.25 * (lastRate - rate).lengthSquared
        let share = parameters.gapRateShare * parameters.gapRateShare * rate.lengthSquared
        let rateVariance =
            parameters.gapChangeShare * change + parameters.gapRotationRate * parameters.gapRotationRate + share
        let tiltVariance = rateVariance * interval * interval
        strapdown.turn(by: turn)
        lastForce = force
        lastRate = rate
        let needsRestart =
            interval > parameters.restartGap || tiltVariance > parameters.restartTilt * parameters.restartTilt
        if needsRestart || start.isActive {
            rest.reset()
            beginStart()
            // Whatever happened in between, the force of this sample is closer to the vertical.
            continueStart(strapdown.attitude.rotate(force), interval: 0)
        } else {
            gapTiltVariance += tiltVariance
        }
    }
}
