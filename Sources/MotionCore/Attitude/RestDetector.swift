/// Tells whether the sensor rests: the spread of rate and force within a block, and about their own recent means, stays
/// small for long enough, and the mean rate can be a bias.
///
/// The means are first-order low-passes, so that a constant bias, however large, does not hide a rest.
struct RestDetector: Sendable, BitwiseCopyable {
    private(set) var meanRate = Vector3.zero
    private(set) var meanForce = Vector3.zero
    private var isPrimed = false

    /// Seconds for which everything has been quiet.
    private(set) var quietTime = 0.0

    /// Seconds for which rate and force have been steady, whatever the rate.
    private(set) var steadyTime = 0.0

    /// Whether there has been a rest: the bias is known from then on.
    private(set) var hasRested = false

    /// Forgets the means and the quiet, not that there has been a rest.
    mutating func reset() {
        isPrimed = false
        quietTime = 0
        steadyTime = 0
    }

    /// Takes a block into the means; returns whether it was quiet.
    ///
    /// What counts is the sum over axes of the variances within the block and of the squared distances of its means from the
    /// running ones; of the force's variance within the block only a share, since vibration is no movement.
    mutating func isQuiet(_ sums: borrowing BlockSums, _ parameters: AttitudeParameters) -> Bool {
        let share = 1 / sums.taken
        let takenRate = sums.takenRate * share
        let blockForce = sums.takenForce * share
        return isQuiet(
            meanRate: sums.rateSum * (1 / sums.count), meanForce: blockForce,
            rateSpread: sums.rateSquares * share - takenRate.lengthSquared,
            forceSpread: parameters.restVibration * (sums.forceSquares * share - blockForce.lengthSquared),
            duration: sums.duration, parameters)
    }

    /// The same of an accelerometer alone, sample by sample.
    mutating func isQuiet(force: Vector3, interval: Double, _ parameters: AttitudeParameters) -> Bool {
        isQuiet(meanRate: .zero, meanForce: force, rateSpread: 0, forceSpread: 0, duration: interval, parameters)
    }

    private mutating func isQuiet(
        meanRate blockRate: Vector3, meanForce blockForce: Vector3, rateSpread: Double, forceSpread: Double,
        duration: Double, _ parameters: AttitudeParameters
    ) -> Bool {
        if !isPrimed {
            meanRate = blockRate
            meanForce = blockForce
            isPrimed = true
        }
        let rateOff = (blockRate - meanRate).lengthSquared
        let forceOff = (blockForce - meanForce).lengthSquared
        let share = min(1, duration / parameters.restTimeConstant)
        meanRate += (blockRate - meanRate) * share
        meanForce += (blockForce - meanForce) * share
        return rateSpread + rateOff < parameters.restRotationRate * parameters.restRotationRate
            && forceSpread + forceOff < parameters.restAcceleration * parameters.restAcceleration
    }

    /// Counts the block as steady or not.
    mutating func count(isSteady: Bool, duration: Double) {
        steadyTime = isSteady ? steadyTime + duration : 0
    }

    /// Counts the block as quiet or not; returns whether the sensor rests.
    mutating func conclude(isQuiet: Bool, duration: Double, _ parameters: AttitudeParameters) -> Bool {
        quietTime = isQuiet ? quietTime + duration : 0
        // Sums of block periods may miss the duration by rounding.
        let isAtRest = quietTime >= parameters.restDuration - 1e-6
        if isAtRest { hasRested = true }
        return isAtRest
    }
}
