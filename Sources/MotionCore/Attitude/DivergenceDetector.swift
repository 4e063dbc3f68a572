internal import CMotionMath

/// Detects that the filter has diverged: its vertical has been wrong for some time.
///
/// The error states are small angles. If the attitude is wrong by tens of degrees, for example because the body was
/// turned over during a gap or turned much faster than the gyroscope's range, the filter would take long to converge.
/// The mean force reveals the error.
struct DivergenceDetector: Sendable, BitwiseCopyable {
    /// The low-passed force, earth frame, m/s².
    private(set) var force = Vector3(0, 0, standardGravity)
    private var divergedTime = 0.0

    /// Time constant of the low-pass, s.
    private static let timeConstant = 1.0

    mutating func reset() {
        self = DivergenceDetector()
    }

    /// Adds a block; returns whether the vertical must be found from scratch.
    mutating func hasDiverged(after sums: borrowing BlockSums, _ parameters: AttitudeParameters) -> Bool {
        let share = min(1, sums.duration / DivergenceDetector.timeConstant)
        force += (sums.earthForce * (1 / sums.duration) - force) * share
        let horizontal = (force.x * force.x + force.y * force.y).squareRoot()
        let isOff = atan2(horizontal, force.z) > parameters.divergenceAngle
        let isGravity = abs(force.length - standardGravity) < parameters.divergenceForceTolerance * standardGravity
        divergedTime = isOff && isGravity ? divergedTime + sums.duration : 0
        return divergedTime >= parameters.divergenceDuration
    }
}

/// The power of the position's innovations at low frequencies, compared with that of white ones.
///
/// The filter takes the position's distance from its origin for white noise. That of large movements is not white: it has
/// most of its power at low frequencies, as the errors of scale, misalignment and bias do, and the filter would attribute
/// it to those. If the filter is right, the innovations, each divided by its standard deviation, are white with variance
/// 1, and what a first-order low-pass with the share k leaves of them has the variance k/(2 - k). Power beyond that is
/// movement. The variance of the measurement and the walk of the origin are then increased in proportion, so that the
/// filter learns less from a large movement, but still learns.
struct SlowInnovations: Sendable, BitwiseCopyable {
    private var mean = (x: 0.0, y: 0.0)
    private var power = 0.0

    /// The factor of both variances, at least 1.
    private(set) var factor = 1.0

    /// Adds the innovations of a block, each divided by its standard deviation.
    mutating func update(x: Double, y: Double, duration: Double, _ parameters: AttitudeParameters) {
        let share = min(1, duration / parameters.slowInnovationTimeConstant)
        mean.x += (x - mean.x) * share
        mean.y += (y - mean.y) * share
        let white = share / (2 - share)
        let present = 0.5 * (mean.x * mean.x + mean.y * mean.y) / white
        power += (present - power) * min(1, duration / parameters.slowInnovationMemory)
        factor = min(parameters.largestSlowInnovationFactor, max(1, parameters.slowInnovationGain * power))
    }
}
