public import MotionCore

/// What is kept of a chip between two runs: its errors, how they were found, and what rests and movement taught of the
/// gyroscope.
public struct StoredCalibration: Equatable, Sendable {
    /// The errors as they were found in a calibration.
    ///
    /// Other matrices forget `learntScale`, which is told beyond the old ones: the gyroscope's, and the accelerometer's, to
    /// whose axes it aligns the gyroscope.
    public var chip: ChipCalibration {
        didSet {
            let isSame =
                chip.gyroscope.matrix == oldValue.gyroscope.matrix
                && chip.accelerometer.matrix == oldValue.accelerometer.matrix
            if !isSame { learntScale = nil }
        }
    }

    /// The gyroscope's bias over temperature, learnt whenever the sensor rested.
    public var biasLine: BiasTemperatureLine

    /// What movement taught of the gyroscope's scale and misalignment beyond `chip`, along the sensor's axes; `nil` where it
    /// taught nothing yet. An element of which it taught nothing is 0 and has the deviation of an unknown chip, 0.002.
    public var learntScale: ScaleEstimate?

    /// Where the accelerometer's errors come from: "poses: 8, residual: 1.2 mg"; empty where they are not known.
    public var accelerometerSource: String

    /// Where the gyroscope's errors come from: "turns: 6, residual: 0.2 degrees"; empty where they are not known.
    public var gyroscopeSource: String

    /// Makes a calibration of its parts; by default that of a chip of which nothing is known.
    public init(
        chip: ChipCalibration = ChipCalibration(), biasLine: BiasTemperatureLine = BiasTemperatureLine(),
        learntScale: ScaleEstimate? = nil, accelerometerSource: String = "", gyroscopeSource: String = ""
    ) {
        self.chip = chip
        self.biasLine = biasLine
        self.learntScale = learntScale
        self.accelerometerSource = accelerometerSource
        self.gyroscopeSource = gyroscopeSource
    }

    /// Whether nothing is known.
    public var isEmpty: Bool { self == StoredCalibration() }

    /// The errors as they are taken out of samples: the gyroscope's bias is the learnt one, where there is one.
    public var effective: ChipCalibration {
        guard biasLine.hasBias else { return chip }
        var effective = chip
        effective.gyroscope.bias = biasLine.bias
        effective.gyroscope.biasSlope = biasLine.calibratedSlope
        effective.gyroscope.referenceTemperature = biasLine.referenceTemperature
        return effective
    }

    /// Takes over what poses told of the accelerometer.
    package mutating func take(_ solution: AccelerometerFit.Solution) {
        chip.accelerometer = solution.calibration
        let residual = fixed(1000 * solution.residual / standardGravity, decimals: 2)
        let uncertainty = fixed(1000 * solution.uncertainty / standardGravity, decimals: 1)
        accelerometerSource = "poses: \(solution.poses), residual: \(residual) mg, uncertainty: \(uncertainty) mg"
    }

    /// Takes over what turns told of the gyroscope; its bias at the temperature of the turns is a lesson for the line.
    package mutating func take(_ solution: GyroscopeFit.Solution) {
        chip.gyroscope = solution.calibration
        biasLine.learn(bias: solution.calibration.bias, temperature: solution.calibration.referenceTemperature)
        let residual = fixed(solution.residual * degreesPerRadian, decimals: 2)
        let uncertainty = fixed(100 * solution.uncertainty, decimals: 2)
        gyroscopeSource = "turns: \(solution.turns), residual: \(residual) degrees, uncertainty: \(uncertainty) %"
    }

    /// What movement taught of the gyroscope's scale and misalignment, for people: "elements: 7 of 9, largest: -2.98 %,
    /// uncertainty: 0.07 %"; empty where it taught nothing.
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
