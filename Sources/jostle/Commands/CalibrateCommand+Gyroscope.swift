internal import MotionCore
internal import MotionKit

extension CalibrateCommand {
    private static let biasSeconds = GuidedCalibration.biasSeconds

    /// The bias: what the gyroscope reads in a rest.
    static func gyroscopeBias(_ bench: CalibrationBench) throws(CommandFailure) {
        let dialogue = bench.dialogue
        dialogue.say("Lay the board still, on something that does not shake.")
        let rest = try bench.rest("Rest", seconds: biasSeconds)
        // The figures are those of a second rest: the first would always fit itself.
        let check = try bench.rest("Check")

        var calibration = bench.known
        calibration.take(bias: rest, seconds: biasSeconds)
        let before = remainder(of: check, bench.known)
        let after = remainder(of: check, calibration)
        dialogue.say("At rest it reads: \(decimal(before, 2)) °/s before, \(decimal(after, 2)) °/s after.")
        let temperature = rest.temperature.isFinite ? " at \(decimal(rest.temperature, 1)) °C" : ""
        dialogue.say("Bias: \(words(rest.rate * degreesPerRadian, 2)) °/s\(temperature).")
        try bench.store(calibration)
    }

    /// What a calibration leaves of the rate that is read in a rest, °/s.
    private static func remainder(of rest: RestingPose, _ calibration: StoredCalibration) -> Double {
        calibration.effective.gyroscope.apply(rest.rate, temperature: rest.temperature).length * degreesPerRadian
    }

    /// Scale and misalignment: how far turns are read, from rest to rest.
    static func gyroscopeScale(_ bench: CalibrationBench, fullTurns: Int) throws(CommandFailure) {
        let dialogue = bench.dialogue
        let accelerometer = bench.known.chip.accelerometer
        if accelerometer == AccelerometerCalibration() {
            dialogue.say("The accelerometer is not calibrated yet: its errors go into what is found now.")
        }
        dialogue.say(
            """
            Lay the board still. Then, at least three times: turn it by 90° to 180° about an axis that lies level, another
            one each time, and lay it still again.
            """)
        if fullTurns > 0 {
            dialogue.say(
                "At some time also turn it \(TurnCollection.times(fullTurns)) all the way round on the table, back against the same edge."
            )
        }
        var turns = TurnCollection(accelerometer: accelerometer, fullTurns: fullTurns)
        _ = try bench.rest("Rest")
        dialogue.say("Rest: good; now turn it")
        while true {
            let title = "Turn \(turns.count + 1)"
            _ = try bench.nextPose(title, advice: "turn it")
            switch turns.add(bench.lastTurn, damage: bench.lastDamage) {
            case .refused(let reason):
                dialogue.say("\(title): refused, \(reason)")
            case .added(let what):
                let (solution, advice) = try turns.solved()
                guard let solution else {
                    dialogue.say("\(title): good, \(what); \(advice)")
                    continue
                }
                dialogue.say("\(title): good, \(what)")
                return try finish(bench, turns, solution)
            }
        }
    }

    private static func finish(
        _ bench: CalibrationBench, _ turns: TurnCollection, _ solution: GyroscopeFit.Solution
    ) throws(CommandFailure) {
        let before = bench.known.chip.gyroscope.matrix
        for line in turns.comparison(of: before, with: solution.calibration.matrix) { bench.dialogue.say(line) }
        let axis = axisName(solution.weakestAxis)
        bench.dialogue.say(
            "Scale: good to \(decimal(100 * solution.uncertainty, 2)) %, \(axis) being the least certain.")
        var calibration = bench.known
        calibration.take(solution)
        try bench.store(calibration)
    }

    /// The name of an axis of the sensor.
    static func axisName(_ axis: Int) -> String { axis == 0 ? "x" : axis == 1 ? "y" : "z" }

    /// Three numbers with as many decimals at most.
    static func words(_ vector: Vector3, _ decimals: Int) -> String {
        "\(decimal(vector.x, decimals)) \(decimal(vector.y, decimals)) \(decimal(vector.z, decimals))"
    }
}
