internal import MotionCore

/// The calibration that the pipeline uses, and what its attitude filter starts with.
struct CalibrationChange: Sendable {
    var chip = ChipCalibration()
    /// Scale and misalignment of the gyroscope beyond `chip`, along the sensor's axes.
    var learntScale: ScaleEstimate?
    /// The errors of the magnetometer; `nil` if it was not calibrated.
    var magnetometer: MagneticCalibration?
    /// Counts the calibrations of a run. A scale estimated with one calibration does not apply to another.
    var revision = 0
}

/// The gyroscope's bias during a rest.
struct RestReport: Sendable, BitwiseCopyable {
    /// The whole bias, rad/s, sensor axes.
    var bias: Vector3
    /// The chip's temperature, °C.
    var temperature: Double
    var time: Timestamp
}

/// The present estimate of the gyroscope's scale and misalignment.
struct ScaleReport: Sendable, BitwiseCopyable {
    /// Beyond the calibration, sensor axes.
    var estimate: ScaleEstimate
    /// The `CalibrationChange.revision` that it belongs to.
    var revision: Int
    var time: Timestamp
}
