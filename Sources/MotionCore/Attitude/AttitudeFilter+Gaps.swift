// Samples that never came: the attitude is carried over the gap by what is known at both of its ends, and doubted.
extension AttitudeFilter {
    /// The longest step that is interpolated: beyond it nothing is known of the body in between.
    var longestInterpolation: Double { max(parameters.gap, 3 * usualInterval) }

    /// Carries the attitude over a gap that ends with a sample of `rate` and `force`.
    ///
    /// Velocity and position are found afresh; where the attitude is too doubtful, so is the vertical. Bias, scale and delay
    /// stay.
    mutating func bridge(turn: Vector3, rate: Vector3, force: Vector3, interval: Double) {
        let change = 0.25 * (lastRate - rate).lengthSquared
        let share = parameters.gapRateShare * parameters.gapRateShare * rate.lengthSquared
        let rateDoubt =
            parameters.gapChangeShare * change + parameters.gapRotationRate * parameters.gapRotationRate + share
        let doubt = rateDoubt * interval * interval
        strapdown.turn(by: turn)
        lastForce = force
        lastRate = rate
        let isLost = interval > parameters.lostDuration || doubt > parameters.lostTilt * parameters.lostTilt
        if isLost || start.isUnderWay {
            rest.reset()
            beginStart()
        } else {
            gapTilt += doubt
        }
    }
}
