internal import JostleCommandLine
internal import MotionCore
internal import MotionKit

extension CalibrateCommand {
    private static let biasSeconds = GuidedCalibration.biasSeconds

    /// Measures the bias: the gyroscope's reading at rest.
    static func gyroscopeBias(_ measurement: CalibrationMeasurement) throws(CommandFailure) {
        let dialogue = measurement.dialogue
        dialogue.say("Lay the board still, on a surface that does not vibrate.")
        let rest = try measurement.rest("Rest", seconds: biasSeconds)
        // The reported figures come from a second rest, because the first always fits its own average.
        let check = try measurement.rest("Check")

        var calibration = measurement.known
        calibration.take(bias: rest, seconds: biasSeconds)
        let before = remainder(of: check, measurement.known)
        let after = remainder(of: check, calibration)
        dialogue.say("At rest it reads: \(decimal(before, 2)) °/s before, \(decimal(after, 2)) °/s after.")
        let temperature = rest.temperature.isFinite ? " at \(decimal(rest.temperature, 1)) °C" : ""
        dialogue.say("Bias: \(words(rest.rate * degreesPerRadian, 2)) °/s\(temperature).")
        try measurement.store(calibration)
    }

    /// The rotation rate that remains at rest after a calibration, °/s.
    private static func remainder(of rest: RestingPose, _ calibration: StoredCalibration) -> Double {
        calibration.effective.gyroscope.apply(rest.rate, temperature: rest.temperature).length * degreesPerRadian
    }

    /// Computes scale and misalignment, from turns between rests.
    static func gyroscopeScale(_ measurement: CalibrationMeasurement, fullTurns: Int) throws(CommandFailure) {
        let dialogue = measurement.dialogue
        let accelerometer = measurement.known.chip.accelerometer
        if accelerometer == AccelerometerCalibration() {
            dialogue.say("The accelerometer is not calibrated yet: its errors will affect the result.")
        }
        dialogue.say(
            """
            Lay the board still. Then, at least three times: turn it by 90° to 180° about a horizontal axis, a different
            one each time, and lay it still again.
            """)
        if fullTurns > 0 {
            dialogue.say(
                "Once, also turn it \(TurnCollection.times(fullTurns)) all the way round on the table, back against the same edge."
            )
        }
        var turns = TurnCollection(accelerometer: accelerometer, fullTurns: fullTurns)
        _ = try measurement.rest("Rest")
        dialogue.say("Rest: good; now turn it")
        while true {
            let title = "Turn \(turns.count + 1)"
            _ = try measurement.nextPose(title, advice: "turn it")
            switch turns.add(measurement.lastTurn, damage: measurement.lastDamage) {
            case .refused(let reason):
                dialogue.say("\(title): refused, \(reason)")
            case .added(let description):
                let (solution, advice) = try turns.solved()
                guard let solution else {
                    dialogue.say("\(title): good, \(description); \(advice)")
                    continue
                }
                dialogue.say("\(title): good, \(description)")
                return try finish(measurement, turns, solution)
            }
        }
    }

    private static func finish(
        _ measurement: CalibrationMeasurement, _ turns: TurnCollection, _ solution: GyroscopeFit.Solution
    ) throws(CommandFailure) {
        let before = measurement.known.chip.gyroscope.matrix
        for line in turns.comparison(of: before, with: solution.calibration.matrix) { measurement.dialogue.say(line) }
        let axis = axisName(solution.weakestAxis)
        measurement.dialogue.say(
            "Scale: accurate to \(decimal(100 * solution.uncertainty, 2)) %, least certain about \(axis).")
        var calibration = measurement.known
        calibration.take(solution)
        try measurement.store(calibration)
    }

    /// The name of an axis of the sensor.
    static func axisName(_ axis: Int) -> String { axis == 0 ? "x" : axis == 1 ? "y" : "z" }

    /// Three numbers with at most this many decimals.
    static func words(_ vector: Vector3, _ decimals: Int) -> String {
        "\(decimal(vector.x, decimals)) \(decimal(vector.y, decimals)) \(decimal(vector.z, decimals))"
    }
}
