/// What is known of one chip's errors; the identity where nothing is.
public struct ChipCalibration: Equatable, Sendable, BitwiseCopyable {
    public var accelerometer = AccelerometerCalibration()
    public var gyroscope = GyroscopeCalibration()

    /// Makes the calibration of a perfect chip.
    @inlinable
    public init() {}

    /// Makes a calibration of its parts.
    @inlinable
    public init(accelerometer: AccelerometerCalibration, gyroscope: GyroscopeCalibration) {
        self.accelerometer = accelerometer
        self.gyroscope = gyroscope
    }
}

/// The errors of an accelerometer: true = matrix · (measured − offset), along the sensor's axes.
///
/// Gravity alone cannot tell how the axes as a whole are turned; by convention they are not, and the matrix that
/// `AccelerometerFit` finds is symmetric. What is left of the turn belongs to the mounting.
public struct AccelerometerCalibration: Equatable, Sendable, BitwiseCopyable {
    /// What the sensor reads where there is no specific force, m/s².
    public var offset: Vector3

    /// Undoes scale factors (diagonal) and cross-axis sensitivity.
    public var matrix: Matrix3

    /// Makes a calibration; by default that of a perfect accelerometer.
    @inlinable
    public init(offset: Vector3 = .zero, matrix: Matrix3 = .identity) {
        self.offset = offset
        self.matrix = matrix
    }

    /// The specific force (m/s²) that made the sensor read `measured`.
    @inlinable
    public func apply(_ measured: Vector3) -> Vector3 { matrix * (measured - offset) }
}

/// The errors of a gyroscope: true = matrix · (measured − bias), along the sensor's axes.
public struct GyroscopeCalibration: Equatable, Sendable, BitwiseCopyable {
    /// What the sensor reads at rest at the reference temperature, rad/s.
    public var bias: Vector3

    /// Change of the bias with temperature, rad/s per °C.
    public var biasSlope: Vector3

    /// The temperature at which `bias` holds, °C.
    public var referenceTemperature: Double

    /// Undoes scale factors (diagonal) and misalignment against the accelerometer.
    public var matrix: Matrix3

    /// Makes a calibration; by default that of a perfect gyroscope.
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

    /// The bias (rad/s) at a temperature of the chip (°C); that at the reference temperature where it is unknown.
    @inlinable
    public func bias(at temperature: Double) -> Vector3 {
        temperature.isFinite ? bias + (temperature - referenceTemperature) * biasSlope : bias
    }

    /// The angular rate (rad/s) that made the sensor read `measured` at a temperature of the chip (°C).
    @inlinable
    public func apply(_ measured: Vector3, temperature: Double) -> Vector3 {
        matrix * (measured - bias(at: temperature))
    }
}
