/// What a sensor read on the average while it lay still, along its own axes.
public struct RestingPose: Equatable, Sendable, BitwiseCopyable {
    /// Mean specific force, m/s², with the accelerometer's errors.
    public var force: Vector3

    /// Mean angular rate, rad/s: the gyroscope's bias; zero where the sensor has no gyroscope.
    public var rate: Vector3

    /// Mean temperature of the chip, °C; not-a-number where unknown.
    public var temperature: Double

    /// Standard deviation of single readings of the force, m/s², the three axes together.
    public var forceSpread: Double

    /// Standard deviation of single readings of the rate, rad/s, the three axes together.
    public var rateSpread: Double

    /// How many samples were averaged.
    public var count: Int

    /// Makes a pose of its means.
    @inlinable
    public init(
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
