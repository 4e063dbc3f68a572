internal import Glibc
internal import IMUDrivers
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleRuntime
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// `jostle calibrate`: guides the user through measuring a chip's errors or its mounting.
///
/// It shows the new values beside the old and stores them only with the user's consent; until then the state directory
/// does not change.
enum CalibrateCommand {
    /// What can be calibrated.
    enum Subject: String, CaseIterable {
        case gyro
        case accelerometer
        case gyroScale = "gyro-scale"
        case magnetometer
        case mount
        case level

        /// Other words for it, which some people know it by.
        var otherNames: [String] {
            switch self {
            case .gyro: ["gyroscope"]
            case .accelerometer: ["accel"]
            case .gyroScale: ["gyroscope-scale"]
            case .magnetometer: ["mag", "compass"]
            case .mount: ["mounting"]
            case .level: []
            }
        }

        /// The subject that a word means; `nil` if there is none.
        init?(word: String) {
            let known = Subject.allCases.first { $0.rawValue == word || $0.otherNames.contains(word) }
            guard let known else { return nil }
            self = known
        }

        /// What the user does with the board, and the result.
        var summary: String {
            switch self {
            case .gyro: "lay it still for 10 s; measures the gyroscope's bias"
            case .accelerometer:
                "lay it still in eight orientations, in any order; measures offset, scale and cross-axis sensitivity"
            case .gyroScale:
                "turn it from rest to rest about three axes; measures the gyroscope's scale and misalignment"
            case .magnetometer: "turn it slowly in all directions; measures hard iron and soft iron of the magnetometer"
            case .mount: "place it as it is mounted, then tip it forward; prints sensor.mount_matrix"
            case .level: "lay it as it should read zero; stores its inclination as the reference attitude"
            }
        }
    }

    static let usage = CommandUsage(
        name: "calibrate", summary: "measure the chip's errors or its mounting by laying and turning the board",
        details: """
            WHAT is one of these:
            \(CommandUsage.table(Subject.allCases.map { ($0.rawValue, $0.summary) }))
            Begin with gyro, then accelerometer, then gyro-scale, which needs the results of both, then magnetometer, if
            there is one, where the board is used. The state directory
            keeps the result for the chip, and every later run uses it; the result of level is used if
            attitude.reference is stored. mount stores nothing: set the mounting in the configuration.

            Nothing is stored without confirmation or --yes; without a terminal --yes is required. Ctrl-C and the end of
            --for leave everything unchanged, with exit status 75. The service occupies the chip while it runs, and has
            its own state directory:

              sudo systemctl stop jostle
              sudo -u jostle env STATE_DIRECTORY=/var/lib/jostle jostle calibrate gyro
              sudo systemctl start jostle
            """,
        operands: [
            Operand(
                "WHAT", help: Subject.allCases.map(\.rawValue).joined(separator: ", "),
                suggestions: .words(Subject.allCases.map(\.rawValue)))
        ],
        options: CommandUsage.configurationOptions + [
            Option("poses", value: "N", help: "accelerometer: the number of poses, 6 to 20; 8 by default"),
            Option("full-turns", value: "N", help: "gyro-scale: also one turn of N revolutions about the vertical"),
            Option("yes", help: "store the result without asking"),
            Option("for", value: "SECONDS", help: "give up after this time; 900 by default"),
        ])

    static func run(_ arguments: Arguments) throws {
        let signals = SignalWaiter()
        let word = arguments.operand(0) ?? ""
        guard let subject = Subject(word: word) else {
            let known = Subject.allCases.map(\.rawValue)
            let suggestion = EditDistance.suggestion(for: word, among: known)
            throw Failure(
                .usage, "unknown calibration \"\(word)\"; there are \(known.joined(separator: ", "))\(suggestion)")
        }
        let poses = try arguments.count("poses", within: 6...20) ?? 8
        let fullTurns = try arguments.count("full-turns", within: 1...20) ?? 0
        let limit = try arguments.seconds("for") ?? 900
        let settings = try Configuration.load(arguments, boardFile: .replaceable).settings
        let dialogue = Dialogue(signals: signals)
        if subject == .magnetometer {
            return try magnetometer(
                settings, dialogue: dialogue, limit: limit, storesWithoutAsking: arguments.has("yes"))
        }
        let measurement = try CalibrationMeasurement(
            settings, dialogue: dialogue, limit: limit, storesWithoutAsking: arguments.has("yes"))
        dialogue.say("Sensor: \(measurement.title)")
        switch subject {
        case .gyro: try gyroscopeBias(measurement)
        case .accelerometer: try accelerometer(measurement, poses: poses)
        case .gyroScale: try gyroscopeScale(measurement, fullTurns: fullTurns)
        case .magnetometer: break
        case .mount: try mount(measurement)
        case .level: try level(measurement)
        }
    }
}

extension CalibrateCommand {
    /// Computes offset, scale and cross-axis sensitivity, from the fact that gravity has the same length in every pose.
    static func accelerometer(_ measurement: CalibrationMeasurement, poses wanted: Int) throws {
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
            let progress: AccelerometerFit.Progress
            do {
                progress = try fit.take(pose, after: measurement.lastTurn, of: wanted)
            } catch {
                throw Failure(.badData, "\(reason(error)); nothing was changed")
            }
            switch progress {
            case .refused(let error): dialogue.say("\(title): refused, \(reason(error))")
            case .needsMore(let up):
                advice = "turn it onto a side it has not lain on yet, best with \(sideWords(up)) up"
                dialogue.say("\(title): good; \(advice)")
            case .solved(let solution):
                dialogue.say("\(title): good")
                return try finish(measurement, fit, solution)
            }
        }
    }

    private static func finish(
        _ measurement: CalibrationMeasurement, _ fit: AccelerometerFit, _ solution: AccelerometerFit.Solution
    ) throws {
        let dialogue = measurement.dialogue
        let new = solution.calibration
        let before = milligravities(fit.largestError(of: measurement.known.chip.accelerometer))
        let after = milligravities(fit.largestError(of: new))
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
        try measurement.stop().store(calibration)
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

extension CalibrateCommand {
    private static let biasSeconds = GuidedCalibration.biasSeconds

    /// Measures the bias: the gyroscope's reading at rest.
    static func gyroscopeBias(_ measurement: CalibrationMeasurement) throws {
        let dialogue = measurement.dialogue
        dialogue.say("Lay the board still, on a surface that does not vibrate.")
        let rest = try measurement.rest("Rest", seconds: biasSeconds)
        // The reported figures come from a second rest, because the first always fits its own average.
        let check = try measurement.rest("Check")

        var calibration = measurement.known
        calibration.take(bias: rest, seconds: biasSeconds)
        let before = measurement.known.remainingRate(of: check) * degreesPerRadian
        let after = calibration.remainingRate(of: check) * degreesPerRadian
        dialogue.say("At rest it reads: \(decimal(before, 2)) °/s before, \(decimal(after, 2)) °/s after.")
        let temperature = rest.temperature.isFinite ? " at \(decimal(rest.temperature, 1)) °C" : ""
        dialogue.say("Bias: \(words(rest.rate * degreesPerRadian, 2)) °/s\(temperature).")
        try measurement.stop().store(calibration)
    }

    /// Computes scale and misalignment, from turns between rests.
    static func gyroscopeScale(_ measurement: CalibrationMeasurement, fullTurns: Int) throws {
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
    ) throws {
        let before = measurement.known.chip.gyroscope.matrix
        for line in turns.comparison(of: before, with: solution.calibration.matrix) { measurement.dialogue.say(line) }
        let axis = axisName(solution.weakestAxis)
        measurement.dialogue.say(
            "Scale: accurate to \(decimal(100 * solution.uncertainty, 2)) %, least certain about \(axis).")
        var calibration = measurement.known
        calibration.take(solution)
        try measurement.stop().store(calibration)
    }

    /// The name of an axis of the sensor.
    static func axisName(_ axis: Int) -> String { axis == 0 ? "x" : axis == 1 ? "y" : "z" }

    /// Three numbers with at most this many decimals.
    static func words(_ vector: Vector3, _ decimals: Int) -> String {
        "\(decimal(vector.x, decimals)) \(decimal(vector.y, decimals)) \(decimal(vector.z, decimals))"
    }
}

extension CalibrateCommand {
    /// Seconds after which a reason is said again, if there is no terminal for a progress line.
    private static let sayInterval = 10.0

    /// Computes hard iron and soft iron, from readings while the board is turned.
    static func magnetometer(
        _ settings: JostleSettings, dialogue: Dialogue, limit: Double, storesWithoutAsking: Bool
    ) throws {
        let deadline = WallClock.monotonic.advanced(bySeconds: limit)
        var settings = settings
        let isUsed = settings.imu.connectsMagnetometer
        settings.imu.connectsMagnetometer = true
        let device = try OpenSensor.open(settings, before: "calibrate")
        let storage = CalibrationStorage(
            name: device.storageName, storesWithoutAsking: storesWithoutAsking, dialogue: dialogue)
        let known = storage.load()
        let measurement = try measurement(device, known)
        dialogue.say("Sensor: \(device.title), magnetometer \(device.magnetometerName ?? "")")
        if known.chip.gyroscope == GyroscopeCalibration() {
            dialogue.say("The gyroscope is not calibrated yet: its errors will affect the result.")
        }
        dialogue.say("Lay the board still, away from iron, magnets and cables, as it is mounted if that is possible.")
        let result = Result { try collect(measurement, dialogue, deadline) }
        // The result does not depend on whether the chip goes to sleep.
        do { try measurement.stop() } catch { dialogue.say("The sensor did not stop: \(error)") }
        let solution = try result.get()
        report(solution, before: known.magnetometer, dialogue)
        var calibration = known
        calibration.take(solution)
        try storage.store(calibration)
        if !isUsed { dialogue.say("To use it, set sensor.magnetometer: true in the configuration.") }
    }

    private static func measurement(
        _ device: any SensorDevice, _ known: StoredCalibration
    ) throws -> MagnetometerMeasurement {
        do {
            return try MagnetometerMeasurement(device, known: known)
        } catch {
            let reason =
                switch error {
                case .noMagnetometer(let sensor):
                    "\(sensor) has no magnetometer; MPU-9250, MPU-9255, ICM-20948 and LSM9DS1 have one, and some kernel drivers"
                case .noGyroscope(let sensor):
                    "\(sensor) has no gyroscope, which the calibration of a magnetometer needs"
                }
            throw Failure(.unavailable, reason)
        }
    }

    /// Reads until the readings give a calibration.
    ///
    /// - Throws: status 65 if they give one that no board has, 75 at the time limit and if the user interrupts.
    private static func collect(
        _ measurement: MagnetometerMeasurement, _ dialogue: Dialogue, _ deadline: Timestamp
    ) throws -> MagneticFit.Solution {
        var attempts = MagneticAttempts()
        var advice = "it did not lie still"
        var said = (advice: "", until: WallClock.monotonic)
        var hasBegun = false
        while true {
            let poll = measurement.poll()
            let now = WallClock.monotonic
            if case .failed(let fault) = poll.event {
                dialogue.say("The sensor is lost: \(fault.explanation); trying again.")
            }
            guard now < deadline else {
                let words = measurement.count == 0 ? "the magnetometer gave no reading" : advice
                throw Failure(.temporary, "the time is up, and \(words); nothing was changed")
            }
            switch measurement.phase {
            case .resting(let seconds):
                dialogue.show("Rest: \(Dialogue.bar(seconds / MagneticCollector.restDuration)) keep it still")
            case .turning, .tooFast:
                if !hasBegun {
                    hasBegun = true
                    advice = "it was not turned"
                    dialogue.say(
                        """
                        Rest: good. Now turn it slowly, a quarter turn a second at most, in all directions: all the way
                        round, onto each side and upside down, or tilted as far as its cables permit. It ends by itself, after
                        half a minute or more.
                        """)
                }
                switch attempts.attempt(measurement.fit) {
                case .solved(let solution): return solution
                case .refused(let error): throw Failure(.badData, "\(error); nothing was changed")
                case .notYet(let error):
                    advice = "\(error)"
                    let isNews = advice != said.advice && now >= said.until
                    if isNews, measurement.fit.readings >= MagneticCollector.fewestReadings {
                        dialogue.say("Turn: \(advice)")
                        said = (advice, now.advanced(bySeconds: sayInterval))
                    }
                case nil: break
                }
                let words = measurement.phase == .tooFast ? "too fast" : advice
                dialogue.show("Turn: \(Dialogue.bar(measurement.fit.coverage)) \(words)")
            }
            try dialogue.wait(seconds: max(0.001, min(0.1, poll.next.seconds(since: WallClock.monotonic))))
        }
    }

    private static func report(_ solution: MagneticFit.Solution, before: MagneticCalibration?, _ dialogue: Dialogue) {
        let new = solution.calibration
        var hardIron = "Hard iron: \(words(new.hardIron, 1)) µT"
        if let before {
            hardIron += ", \(decimal((new.hardIron - before.hardIron).length, 1)) µT from the stored one"
        }
        let iron = new.softIron
        let scale = Vector3(1 - iron.row0.x, 1 - iron.row1.y, 1 - iron.row2.z)
        let cross = Vector3(-iron.row0.y, -iron.row1.z, -iron.row2.x)
        dialogue.say(
            """
            Turn: good, \(solution.readings - solution.readingsLeftOut) readings, \
            residual \(decimal(solution.residual, 2)) µT.
            \(hardIron). Soft iron: \(words(100 * scale, 1)) %. Cross-axis xy, yz, zx: \(words(100 * cross, 1)) %.
            """)
        if solution.readingsLeftOut > 0 {
            dialogue.say(
                "\(solution.readingsLeftOut) readings were left out, because they did not fit the others: was iron near?"
            )
        }
        if let place = new.place {
            let side = place.dip < 0 ? "above" : "below"
            let dip = decimal(abs(place.dip) * degreesPerRadian, 0)
            dialogue.say("Field: \(decimal(place.strength, 1)) µT, \(dip)° \(side) the horizontal.")
        }
        dialogue.say(
            "Heading: accurate to \(decimal(solution.headingDeviation * degreesPerRadian, 1))°, where the field is as here."
        )
    }
}

extension CalibrateCommand {
    /// If a mounting is within this angle (rad) of a right-angled one, that one is probably meant.
    private static let straightAngle = 5 * radiansPerDegree

    /// Determines how the sensor's axes lie in the body, from the body level and the body tipped forward.
    static func mount(_ measurement: CalibrationMeasurement) throws {
        let dialogue = measurement.dialogue
        dialogue.say("Place the body level, as it is mounted.")
        let accelerometer = measurement.known.chip.accelerometer
        let level = accelerometer.apply(try measurement.rest("Level").force)
        let advice = "tip it forward, front down, by 30° to 90°, and hold it there"
        dialogue.say("Level: good; now \(advice)")
        while true {
            let tipped = accelerometer.apply(try measurement.nextPose("Tipped", advice: advice).force)
            do {
                let mount = try MountFit.mount(level: level, tippedForward: tipped)
                dialogue.say("Tipped: good")
                return report(mount, level: level, measurement)
            } catch {
                dialogue.say("Tipped: refused, \(reason(error))")
            }
        }
    }

    private static func report(_ mount: Matrix3, level: Vector3, _ measurement: CalibrationMeasurement) {
        let dialogue = measurement.dialogue
        let before = tilt(measurement.settings.motion.mount * level)
        dialogue.say("Level reads: tilted by \(before)° before, by \(tilt(mount * level))° after.")
        dialogue.say("For the section sensor of the configuration:\n\n  \(line(mount))\n")
        guard let straight = mount.nearestRightAngled else { return }
        let angle = mount.angle(to: straight)
        guard angle > 0.05 * radiansPerDegree, angle < straightAngle else { return }
        let degrees = decimal(angle * degreesPerRadian, 1)
        dialogue.say(
            "Right angles are \(degrees)° away. If the sensor is mounted at right angles:\n\n  \(line(straight))\n")
    }

    /// Measures the inclination that is published as zero.
    static func level(_ measurement: CalibrationMeasurement) throws {
        let dialogue = measurement.dialogue
        dialogue.say("Lay the board as it should read zero, and do not touch it.")
        let pose = try measurement.rest("Level", seconds: 5)
        let up = measurement.settings.motion.mount * measurement.known.chip.accelerometer.apply(pose.force)
        let angles = Quaternion(from: up, to: Vector3(0, 0, 1)).eulerAngles
        // Only the inclination, because a heading is valid only within one run.
        let attitude = Quaternion(roll: angles.roll, pitch: angles.pitch, yaw: 0)
        let reference = measurement.storage.reference ?? .identity
        let before = attitude.inclination(to: reference) * degreesPerRadian
        dialogue.say("Tilt: \(decimal(before, 1))° before, 0° after.")
        dialogue.say(
            "Level is roll \(decimal(angles.roll * degreesPerRadian, 1))°, pitch \(decimal(angles.pitch * degreesPerRadian, 1))° from the vertical."
        )
        if try measurement.stop().store(reference: attitude), measurement.settings.motion.reference != .stored {
            dialogue.say("To use it, set attitude.reference: stored in the configuration, which has another value now.")
        }
    }

    private static func tilt(_ force: Vector3) -> String {
        decimal(Quaternion(from: force, to: Vector3(0, 0, 1)).rotationVector.length * degreesPerRadian, 1)
    }

    /// The mounting as a line of a configuration.
    private static func line(_ mount: Matrix3) -> String {
        let rows = [mount.row0, mount.row1, mount.row2].map { row in
            "[" + [row.x, row.y, row.z].map { decimal($0, 5) }.joined(separator: ", ") + "]"
        }
        return "mount_matrix: [\(rows.joined(separator: ", "))]"
    }

    private static func reason(_ error: MountFitError) -> String {
        switch error {
        case .wrongAngle(let angle):
            "it is tipped by \(decimal(angle * degreesPerRadian, 0))°, not 20° to 160°; 30° to 90° is best"
        case .notGravity(let length): "it reads \(decimal(length / standardGravity, 2)) g instead of 1 g"
        }
    }
}

extension Matrix3 {
    /// The right-angled rotation whose axes are nearest to this one's; `nil` if two are equally near.
    fileprivate var nearestRightAngled: Matrix3? {
        let rows = [row0, row1, row2].map { BodySide(nearestTo: $0).direction }
        let nearest = Matrix3(rows[0], rows[1], rows[2])
        return nearest.determinant > 0.5 ? nearest : nil
    }

    /// The angle (rad) between this rotation and another: their rows differ by 2√2·sin(angle / 2) in all.
    fileprivate func angle(to other: Matrix3) -> Double {
        let squares =
            (row0 - other.row0).lengthSquared + (row1 - other.row1).lengthSquared + (row2 - other.row2).lengthSquared
        return 2 * asin(min(1, (squares / 8).squareRoot()))
    }
}
