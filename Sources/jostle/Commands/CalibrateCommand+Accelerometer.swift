internal import MotionCore

extension CalibrateCommand {
    /// Offset, scale and cross-axis sensitivity: gravity is as long whichever side is up.
    static func accelerometer(_ bench: CalibrationBench, poses wanted: Int) throws(CommandFailure) {
        let dialogue = bench.dialogue
        dialogue.say(
            """
            Lay the board still in \(wanted) orientations, in any order: its sides, and some edges or corners, leant
            against something. After each it says when to go on.
            """)
        var fit = AccelerometerFit()
        var advice = ""
        while true {
            let number = fit.poses.count + 1
            let title = "Pose \(number) of \(max(wanted, number))"
            let pose = try bench.nextPose(title, advice: advice)
            // Also where the pose is refused: the turn from it to the next one counts, too.
            if let turn = bench.lastTurn { fit.add(turn) }
            do throws(AccelerometerFitError) {
                try fit.add(pose)
            } catch {
                dialogue.say("\(title): refused, \(reason(error))")
                continue
            }
            var missing = fit.mostUsefulDirection
            if number >= wanted {
                let (solution, direction) = try solved(fit, mayGoOn: number < wanted + 4)
                if let solution {
                    dialogue.say("\(title): good")
                    return try finish(bench, fit, solution)
                }
                missing = direction
            }
            advice = "turn it to a side it has not lain on, best with \(sideWords(missing)) up"
            dialogue.say("\(title): good; \(advice)")
        }
    }

    private static func finish(
        _ bench: CalibrationBench, _ fit: AccelerometerFit, _ solution: AccelerometerFit.Solution
    ) throws(CommandFailure) {
        let dialogue = bench.dialogue
        let new = solution.calibration
        let before = largestError(of: bench.known.chip.accelerometer, fit.poses)
        let after = largestError(of: new, fit.poses)
        dialogue.say("Gravity error: \(before) mg before, \(after) mg after (\(fit.poses.count) poses, the largest).")
        let side = sideWords(solution.weakestDirection)
        dialogue.say(
            "Elsewhere: good to \(milligravities(solution.uncertainty)) mg, \(side) up being the least certain."
        )
        let matrix = new.matrix
        let scale = Vector3(1 - matrix.row0.x, 1 - matrix.row1.y, 1 - matrix.row2.z)
        let cross = Vector3(-matrix.row0.y, -matrix.row1.z, -matrix.row2.x)
        dialogue.say(
            """
            Offset: \(words(new.offset * (1000 / standardGravity), 1)) mg. Scale error: \(words(100 * scale, 2)) %. \
            Cross-axis xy, yz, zx: \(words(100 * cross, 2)) %.
            """)
        var calibration = bench.known
        calibration.take(solution)
        try bench.store(calibration)
    }

    /// The calibration, or the direction that is missing for one.
    ///
    /// - Throws: status 65 where the poses give none that can be believed.
    private static func solved(
        _ fit: AccelerometerFit, mayGoOn: Bool
    ) throws(CommandFailure) -> (solution: AccelerometerFit.Solution?, missing: Vector3) {
        do throws(AccelerometerFitError) {
            return (try fit.solve(), .zero)
        } catch {
            if case .notSpread(let missing) = error, mayGoOn { return (nil, missing) }
            throw CommandFailure(.badData, "\(reason(error)); nothing was changed")
        }
    }

    /// By how much gravity comes out wrong in the worst of the poses, mg.
    private static func largestError(of calibration: AccelerometerCalibration, _ poses: [RestingPose]) -> String {
        let errors = poses.map { abs(calibration.apply($0.force).length - standardGravity) }
        return milligravities(errors.max() ?? 0)
    }

    private static func milligravities(_ force: Double) -> String { decimal(force * 1000 / standardGravity, 1) }

    /// A direction in words: "+x and -z".
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
            "it reads \(decimal(length / standardGravity, 2)) g where 1 g is to be"
        case .tooNear(let pose, let angle):
            "it lies as in pose \(pose + 1) but for \(decimal(angle * degreesPerRadian, 0))°; turn it further"
        case .tooFewPoses(let have, let need): "\(need - have) poses are missing"
        case .notSpread(let missing): "the poses leave out the side with \(sideWords(missing)) up"
        case .noSolution: "the poses give no calibration"
        case .implausibleOffset(let axis, let offset):
            "the offset of \(axisName(axis)) would be \(milligravities(offset)) mg, which no working chip has"
        case .implausibleMatrix: "the poses give a scale or cross-axis sensitivity that no working chip has"
        case .residualTooLarge(let residual, let worst):
            "the poses contradict one another by \(milligravities(residual)) mg, pose \(worst + 1) most of all"
        }
    }
}
