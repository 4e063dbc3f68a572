/// The heading by a magnetometer.
public struct HeadingState: Equatable, Sendable, BitwiseCopyable {
    /// How far it can be trusted.
    public var quality: HeadingQuality

    /// Standard deviation of the heading against magnetic north, rad.
    public var deviation: Double

    /// The strength of the field that the heading is measured by, µT.
    public var field: Double

    @inlinable
    public init(quality: HeadingQuality, deviation: Double, field: Double) {
        self.quality = quality
        self.deviation = deviation
        self.field = field
    }
}

/// How far the heading can be trusted.
public enum HeadingQuality: UInt8, Sendable, BitwiseCopyable {
    /// There has been no reading, or the field is not yet known to be that of the earth, or the heading is uncertain: its
    /// deviation is more than 10°.
    case learning
    /// The field is as expected.
    case tracking
    /// The field is disturbed: the heading is that of the gyroscope, or relative to another field.
    case disturbed
}
