internal import MotionCore

/// The chip's errors as they are to be taken out, and what the attitude filter is to begin with beyond them.
struct CalibrationOrder: Sendable {
    var chip = ChipCalibration()
    /// Along the sensor's axes.
    var learntScale: ScaleEstimate?
    /// Counts the calibrations of a run: what was learnt beyond another one says nothing of this.
    var revision = 0
}

/// What a rest told of the gyroscope.
struct RestReport: Sendable, BitwiseCopyable {
    /// Its whole bias, rad/s, sensor axes.
    var bias: Vector3
    /// The chip's temperature, °C.
    var temperature: Double
    var time: Timestamp
}

/// What is known by now of the gyroscope's scale and misalignment.
struct ScaleReport: Sendable, BitwiseCopyable {
    /// Beyond the calibration, sensor axes.
    var estimate: ScaleEstimate
    /// Beyond which of the calibrations that were in force in this run.
    var revision: Int
    var time: Timestamp
}
