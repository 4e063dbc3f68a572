package import MotionCore

// What to say and to advise, for people.

extension CalibrationError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notRunning: "the sensor is not being read"
        case .resources: "the system has no file descriptor left"
        case .timedOut(nil): "no samples came"
        case .timedOut(.unmoved): "the board was not moved"
        case .timedOut(.moving(let unrest)): "the board did not come to rest: \(unrest.explanation)"
        case .timedOut: "the board did not lie still for long enough"
        case .cancelled: "cancelled"
        case .sensorFailed(let fault): "the sensor failed: \(fault)"
        case .noStart: "a turn begins with a rest, and there was none"
        case .damagedTurn(let damage): damage.explanation
        }
    }
}

extension PoseCollector.Disturbance {
    /// What disturbs the rest, for people.
    package var explanation: String {
        switch self {
        case .rotation: "it turns"
        case .force: "it is shaken or knocked"
        case .drift: "it leans slowly to one side"
        case .badSamples: "samples are missing or at the end of their range"
        }
    }
}

extension TurnRecorder.Damage {
    /// What went wrong and what to do, for people.
    package var explanation: String {
        switch self {
        case .gap: "samples were lost during the turn; do it again"
        case .clipped: "the turn was too fast for the gyroscope; do it again, slower"
        case .noGyroscope: "the sensor has no gyroscope"
        case .tooLong: "the turn took too long; do it again, within two minutes"
        }
    }
}

extension AccelerometerFitError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notGravity(let length):
            "the force is \(fixed(length / standardGravity, decimals: 2)) g, which is not gravity"
        case .tooNear(let pose, let angle):
            "only \(degrees(angle)) from pose \(pose + 1): turn the board further"
        case .tooFewPoses(let have, let need): "\(have) poses are too few, \(need) are needed"
        case .notSpread(let missing): "the poses leave a side out: add one with \(side(missing)) up"
        case .noSolution: "the poses contradict one another"
        case .implausibleOffset(let axis, let offset):
            "an offset of \(milliG(offset)) on \(axisName(axis)) is beyond any working chip's; was the board still?"
        case .implausibleMatrix: "scale factors beyond any working chip's; was the board still?"
        case .residualTooLarge(let residual, let worst):
            "gravity is off by \(milliG(residual)), most in pose \(worst + 1); was the board still?"
        }
    }
}

extension GyroscopeFitError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .tooSmall(let angle): "a turn of \(degrees(angle)) tells too little: turn further"
        case .notBack(let angle): "the board is tilted by \(degrees(angle)) against the start: put it back as it lay"
        case .wrongNumberOfTurns(let measured, let told):
            "the gyroscope saw \(fixed(measured, decimals: 2)) turns, not \(told)"
        case .tooFewTurns(let have, let need): "\(have) turns are too few, \(need) are needed"
        case .axesDoNotSpan(let axis, _):
            "the turns leave an axis out: turn the board with its \(axisName(axis)) axis level, about that axis"
        case .noSolution: "the turns contradict one another"
        case .implausibleMatrix: "scale factors beyond any working chip's; was the board still between the turns?"
        case .residualTooLarge(let residual):
            "the turns are off by \(degrees(residual)) from gravity; was the board still between them?"
        }
    }
}

extension MountFitError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .wrongAngle(let angle): "tipped by \(degrees(angle)); it has to be between 20 and 160 degrees"
        case .notGravity(let length):
            "the force is \(fixed(length / standardGravity, decimals: 2)) g, which is not gravity"
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
