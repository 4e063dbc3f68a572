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
/// accelerometer's bias and scale, an acceleration that lasts, the gyroscope's sensitivity to force, and the time between
/// measurement and attitude.
struct AttitudeDoubt: Sendable, BitwiseCopyable {
    /// Variance of the heading beyond the covariance, rad².
    private var heading = 0.0
    /// The mean square of the slow horizontal acceleration in the last few seconds, m²/s⁴.
    private var slowAcceleration = 0.0

    /// Adds to the variance of the heading, rad².
    mutating func addHeading(_ variance: Double) { heading += variance }

    /// Adds a block; returns the deviations at its end. `slowForce` is the low-passed force, earth frame, m/s²; `interval` is
    /// the usual sample period, s.
    mutating func deviation(
        after sums: borrowing BlockSums, _ covariance: borrowing ErrorCovariance, slowForce: Vector3,
        interval: Double, _ parameters: AttitudeParameters
    ) -> AttitudeDeviation {
        func variance(_ deviation: Double, _ square: Double) -> Double { deviation * deviation * square }
        let slow = slowForce.x * slowForce.x + slowForce.y * slowForce.y
        slowAcceleration += (slow - slowAcceleration) * min(1, sums.duration / parameters.accelerationMemory)
        let share = 1 / sums.taken
        let acceleration = max(0, sums.forceSquares * share - standardGravity * standardGravity)
        heading += variance(parameters.forceSensitivity, acceleration) * sums.duration
        let time = variance(parameters.timeDeviation, 1) + variance(0.5, interval * interval)
        let late = time * sums.rateSquares * share
        let known = covariance.variance(ErrorState.attitude(0)) + covariance.variance(ErrorState.attitude(1))
        let tilt =
            Double(known) + variance(parameters.tiltFloor, 1)
            + variance(parameters.tiltPerAcceleration, slowAcceleration) + late
        let turn = Double(covariance.variance(ErrorState.heading)) + heading + late
        return AttitudeDeviation(
            tilt: min(.pi, tilt.squareRoot()), heading: min(AttitudeDoubt.unknownHeading, turn.squareRoot()))
    }

    /// The deviation of a heading of which nothing is known: all directions are equally probable.
    private static var unknownHeading: Double { .pi / 3.0.squareRoot() }
}
