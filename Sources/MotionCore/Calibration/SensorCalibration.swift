/// Converts readings along the sensor's axes into what the body experiences along its own axes: removes the chip's
/// errors, then rotates the axes.
package struct SensorCalibration: Equatable, Sendable, BitwiseCopyable {
    /// Rotates sensor axes into body axes; orthonormal.
    package let mount: Matrix3

    /// The chip's errors.
    package let chip: ChipCalibration

    /// The chip's matrices multiplied by the mounting: one product per sample instead of two.
    private let forceMatrix: Matrix3
    private let rateMatrix: Matrix3
    private let isIdentity: Bool

    /// The default changes nothing.
    package init(mount: Matrix3 = .identity, chip: ChipCalibration = ChipCalibration()) {
        self.mount = mount
        self.chip = chip
        forceMatrix = mount * chip.accelerometer.matrix
        rateMatrix = mount * chip.gyroscope.matrix
        isIdentity = mount == .identity && chip == ChipCalibration()
    }

    /// The sample along the body's axes. The flag of a clipped sensor axis is set for every body axis that it
    /// contributes to.
    @inline(__always)
    package func apply(_ sample: MotionSample) -> MotionSample {
        if isIdentity { return sample }
        var turned = sample
        turned.acceleration = forceMatrix * (sample.acceleration - chip.accelerometer.offset)
        // Without a gyroscope the rates are zeros, not readings, and have no bias.
        if sample.flags.contains(.rotationRate) {
            turned.rotationRate =
                rateMatrix * (sample.rotationRate - chip.gyroscope.bias(at: sample.temperature))
        }
        if !sample.flags.isDisjoint(with: .clipped) {
            turned.flags = turnedFlags(sample.flags)
        }
        return turned
    }

    /// The raw reading, rad/s along the sensor's axes, for the calibrated rate `rate` along the body's axes at a
    /// temperature (°C). Turns a bias that remains after calibration into the sensor's whole bias.
    package func sensorReading(ofRate rate: Vector3, temperature: Double) -> Vector3 {
        chip.gyroscope.bias(at: temperature) + rateMatrix.inverse * rate
    }

    /// A body axis counts as clipped if a clipped sensor axis makes up more than a tenth of it.
    private func turnedFlags(_ flags: MotionSample.Flags) -> MotionSample.Flags {
        var turned = flags.subtracting(.clipped)
        for body in 0..<3 {
            for sensor in 0..<3 where abs(mount[body][sensor]) > 0.1 {
                if flags.contains(.accelerationClipped(axis: sensor)) {
                    turned.insert(.accelerationClipped(axis: body))
                }
                if flags.contains(.rotationRateClipped(axis: sensor)) {
                    turned.insert(.rotationRateClipped(axis: body))
                }
            }
        }
        return turned
    }
}

/// The known errors of one chip; the identity if none are known.
public struct ChipCalibration: Equatable, Sendable, BitwiseCopyable {
    public var accelerometer = AccelerometerCalibration()
    public var gyroscope = GyroscopeCalibration()

    /// Creates the calibration of a perfect chip.
    @inlinable
    public init() {}

    @inlinable
    public init(accelerometer: AccelerometerCalibration, gyroscope: GyroscopeCalibration) {
        self.accelerometer = accelerometer
        self.gyroscope = gyroscope
    }
}

/// The errors of an accelerometer: true = matrix · (measured − offset), along the sensor's axes.
///
/// Gravity alone does not show how the axes are turned as a whole. By convention they are not: the matrix that
/// `AccelerometerFit` finds is symmetric, and any remaining rotation belongs to the mounting.
public struct AccelerometerCalibration: Equatable, Sendable, BitwiseCopyable {
    /// The reading without specific force, m/s².
    public var offset: Vector3

    /// Corrects scale factors (diagonal) and cross-axis sensitivity.
    public var matrix: Matrix3

    /// The default is a perfect accelerometer.
    @inlinable
    public init(offset: Vector3 = .zero, matrix: Matrix3 = .identity) {
        self.offset = offset
        self.matrix = matrix
    }

    /// The specific force (m/s²) for the reading `measured`.
    @inlinable
    public func apply(_ measured: Vector3) -> Vector3 { matrix * (measured - offset) }
}

/// The errors of a gyroscope: true = matrix · (measured − bias), along the sensor's axes.
public struct GyroscopeCalibration: Equatable, Sendable, BitwiseCopyable {
    /// The reading at rest at the reference temperature, rad/s.
    public var bias: Vector3

    /// Change of the bias with temperature, rad/s per °C.
    public var biasSlope: Vector3

    /// The temperature at which `bias` holds, °C.
    public var referenceTemperature: Double

    /// Corrects scale factors (diagonal) and misalignment relative to the accelerometer.
    public var matrix: Matrix3

    /// The default is a perfect gyroscope.
    @inlinable
    public init(
        bias: Vector3 = .zero, biasSlope: Vector3 = .zero, referenceTemperature: Double = 25,
        matrix: Matrix3 = .identity
    ) {
        self.bias = bias
        self.biasSlope = biasSlope
        self.referenceTemperature = referenceTemperature
        self.matrix = matrix
    }

    /// The bias (rad/s) at a chip temperature (°C); the one at the reference temperature if the temperature is unknown.
    @inlinable
    public func bias(at temperature: Double) -> Vector3 {
        temperature.isFinite ? bias + (temperature - referenceTemperature) * biasSlope : bias
    }

    /// The angular rate (rad/s) for the reading `measured` at a chip temperature (°C).
    @inlinable
    public func apply(_ measured: Vector3, temperature: Double) -> Vector3 {
        matrix * (measured - bias(at: temperature))
    }
}

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
