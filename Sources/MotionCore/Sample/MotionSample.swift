/// The readings of a sensor at one instant.
///
/// A driver delivers vectors along the sensor's axes. After `SensorCalibration` they are along the body's axes.
public struct MotionSample: Equatable, Sendable, BitwiseCopyable {
    /// When the sample was measured, not when it was read.
    public var timestamp: Timestamp

    /// Specific force, m/s²: at rest it points up and is as long as gravity.
    public var acceleration: Vector3

    /// Angular rate, rad/s; zero if `flags` lacks `.rotationRate`.
    public var rotationRate: Vector3

    /// The chip's temperature, °C; not-a-number if the chip does not report it.
    public var temperature: Double

    /// What the sample contains and what is wrong with it.
    public var flags: Flags

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

    /// What a sample contains and what is wrong with it.
    public struct Flags: OptionSet, Sendable, BitwiseCopyable {
        public let rawValue: UInt16

        @inlinable
        public init(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// `rotationRate` was measured.
        @inlinable
        public static var rotationRate: Flags { Flags(rawValue: 1 << 0) }

        /// Samples are missing between this one and the previous one.
        @inlinable
        public static var afterGap: Flags { Flags(rawValue: 1 << 1) }

        /// All three flags of clipped accelerometer axes.
        @inlinable
        public static var accelerationClipped: Flags { Flags(rawValue: 0b111 << 2) }

        /// All three flags of clipped gyroscope axes.
        @inlinable
        public static var rotationRateClipped: Flags { Flags(rawValue: 0b111 << 5) }

        /// Any axis of either sensor was clipped.
        ///
        /// Computed as a union: an option set literal is an array, which is kept off the heap only by the optimiser.
        @inlinable
        public static var clipped: Flags { accelerationClipped.union(rotationRateClipped) }

        /// The flags of clipped axes: bits 0 to 2 are the accelerometer's x, y, z, bits 3 to 5 the gyroscope's.
        init(clippedAxes: UInt16) {
            self.init(rawValue: clippedAxes << 2)
        }

        /// The clipped axes: bits 0 to 2 are the accelerometer's x, y, z, bits 3 to 5 the gyroscope's.
        var clippedAxes: Int { Int(rawValue >> 2 & 0b111111) }

        /// The accelerometer's axis 0 (x), 1 (y) or 2 (z) was clipped.
        @inlinable
        public static func accelerationClipped(axis: Int) -> Flags { Flags(rawValue: 1 << (2 + UInt16(axis))) }

        /// The gyroscope's axis 0 (x), 1 (y) or 2 (z) was clipped.
        @inlinable
        public static func rotationRateClipped(axis: Int) -> Flags { Flags(rawValue: 1 << (5 + UInt16(axis))) }
    }
}

/// The reading of a magnetometer at one instant.
///
/// A driver delivers it along the axes of the accelerometer and gyroscope that it belongs to, not calibrated.
public struct MagneticSample: Equatable, Sendable, BitwiseCopyable {
    /// When the field was measured, not when it was read.
    public var timestamp: Timestamp

    /// The magnetic flux density, µT. The earth's is 25 to 65 µT.
    public var field: Vector3

    @inlinable
    public init(timestamp: Timestamp, field: Vector3) {
        self.timestamp = timestamp
        self.field = field
    }
}
