package import MotionCore

// Explanations and advice for the user.

extension CalibrationError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notRunning: "the sensor is not being read"
        case .resources: "the system has no file descriptor left"
        case .timedOut(nil): "no samples arrived"
        case .timedOut(.unmoved): "the board was not moved"
        case .timedOut(.moving(let unrest)): "the board did not come to rest: \(unrest.explanation)"
        case .timedOut: "the board did not lie still long enough"
        case .cancelled: "cancelled"
        case .sensorFailed(let fault): "the sensor failed: \(fault)"
        }
    }
}

extension PoseCollector.Disturbance {
    /// What disturbs the rest, in words.
    package var explanation: String {
        switch self {
        case .rotation: "it is turning"
        case .force: "it is being shaken or knocked"
        case .drift: "it is slowly tilting"
        case .badSamples: "samples are missing or clipped"
        }
    }
}

extension AccelerometerFitError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notGravity(let length):
            "the measured force is \(fixed(length / standardGravity, decimals: 2)) g, not gravity"
        case .tooNear(let pose, let angle):
            "this is only \(degrees(angle)) from pose \(pose + 1): turn the board further"
        case .tooFewPoses(let have, let need): "\(have) poses are too few; \(need) are needed"
        case .notSpread(let missing): "the poses do not cover every side: add one with \(side(missing)) up"
        case .noSolution: "the poses contradict one another"
        case .implausibleOffset(let axis, let offset):
            "an offset of \(milliG(offset)) on \(axisName(axis)) is more than any working chip has; was the board still?"
        case .implausibleMatrix: "no working chip has such scale factors; was the board still?"
        case .residualTooLarge(let residual, let worst):
            "gravity is off by \(milliG(residual)), most in pose \(worst + 1); was the board still?"
        }
    }
}

extension MagneticFitError: CustomStringConvertible {
    /// Why there is no calibration yet, and what to do about it.
    package var description: String {
        switch self {
        case .tooFewReadings(let have, let need):
            return "\(100 * have / max(1, need)) % of the turning is done"
        case .notTurnedEnough(let deviation, let axis, let missing):
            let limit = fixed(MagneticFit.Parameters().largestDeviation, decimals: 1)
            return
                "the \(axisName(axis)) component of the hard iron is known to \(fixed(deviation, decimals: 1)) µT, "
                + "\(limit) µT is needed: tilt it further, best with \(side(missing.direction)) up"
        case .residualTooLarge(let residual):
            return
                "the readings contradict one another by \(fixed(residual, decimals: 1)) µT: move away from iron, magnets "
                + "and cables, and turn it more slowly"
        case .implausibleStrength(let strength):
            return
                "the field would have \(fixed(strength, decimals: 0)) µT, which the earth's has nowhere: calibrate it "
                + "outside, or away from iron"
        case .implausibleSoftIron(let part):
            return
                "iron on the board would distort the field by \(fixed(100 * part, decimals: 0)) %: take iron and magnets "
                + "away from the board"
        case .wrongAxes(let axes):
            let sides = [axes.row0, axes.row1, axes.row2].map { row in side(row).filter { $0 != "+" } }
            return
                "the axes of the magnetometer do not match those of the gyroscope: its \(sides.joined(separator: ", ")), "
                + "or the negatives of all three, lie along x, y, z; report it with the name of the board"
        case .noSolution:
            return "the readings give no calibration: turn it about other axes"
        }
    }
}

private func degrees(_ angle: Double) -> String { "\(fixed(angle * degreesPerRadian, decimals: 0)) degrees" }

private func milliG(_ force: Double) -> String { "\(fixed(1000 * force / standardGravity, decimals: 0)) mg" }

private func axisName(_ axis: Int) -> String { axis == 0 ? "x" : axis == 1 ? "y" : "z" }

/// The axes that make up a direction, "+x", "-y+z".
func side(_ direction: Vector3) -> String {
    var text = ""
    for axis in 0..<3 where abs(direction[axis]) > 0.3 {
        text += (direction[axis] < 0 ? "-" : "+") + axisName(axis)
    }
    return text
}
