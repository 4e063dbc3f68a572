/// The mean readings of a sensor that lay still, along its own axes.
package struct RestingPose: Equatable, Sendable, BitwiseCopyable {
    /// Mean specific force, m/s², including the accelerometer's errors.
    package var force: Vector3

    /// Mean angular rate, rad/s: the gyroscope's bias; zero if the sensor has no gyroscope.
    package var rate: Vector3

    /// Mean chip temperature, °C; not-a-number if unknown.
    package var temperature: Double

    /// Standard deviation of single force readings, m/s², the three axes together.
    package var forceSpread: Double

    /// Standard deviation of single rate readings, rad/s, the three axes together.
    package var rateSpread: Double

    /// The number of samples averaged.
    package var count: Int

    @inlinable
    package init(
        force: Vector3, rate: Vector3 = .zero, temperature: Double = .nan, forceSpread: Double = 0,
        rateSpread: Double = 0, count: Int = 1
    ) {
        self.force = force
        self.rate = rate
        self.temperature = temperature
        self.forceSpread = forceSpread
        self.rateSpread = rateSpread
        self.count = count
    }

    /// The pose with its force multiplied.
    func scaled(by factor: Double) -> RestingPose {
        var scaled = self
        scaled.force = force * factor
        scaled.forceSpread = forceSpread * factor
        return scaled
    }
}
