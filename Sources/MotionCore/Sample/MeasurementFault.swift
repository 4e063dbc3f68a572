/// What the readings of a sensor show that no movement can: the chip, its supply or its wires are broken.
public struct MeasurementFault: Equatable, Sendable, BitwiseCopyable {
    /// A sensor of the chip.
    public enum Sensor: Sendable, BitwiseCopyable {
        case accelerometer
        case gyroscope
    }

    /// What is impossible about the readings.
    public enum Kind: Sendable, BitwiseCopyable {
        /// The axis was at the end of its range in every sample for 2 s.
        case clipped
        /// The axis kept exactly one value for 10 s, without the noise that it had before or that the other axes have.
        case constant
        /// All axes have been exactly zero for 2 s: even in free fall a sensor has noise.
        case zero
    }

    public var sensor: Sensor
    /// 0, 1 or 2: the sensor's axis x, y or z.
    public var axis: Int
    public var kind: Kind

    @inlinable
    public init(_ sensor: Sensor, axis: Int, _ kind: Kind) {
        self.sensor = sensor
        self.axis = axis
        self.kind = kind
    }
}
