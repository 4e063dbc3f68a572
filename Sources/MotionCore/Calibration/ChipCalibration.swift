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
