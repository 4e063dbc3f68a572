public import MotionCore

/// A chip's calibration as it is stored between runs: its errors and its magnetometer's, how they were measured, and the
/// gyroscope's errors as learnt at rest and during movement.
public struct StoredCalibration: Equatable, Sendable {
    /// The errors measured in a calibration.
    ///
    /// A change of a matrix clears `learntScale`, which is relative to both: it corrects what the gyroscope's matrix leaves,
    /// and aligns the gyroscope with the axes of the accelerometer.
    public var chip: ChipCalibration {
        didSet {
            let isSame =
                chip.gyroscope.matrix == oldValue.gyroscope.matrix
                && chip.accelerometer.matrix == oldValue.accelerometer.matrix
            if !isSame { learntScale = nil }
        }
    }

    /// The gyroscope's bias as a function of temperature, learnt whenever the sensor is at rest.
    public var biasLine: BiasTemperatureLine

    /// The gyroscope's scale and misalignment that remain after `chip`, along the sensor's axes, learnt during movement;
    /// `nil` until there is an estimate. An element without an estimate is 0 and has the deviation of an unknown chip, 0.002.
    public var learntScale: ScaleEstimate?

    /// The errors of the magnetometer, along the axes of the accelerometer and gyroscope; `nil` if it is not calibrated, or if
    /// there is none.
    public var magnetometer: MagneticCalibration?

    /// How the accelerometer's errors were measured: "poses: 8, residual: 1.2 mg"; empty if unknown.
    public var accelerometerSource: String

    /// How the gyroscope's errors were measured: "turns: 6, residual: 0.2 degrees"; empty if unknown.
    public var gyroscopeSource: String

    /// How the magnetometer's errors were measured: "readings: 312, residual: 0.45 uT, heading: 0.8 degrees"; empty if
    /// unknown.
    public var magnetometerSource: String

    /// Creates a calibration; by default, that of an unknown chip.
    public init(
        chip: ChipCalibration = ChipCalibration(), biasLine: BiasTemperatureLine = BiasTemperatureLine(),
        learntScale: ScaleEstimate? = nil, magnetometer: MagneticCalibration? = nil,
        accelerometerSource: String = "", gyroscopeSource: String = "", magnetometerSource: String = ""
    ) {
        self.chip = chip
        self.biasLine = biasLine
        self.learntScale = learntScale
        self.magnetometer = magnetometer
        self.accelerometerSource = accelerometerSource
        self.gyroscopeSource = gyroscopeSource
        self.magnetometerSource = magnetometerSource
    }

    /// Whether it is the calibration of an unknown chip.
    public var isEmpty: Bool { self == StoredCalibration() }

    /// The errors that are removed from samples: those of `chip`, but with the learnt bias if there is one.
    public var effective: ChipCalibration {
        guard biasLine.hasBias else { return chip }
        var effective = chip
        effective.gyroscope.bias = biasLine.bias
        effective.gyroscope.biasSlope = biasLine.calibratedSlope
        effective.gyroscope.referenceTemperature = biasLine.referenceTemperature
        return effective
    }

    /// Applies a fit of the accelerometer to poses.
    package mutating func take(_ solution: AccelerometerFit.Solution) {
        chip.accelerometer = solution.calibration
        let residual = fixed(1000 * solution.residual / standardGravity, decimals: 2)
        let uncertainty = fixed(1000 * solution.uncertainty / standardGravity, decimals: 1)
        accelerometerSource = "poses: \(solution.poses), residual: \(residual) mg, uncertainty: \(uncertainty) mg"
    }

    /// Applies a fit of the gyroscope to turns. The bias at the temperature of the turns also updates `biasLine`.
    package mutating func take(_ solution: GyroscopeFit.Solution) {
        chip.gyroscope = solution.calibration
        biasLine.learn(bias: solution.calibration.bias, temperature: solution.calibration.referenceTemperature)
        let residual = fixed(solution.residual * degreesPerRadian, decimals: 2)
        let uncertainty = fixed(100 * solution.uncertainty, decimals: 2)
        gyroscopeSource = "turns: \(solution.turns), residual: \(residual) degrees, uncertainty: \(uncertainty) %"
    }

    /// Applies a fit of the magnetometer to the readings of a movement.
    package mutating func take(_ solution: MagneticFit.Solution) {
        magnetometer = solution.calibration
        let residual = fixed(solution.residual, decimals: 2)
        let heading = fixed(solution.headingDeviation * degreesPerRadian, decimals: 1)
        let readings = solution.readings - solution.readingsLeftOut
        magnetometerSource = "readings: \(readings), residual: \(residual) uT, heading: \(heading) degrees"
    }

    /// A summary of `learntScale`: "elements: 7 of 9, largest: -2.98 %, uncertainty: 0.07 %"; empty if no element has an
    /// estimate.
    public var learntScaleSource: String {
        guard let learntScale else { return "" }
        let deviations = elements(of: learntScale.deviation)
        let learnt = zip(elements(of: learntScale.scale), deviations).filter { $0.1 <= ScaleLearner.learntDeviation }
        guard let largest = learnt.map(\.0).max(by: { abs($0) < abs($1) }), let doubt = learnt.map(\.1).max() else {
            return ""
        }
        let percent = fixed(100 * largest, decimals: 2)
        return "elements: \(learnt.count) of \(deviations.count), largest: \(percent) %, "
            + "uncertainty: \(fixed(100 * doubt, decimals: 2)) %"
    }
}

/// The elements of a matrix, row after row.
func elements(of matrix: Matrix3) -> [Double] {
    [matrix.row0, matrix.row1, matrix.row2].flatMap { [$0.x, $0.y, $0.z] }
}
