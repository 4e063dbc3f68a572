/// What a sensor read on the average while it lay still, along its own axes.
package struct RestingPose: Equatable, Sendable, BitwiseCopyable {
    /// Mean specific force, m/s², with the accelerometer's errors.
    package var force: Vector3

    /// Mean angular rate, rad/s: the gyroscope's bias; zero where the sensor has no gyroscope.
    package var rate: Vector3

    /// Mean temperature of the chip, °C; not-a-number where unknown.
    package var temperature: Double

    /// Standard deviation of single readings of the force, m/s², the three axes together.
    package var forceSpread: Double

    /// Standard deviation of single readings of the rate, rad/s, the three axes together.
    package var rateSpread: Double

    /// How many samples were averaged.
    package var count: Int

    /// Makes a pose of its means.
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
}
