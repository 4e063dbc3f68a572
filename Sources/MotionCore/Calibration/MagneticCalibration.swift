/// The errors of a magnetometer on its board, along the axes of the accelerometer and gyroscope that it belongs to.
public struct MagneticCalibration: Equatable, Sendable, BitwiseCopyable {
    /// The field of magnetised parts of the board, µT, which turns with the board.
    public var hardIron: Vector3

    /// Corrects scale, axes and soft iron: field = softIron · (reading - hardIron).
    public var softIron: Matrix3

    /// Strength and dip of the field where it was calibrated; `nil` if unknown.
    public var place: MagneticFieldFigures?

    /// A calibration; by default that of an ideal magnetometer.
    @inlinable
    public init(hardIron: Vector3 = .zero, softIron: Matrix3 = .identity, place: MagneticFieldFigures? = nil) {
        self.hardIron = hardIron
        self.softIron = softIron
        self.place = place
    }

    /// Corrects a reading, µT.
    @inlinable
    public func apply(_ reading: Vector3) -> Vector3 { softIron * (reading - hardIron) }
}

/// Strength and dip of a magnetic field.
public struct MagneticFieldFigures: Equatable, Sendable, BitwiseCopyable {
    /// The strength, µT.
    public var strength: Double

    /// The angle below the horizontal, rad; negative in the south.
    public var dip: Double

    @inlinable
    public init(strength: Double, dip: Double) {
        self.strength = strength
        self.dip = dip
    }
}
