internal import CMotionMath

/// Tells whether the sensor rests: rate and force stay close to their own recent means for long enough.
///
/// The means are first-order low-passes, so that a constant gyroscope bias, however large, does not hide a rest.
struct RestDetector: Sendable, BitwiseCopyable {
    /// The thresholds, and how long everything has to stay below them.
    struct Parameters: Sendable, BitwiseCopyable {
        /// Deviation of the angular rate from its mean, rad/s. Smaller misses rests on noisy chips, larger takes slow
        /// turning for rest. Default 2 °/s.
        var rotationRate = 2 * radiansPerDegree
        /// Deviation of the specific force from its mean, m/s². Default 0.5.
        var acceleration = 0.5
        /// Seconds below both thresholds until it counts as rest. Default 1.5.
        var duration = 1.5
        /// Time constant of the means, s. Default 0.5.
        var timeConstant = 0.5
        /// Largest mean rate that can be a bias, rad/s: a turntable's constant rate is no rest. Default 25 °/s, the
        /// MPU-6050's ±20 °/s zero-rate output (PS-MPU-6000A-00 r3.4, 6.1) and some drift.
        var largestBias = 25 * radiansPerDegree
    }

    var parameters = Parameters()
    private(set) var meanRotationRate = Vector3.zero
    private(set) var meanAcceleration = Vector3.zero
    private var quietTime = 0.0
    private var isPrimed = false

    /// Whether the sensor rests.
    var isAtRest: Bool { quietTime >= parameters.duration }

    /// Whether nothing has moved for the last `seconds`.
    func hasBeenQuiet(for seconds: Double) -> Bool { quietTime >= seconds }

    /// Begins anew: the next sample is taken as the mean.
    mutating func reset() {
        isPrimed = false
        quietTime = 0
    }

    /// Takes a sample measured `interval` seconds after the one before.
    mutating func update(rotationRate: Vector3, acceleration: Vector3, interval: Double) {
        guard isPrimed else {
            meanRotationRate = rotationRate
            meanAcceleration = acceleration
            isPrimed = true
            return
        }
        let share = min(1, interval / parameters.timeConstant)
        meanRotationRate += (rotationRate - meanRotationRate) * share
        meanAcceleration += (acceleration - meanAcceleration) * share
        let rateLimit = parameters.rotationRate * parameters.rotationRate
        let forceLimit = parameters.acceleration * parameters.acceleration
        let biasLimit = parameters.largestBias * parameters.largestBias
        let isQuiet =
            (rotationRate - meanRotationRate).lengthSquared < rateLimit
            && (acceleration - meanAcceleration).lengthSquared < forceLimit
            && meanRotationRate.lengthSquared < biasLimit
        quietTime = isQuiet ? quietTime + interval : 0
    }
}
