public import MotionCore

/// What is kept of a chip between two runs: its errors, how they were found, and what rests taught of the gyroscope's bias.
public struct StoredCalibration: Equatable, Sendable {
    /// The errors as they were found in a calibration.
    public var chip: ChipCalibration

    /// The gyroscope's bias over temperature, learnt whenever the sensor rested.
    public var biasLine: BiasTemperatureLine

    /// Where the accelerometer's errors come from: "poses: 8, residual: 1.2 mg"; empty where they are not known.
    public var accelerometerSource: String

    /// Where the gyroscope's errors come from: "turns: 6, residual: 0.2 degrees"; empty where they are not known.
    public var gyroscopeSource: String

    /// Makes a calibration of its parts; by default that of a chip of which nothing is known.
    public init(
        chip: ChipCalibration = ChipCalibration(), biasLine: BiasTemperatureLine = BiasTemperatureLine(),
        accelerometerSource: String = "", gyroscopeSource: String = ""
    ) {
        self.chip = chip
        self.biasLine = biasLine
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
    public mutating func take(_ solution: AccelerometerFit.Solution) {
        chip.accelerometer = solution.calibration
        let residual = fixed(1000 * solution.residual / standardGravity, decimals: 2)
        let uncertainty = fixed(1000 * solution.uncertainty / standardGravity, decimals: 1)
        accelerometerSource = "poses: \(solution.poses), residual: \(residual) mg, uncertainty: \(uncertainty) mg"
    }

    /// Takes over what turns told of the gyroscope; its bias at the temperature of the turns is a lesson for the line.
    public mutating func take(_ solution: GyroscopeFit.Solution) {
        chip.gyroscope = solution.calibration
        biasLine.learn(bias: solution.calibration.bias, temperature: solution.calibration.referenceTemperature)
        let residual = fixed(solution.residual * degreesPerRadian, decimals: 2)
        let uncertainty = fixed(100 * solution.uncertainty, decimals: 2)
        gyroscopeSource = "turns: \(solution.turns), residual: \(residual) degrees, uncertainty: \(uncertainty) %"
    }
}
