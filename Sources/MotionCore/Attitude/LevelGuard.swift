internal import CMotionMath

/// Notices that the filter is lost: that what it takes for up has not been up for a while.
///
/// The error states are small angles; from an attitude that is wrong by tens of degrees, after a gap in which the body was
/// turned over or a rate far beyond the range, the filter would take long to find back. The mean force tells.
struct LevelGuard: Sendable, BitwiseCopyable {
    /// The low-passed force, earth frame, m/s².
    private var force = Vector3(0, 0, standardGravity)
    private var doubtful = 0.0

    /// Time constant of the low-pass, s.
    private static let timeConstant = 1.0

    /// Begins anew.
    mutating func reset() {
        self = LevelGuard()
    }

    /// Takes a block; returns whether the vertical has to be found anew.
    mutating func isLost(after sums: borrowing BlockSums, _ parameters: AttitudeParameters) -> Bool {
        let share = min(1, sums.duration / LevelGuard.timeConstant)
        force += (sums.earthForce * (1 / sums.duration) - force) * share
        let horizontal = (force.x * force.x + force.y * force.y).squareRoot()
        let isOff = atan2(horizontal, force.z) > parameters.largestLevelError
        let isGravity = abs(force.length - standardGravity) < parameters.levelTolerance * standardGravity
        doubtful = isOff && isGravity ? doubtful + sums.duration : 0
        return doubtful >= parameters.levelPatience
    }
}
