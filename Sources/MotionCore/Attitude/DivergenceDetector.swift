internal import CMotionMath

/// Detects that the filter has diverged: its vertical has been wrong for some time.
///
/// The error states are small angles. If the attitude is wrong by tens of degrees, for example because the body was
/// turned over during a gap or turned much faster than the gyroscope's range, the filter would take long to converge.
/// The mean force reveals the error.
struct DivergenceDetector: Sendable, BitwiseCopyable {
    /// The low-passed force, earth frame, m/s².
    private var force = Vector3(0, 0, standardGravity)
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
