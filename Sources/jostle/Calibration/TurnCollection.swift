internal import LinuxSystem
internal import MotionCore

/// Collects the turns from which a gyroscope's scale is computed.
struct TurnCollection {
    /// The result of adding a turn.
    enum Outcome {
        /// The turn is used; with its description.
        case added(String)
        /// The turn is unusable, and why.
        case refused(String)
    }

    private let accelerometer: AccelerometerCalibration
    /// The number of full turns about the vertical that one of the turns must have; 0 if none is required.
    private let fullTurns: Int
    private var fit: GyroscopeFit

    /// If the fit still fails after this many turns, more do not help.
    private static let mostTurns = 20

    init(accelerometer: AccelerometerCalibration, fullTurns: Int) {
        self.accelerometer = accelerometer
        self.fullTurns = fullTurns
        fit = GyroscopeFit(accelerometer: accelerometer)
    }

    /// The number of usable turns so far.
    var count: Int { fit.turns.count }

    /// Adds the recording between two rests.
    mutating func add(_ recorded: TurnSegment?, damage: TurnRecorder.Damage?) -> Outcome {
        guard var turn = recorded else { return .refused(TurnCollection.words(for: damage)) }
        let heading = abs(turn.measuredHeading)
        let isFull = fullTurns > 0 && abs(heading / (2 * .pi) - Double(fullTurns)) < 0.15 * Double(fullTurns)
        if isFull { turn.fullTurns = fullTurns }
        do {
            try fit.add(turn)
        } catch {
            return .refused(TurnCollection.words(for: error))
        }
        let angle = turn.measuredRotation.rotationVector.length * degreesPerRadian
        return .added(isFull ? "all the way round \(TurnCollection.times(fullTurns))" : "\(decimal(angle, 0))°")
    }

    /// The calibration if the turns suffice, else what is still missing.
    ///
    /// - Throws: status 65 if the turns give no plausible calibration.
    func solved() throws -> (solution: GyroscopeFit.Solution?, advice: String) {
        do {
            let solution = try fit.solve()
            guard fullTurns == 0 || fit.turns.contains(where: { $0.fullTurns > 0 }) else {
                return (nil, "now turn it all the way round \(TurnCollection.times(fullTurns))")
            }
            return (solution, "")
        } catch {
            switch error {
            case .tooFewTurns, .axesDoNotSpan:
                guard count < TurnCollection.mostTurns else { break }
                return (nil, TurnCollection.words(for: error))
            default: break
            }
            throw Failure(.badData, "\(TurnCollection.words(for: error)); nothing was changed")
        }
    }

    /// The turns as measured with the matrix before and after, one per line.
    func comparison(of before: Matrix3, with after: Matrix3) -> [String] {
        var lines: [String] = []
        var largest = (before: 0.0, after: 0.0)
        for turn in fit.turns {
            let old = turn.reading(matrix: before, accelerometer: accelerometer)
            let new = turn.reading(matrix: after, accelerometer: accelerometer)
            largest = (max(largest.before, old.gravityError), max(largest.after, new.gravityError))
            guard turn.fullTurns > 0 else { continue }
            let share = degreesPerRadian / Double(turn.fullTurns)
            let headings = (decimal(abs(old.heading) * share, 1), decimal(abs(new.heading) * share, 1))
            lines.append("A turn of 360° reads \(headings.0)° before, \(headings.1)° after.")
        }
        let errors = (decimal(largest.before * degreesPerRadian, 1), decimal(largest.after * degreesPerRadian, 1))
        lines.append(
            "Gravity after a turn: off by \(errors.0)° before, \(errors.1)° after (the largest of \(count) turns).")
        return lines
    }

    /// A number of turns in words.
    static func times(_ count: Int) -> String { count == 1 ? "once" : "\(count) times" }

    private static func words(for damage: TurnRecorder.Damage?) -> String {
        switch damage {
        case .gap, nil: "samples are missing; repeat it"
        case .clipped: "too fast for the sensor; repeat it more slowly"
        case .noGyroscope: "the sensor has no gyroscope"
        case .tooLong: "it took too long; repeat it within two minutes"
        }
    }

    private static func words(for error: GyroscopeFitError) -> String {
        switch error {
        case .tooSmall(let angle):
            "it was turned by only \(decimal(angle * degreesPerRadian, 0))°; repeat it with 90° to 180°"
        case .notBack(let angle):
            "it ended tilted by \(decimal(angle * degreesPerRadian, 0))°; repeat it, flat on the table"
        case .wrongNumberOfTurns(let measured, let expected):
            "it was turned \(decimal(measured, 2)) times, not \(expected); repeat it"
        case .tooFewTurns(let have, let need): "\(need - have) more, about other axes"
        case .axesDoNotSpan(let axis, _):
            "axis \(CalibrateCommand.axisName(axis)) needs more turns: turn it about that axis, held horizontally"
        case .noSolution: "the turns give no calibration"
        case .implausibleMatrix: "the turns give a scale that no working chip has"
        case .residualTooLarge(let residual):
            "the turns contradict one another by \(decimal(residual * degreesPerRadian, 1))°"
        }
    }
}
