/// How far an attitude may be off: standard deviations, rad.
public struct AttitudeDeviation: Equatable, Sendable, BitwiseCopyable {
    /// The angle between the estimated vertical and the true one.
    public var tilt: Double

    /// The heading against that of the start.
    public var heading: Double

    @inlinable
    public init(tilt: Double, heading: Double) {
        self.tilt = tilt
        self.heading = heading
    }
}

/// What adds to the deviations that the filter's covariance gives, block by block.
///
/// The covariance knows the errors that the filter estimates. Others have no state, since movement does not reveal them: the
/// accelerometer's bias and scale, the gyroscope's sensitivity to force, and the time between measurement and sample.
struct AttitudeDoubt: Sendable, BitwiseCopyable {
    /// Variance of the heading beyond the covariance, rad².
    private var heading = 0.0
    /// The mean square of the acceleration in the last few seconds, m²/s⁴: that of the force beyond gravity.
    private var acceleration = 0.0

    /// Adds to the variance of the heading, rad².
    mutating func addHeading(_ variance: Double) { heading += variance }

    /// Adds a block; returns the deviations at its end.
    mutating func deviation(
        after sums: borrowing BlockSums, _ covariance: borrowing ErrorCovariance, interval: Double,
        _ parameters: AttitudeParameters
    ) -> AttitudeDeviation {
        let share = 1 / sums.taken
        let present = max(0, sums.forceSquares * share - standardGravity * standardGravity)
        acceleration += (present - acceleration) * min(1, sums.duration / parameters.accelerationMemory)
        heading += present * parameters.forceSensitivity * parameters.forceSensitivity * sums.duration
        let late =
            (parameters.timeDeviation * parameters.timeDeviation + 0.25 * interval * interval) * sums.rateSquares * share
        let moved = parameters.tiltPerAcceleration * parameters.tiltPerAcceleration * acceleration
        let known = Double(
            covariance.variance(ErrorState.attitude(0)) + covariance.variance(ErrorState.attitude(1)))
        let tilt = known + parameters.tiltFloor * parameters.tiltFloor + moved + late
        let turn = Double(covariance.variance(ErrorState.heading)) + heading + late
        return AttitudeDeviation(
            tilt: min(.pi, tilt.squareRoot()), heading: min(AttitudeDoubt.unknownHeading, turn.squareRoot()))
    }

    /// The deviation of a heading of which nothing is known: all directions are equally probable.
    private static var unknownHeading: Double { .pi / 3.0.squareRoot() }
}
