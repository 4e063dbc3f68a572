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
