/// Detects that the sensor is at rest: the spread of rate and force within a block, and their distance from their own
/// recent means, stay small for long enough, and the mean rate can be a bias.
///
/// The means are first-order low-passes, so even a large constant bias does not hide a rest.
struct RestDetector: Sendable, BitwiseCopyable {
    private(set) var meanRate = Vector3.zero
    private(set) var meanForce = Vector3.zero
    private var isPrimed = false

    /// Seconds for which the sensor has been quiet.
    private(set) var quietTime = 0.0

    /// Seconds for which rate and force have been steady, however large the rate.
    private(set) var steadyTime = 0.0

    /// Seconds for which the means of rate and force have been steady, however large the rate and whatever the vibration.
    private(set) var turnTime = 0.0

    /// Whether there has been a rest: from then on the bias is known.
    private(set) var hasRested = false

    /// The mean force of the latest rest, m/s², body frame.
    private var restForce = Vector3.zero

    /// Resets the means and times, but not what the latest rest showed.
    mutating func reset() {
        isPrimed = false
        quietTime = 0
        steadyTime = 0
        turnTime = 0
    }

    /// Updates the means with a block; returns whether the block was quiet.
    ///
    /// The measure is the sum over axes of the variances within the block plus the squared distances of the block's
    /// means from the running means. Only a share of the force's variance within the block counts, since vibration is
    /// not movement.
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

    /// The same for an accelerometer without a gyroscope, sample by sample.
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
        let vibration = parameters.turnVibration
        let isTurnSteady =
            vibration * rateSpread + rateOff < parameters.turnRotationRate * parameters.turnRotationRate
            && vibration * forceSpread + forceOff < parameters.turnAcceleration * parameters.turnAcceleration
        turnTime = isTurnSteady ? turnTime + duration : 0
        let share = min(1, duration / parameters.restTimeConstant)
        meanRate += (blockRate - meanRate) * share
        meanForce += (blockForce - meanForce) * share
        return rateSpread + rateOff < parameters.restRotationRate * parameters.restRotationRate
            && forceSpread + forceOff < parameters.restAcceleration * parameters.restAcceleration
    }

    /// Adds the block to `steadyTime`, or resets it.
    mutating func updateSteadyTime(isSteady: Bool, duration: Double) {
        steadyTime = isSteady ? steadyTime + duration : 0
    }

    /// Adds the block to `quietTime`, or resets it; returns whether the sensor is at rest.
    mutating func updateQuietTime(isQuiet: Bool, duration: Double, _ parameters: AttitudeParameters) -> Bool {
        quietTime = isQuiet ? quietTime + duration : 0
        // A sum of block durations may miss the limit by rounding.
        let isAtRest = quietTime >= parameters.restDuration - 1e-6
        if isAtRest {
            hasRested = true
            restForce = meanForce
        }
        return isAtRest
    }

    /// Whether the mean force is that of the latest rest, in the body frame: then the sensor has not been moved since, or
    /// turns on the spot. In a bend the force has a horizontal part.
    func hasForceOfRest(_ parameters: AttitudeParameters) -> Bool {
        let tolerance = parameters.restForceTolerance
        return (meanForce - restForce).lengthSquared < tolerance * tolerance
    }
}

/// The first half second. Nothing is known yet, and the best estimate of the vertical is the mean force in the earth
/// frame that the gyroscope carries.
///
/// The mean force over a time t is g + (v1 - v0)/t: the change of velocity tilts it.
struct StartPhase: Sendable, BitwiseCopyable {
    /// Seconds since the phase began, and the time at which it ends.
    private(set) var elapsed = 0.0
    private var end = 0.0
    private var forceSum = Vector3.zero
    private var squares = 0.0
    private var count = 0.0
    /// Seconds since the vertical was set.
    private var sinceLevelled = 0.0

    /// Whether the phase has not ended.
    var isActive: Bool { elapsed < end }

    /// The sum of the forces, earth frame: its direction is up.
    var up: Vector3 { forceSum }

    /// The length of the mean force, m/s².
    var meanForce: Double { forceSum.length / max(1, count) }

    /// The variance of the force about its mean, summed over the axes, m²/s⁴.
    var spread: Double { max(0, squares / max(1, count) - meanForce * meanForce) }

    /// Begins a phase of `duration` seconds.
    mutating func begin(duration: Double) {
        self = StartPhase()
        end = duration
    }

    /// Extends the phase by `duration` seconds from now.
    mutating func extend(by duration: Double) {
        end = elapsed + duration
    }

    /// Adds a sample's force in the earth frame. Returns whether to set the vertical now: after every sample at first,
    /// then once a block, and at the end.
    mutating func add(_ force: Vector3, interval: Double, firstLevelling: Double, block: Double) -> Bool {
        elapsed += interval
        sinceLevelled += interval
        forceSum += force
        squares += force.lengthSquared
        count += 1
        return elapsed < firstLevelling || sinceLevelled >= block - 0.5 * interval || !isActive
    }

    /// Call after the earth frame was turned so that the mean force points up.
    mutating func didSetVertical() {
        forceSum = Vector3(0, 0, forceSum.length)
        sinceLevelled = 0
    }
}
