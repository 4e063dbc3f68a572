internal import IMUDrivers

/// The noise of accelerometers by the name of the part.
///
/// Typical values of the datasheets, for the mode that the driver uses. Parts whose datasheet has no figure are missing.
package enum AccelerometerNoise {
    /// µg/√Hz per axis.
    private static let densities: [String: Double] = [
        "MPU-6050": 400, "MPU-6500": 300, "MPU-9250": 300, "MPU-9255": 300, "ICM-20948": 230, "ICM-42688-P": 70,
        "LSM6DSO": 110, "LSM6DSOX": 110, "LIS3DH": 220, "BMI160": 180, "BMI270": 160, "ADXL343": 420, "ADXL345": 420,
        "ADXL346": 420,
    ]

    /// The noise density of a part, m/s²/√Hz per axis; `nil` if it is not known.
    package static func density(of part: String) -> Double? { densities[part].map { $0 * 1e-6 * 9.80665 } }
}

extension IMUInfo {
    /// The accelerometer's noise, m/s²/√Hz per axis; `nil` if it is not known.
    var noiseDensity: Double? { AccelerometerNoise.density(of: "\(name)") }
}
