/// What a sensor measured at one instant.
///
/// From a driver the vectors are along the sensor's axes; after `SensorCalibration` they are along the body's.
public struct MotionSample: Equatable, Sendable, BitwiseCopyable {
    /// When it was measured, not when it was read.
    public var timestamp: Timestamp

    /// Specific force, m/s²: at rest it points up with the length of gravity.
    public var acceleration: Vector3

    /// Angular rate, rad/s; zero where `flags` lacks `.rotationRate`.
    public var rotationRate: Vector3

    /// The chip's temperature, °C; not-a-number where the chip does not say.
    public var temperature: Double

    /// What is there, and what is wrong with it.
    public var flags: Flags

    /// Makes a sample.
    @inlinable
    public init(
        timestamp: Timestamp, acceleration: Vector3, rotationRate: Vector3, temperature: Double = .nan,
        flags: Flags = .rotationRate
    ) {
        self.timestamp = timestamp
        self.acceleration = acceleration
        self.rotationRate = rotationRate
        self.temperature = temperature
        self.flags = flags
    }

    /// What a sample holds and what it lacks.
    public struct Flags: OptionSet, Sendable, BitwiseCopyable {
        public let rawValue: UInt16

        @inlinable
        public init(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// `rotationRate` was measured.
        @inlinable
        public static var rotationRate: Flags { Flags(rawValue: 1 << 0) }

        /// Samples are missing between this one and the one before.
        @inlinable
        public static var afterGap: Flags { Flags(rawValue: 1 << 1) }

        /// The accelerometer's x, y or z axis was at the end of its range.
        @inlinable
        public static var accelerationClipped: Flags { Flags(rawValue: 0b111 << 2) }

        /// The gyroscope's x, y or z axis was at the end of its range.
        @inlinable
        public static var rotationRateClipped: Flags { Flags(rawValue: 0b111 << 5) }

        /// Any axis of either sensor was at the end of its range.
        ///
        /// A constant, since a literal of several options is an array, which only the optimiser keeps off the heap.
        @inlinable
        public static var clipped: Flags { accelerationClipped.union(rotationRateClipped) }

        /// The flags of cut-off axes: bits 0 to 2 the accelerometer's x, y, z, bits 3 to 5 the gyroscope's.
        init(clippedAxes: UInt16) {
            self.init(rawValue: clippedAxes << 2)
        }

        /// The accelerometer's axis 0 (x), 1 (y) or 2 (z) was at the end of its range.
        @inlinable
        public static func accelerationClipped(axis: Int) -> Flags { Flags(rawValue: 1 << (2 + UInt16(axis))) }

        /// The gyroscope's axis 0 (x), 1 (y) or 2 (z) was at the end of its range.
        @inlinable
        public static func rotationRateClipped(axis: Int) -> Flags { Flags(rawValue: 1 << (5 + UInt16(axis))) }
    }
}
