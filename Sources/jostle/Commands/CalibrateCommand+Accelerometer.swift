internal import JostleCommandLine
internal import MotionCore

extension CalibrateCommand {
    /// Computes offset, scale and cross-axis sensitivity, from the fact that gravity has the same length in every pose.
    static func accelerometer(_ measurement: CalibrationMeasurement, poses wanted: Int) throws(CommandFailure) {
        let dialogue = measurement.dialogue
        dialogue.say(
            """
            Lay the board still in \(wanted) orientations, in any order: on its sides, and leaning on some edges or
            corners. After each pose, wait for the next instruction.
            """)
        var fit = AccelerometerFit()
        var advice = ""
        while true {
            let number = fit.poses.count + 1
            let title = "Pose \(number) of \(max(wanted, number))"
            let pose = try measurement.nextPose(title, advice: advice)
            // Also if the pose is refused, because the turn from it to the next pose is used too.
            if let turn = measurement.lastTurn { fit.add(turn) }
            do throws(AccelerometerFitError) {
                try fit.add(pose)
            } catch {
                dialogue.say("\(title): refused, \(reason(error))")
                continue
            }
            var missing = fit.mostUsefulDirection
            if number >= wanted {
                let (solution, direction) = try solved(fit, mayContinue: number < wanted + 4)
                if let solution {
                    dialogue.say("\(title): good")
                    return try finish(measurement, fit, solution)
                }
                missing = direction
            }
            advice = "turn it onto a side it has not lain on yet, best with \(sideWords(missing)) up"
            dialogue.say("\(title): good; \(advice)")
        }
    }

    private static func finish(
        _ measurement: CalibrationMeasurement, _ fit: AccelerometerFit, _ solution: AccelerometerFit.Solution
    ) throws(CommandFailure) {
        let dialogue = measurement.dialogue
        let new = solution.calibration
        let before = largestError(of: measurement.known.chip.accelerometer, fit.poses)
        let after = largestError(of: new, fit.poses)
        dialogue.say("Gravity error: \(before) mg before, \(after) mg after (the largest of \(fit.poses.count) poses).")
        let side = sideWords(solution.weakestDirection)
        dialogue.say(
            "In other poses: accurate to \(milligravities(solution.uncertainty)) mg, least certain with \(side) up."
        )
        let matrix = new.matrix
        let scale = Vector3(1 - matrix.row0.x, 1 - matrix.row1.y, 1 - matrix.row2.z)
        let cross = Vector3(-matrix.row0.y, -matrix.row1.z, -matrix.row2.x)
        dialogue.say(
            """
            Offset: \(words(new.offset * (1000 / standardGravity), 1)) mg. Scale error: \(words(100 * scale, 2)) %. \
            Cross-axis xy, yz, zx: \(words(100 * cross, 2)) %.
            """)
        var calibration = measurement.known
        calibration.take(solution)
        try measurement.store(calibration)
    }

    /// The calibration, or the direction in which a pose is missing.
    ///
    /// - Throws: status 65 if the poses give no plausible calibration.
    private static func solved(
        _ fit: AccelerometerFit, mayContinue: Bool
    ) throws(CommandFailure) -> (solution: AccelerometerFit.Solution?, missing: Vector3) {
        do throws(AccelerometerFitError) {
            return (try fit.solve(), .zero)
        } catch {
            if case .notSpread(let missing) = error, mayContinue { return (nil, missing) }
            throw CommandFailure(.badData, "\(reason(error)); nothing was changed")
        }
    }

    /// The error of gravity in the worst pose, mg.
    private static func largestError(of calibration: AccelerometerCalibration, _ poses: [RestingPose]) -> String {
        let errors = poses.map { abs(calibration.apply($0.force).length - standardGravity) }
        return milligravities(errors.max() ?? 0)
    }

    private static func milligravities(_ force: Double) -> String { decimal(force * 1000 / standardGravity, 1) }

    /// A direction in words: `+x and -z`.
    static func sideWords(_ direction: Vector3) -> String {
        var words: [String] = []
        for axis in 0..<3 where abs(direction[axis]) > 0.3 {
            words.append("\(direction[axis] < 0 ? "-" : "+")\(axisName(axis))")
        }
        return words.joined(separator: " and ")
    }

    private static func reason(_ error: AccelerometerFitError) -> String {
        switch error {
        case .notGravity(let length):
            "it reads \(decimal(length / standardGravity, 2)) g instead of 1 g"
        case .tooNear(let pose, let angle):
            "only \(decimal(angle * degreesPerRadian, 0))° from pose \(pose + 1); turn it further"
        case .tooFewPoses(let have, let need): "\(need - have) poses are missing"
        case .notSpread(let missing): "no pose has \(sideWords(missing)) up"
        case .noSolution: "the poses give no calibration"
        case .implausibleOffset(let axis, let offset):
            "the offset of \(axisName(axis)) would be \(milligravities(offset)) mg, which no working chip has"
        case .implausibleMatrix: "the poses give a scale or cross-axis sensitivity that no working chip has"
        case .residualTooLarge(let residual, let worst):
            "the poses contradict one another by \(milligravities(residual)) mg, most of all pose \(worst + 1)"
        }
    }
}
