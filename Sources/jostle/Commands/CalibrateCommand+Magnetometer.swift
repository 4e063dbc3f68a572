internal import IMUDrivers
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore
internal import MotionKit

extension CalibrateCommand {
    /// New readings between two attempts at a result.
    private static let readingsPerAttempt = 10

    /// Readings after which a result that no board has is not going to change any more.
    private static let mostImplausible = 500

    /// Seconds after which a reason is said again, if there is no terminal for a progress line.
    private static let sayInterval = 10.0

    /// Computes hard iron and soft iron, from readings while the board is turned.
    static func magnetometer(
        _ settings: JostleSettings, dialogue: Dialogue, limit: Double, storesWithoutAsking: Bool
    ) throws(CommandFailure) {
        let deadline = WallClock.monotonic.advanced(bySeconds: limit)
        var settings = settings
        let isUsed = settings.imu.connectsMagnetometer
        settings.imu.connectsMagnetometer = true
        let device = try OpenSensor.open(settings, before: "calibrate")
        let storage = CalibrationStorage(
            stateDirectory: Configuration.stateDirectory, name: device.storageName,
            storesWithoutAsking: storesWithoutAsking, dialogue: dialogue)
        let known = storage.load()
        let measurement = try measurement(device, known)
        dialogue.say("Sensor: \(device.title), magnetometer \(device.magnetometerName ?? "")")
        if known.chip.gyroscope == GyroscopeCalibration() {
            dialogue.say("The gyroscope is not calibrated yet: its errors will affect the result.")
        }
        dialogue.say("Lay the board still, away from iron, magnets and cables, as it is mounted if that is possible.")
        let result: Result<MagneticFit.Solution, CommandFailure>
        do throws(CommandFailure) {
            result = .success(try collect(measurement, dialogue, deadline))
        } catch {
            result = .failure(error)
        }
        // The result does not depend on whether the chip goes to sleep.
        do throws(BusError) { try measurement.stop() } catch { dialogue.say("The sensor did not stop: \(error)") }
        let solution = try result.get()
        report(solution, before: known.magnetometer, dialogue)
        var calibration = known
        calibration.take(solution)
        try storage.store(calibration)
        if !isUsed { dialogue.say("To use it, set sensor.magnetometer: true in the configuration.") }
    }

    private static func measurement(
        _ device: any SensorDevice, _ known: StoredCalibration
    ) throws(CommandFailure) -> MagnetometerMeasurement {
        do throws(MagnetometerMeasurement.Unsuitable) {
            return try MagnetometerMeasurement(device, known: known)
        } catch {
            switch error {
            case .noMagnetometer(let sensor):
                throw CommandFailure(
                    .unavailable,
                    "\(sensor) has no magnetometer; MPU-9250, MPU-9255, ICM-20948 and LSM9DS1 have one, and some kernel drivers"
                )
            case .noGyroscope(let sensor):
                throw CommandFailure(
                    .unavailable, "\(sensor) has no gyroscope, which the calibration of a magnetometer needs")
            }
        }
    }

    /// Reads until the readings give a calibration.
    ///
    /// - Throws: status 65 if they give one that no board has, 75 at the time limit and if the user interrupts.
    private static func collect(
        _ measurement: MagnetometerMeasurement, _ dialogue: Dialogue, _ deadline: Timestamp
    ) throws(CommandFailure) -> MagneticFit.Solution {
        var attempted = 0
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
                throw CommandFailure(.temporary, "the time is up, and \(words); nothing was changed")
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
                let readings = measurement.fit.readings
                if readings >= attempted + readingsPerAttempt || readings < attempted {
                    attempted = readings
                    do throws(MagneticFitError) {
                        return try measurement.fit.solve()
                    } catch {
                        advice = reason(error)
                        if isFinal(error, readings) {
                            throw CommandFailure(.badData, "\(advice); nothing was changed")
                        }
                        let isNews = advice != said.advice && now >= said.until
                        if isNews, readings >= MagneticCollector.fewestReadings {
                            dialogue.say("Turn: \(advice)")
                            said = (advice, now.advanced(bySeconds: sayInterval))
                        }
                    }
                }
                let words = measurement.phase == .tooFast ? "too fast" : advice
                dialogue.show("Turn: \(Dialogue.bar(measurement.fit.coverage)) \(words)")
            }
            try dialogue.wait(seconds: max(0.001, min(0.1, poll.next.seconds(since: WallClock.monotonic))))
        }
    }

    /// Whether further readings would not change the refusal.
    private static func isFinal(_ error: MagneticFitError, _ readings: Int) -> Bool {
        switch error {
        case .wrongAxes: true
        case .implausibleStrength, .implausibleSoftIron, .noSolution: readings >= mostImplausible
        case .tooFewReadings, .notTurnedEnough, .residualTooLarge: false
        }
    }

    private static func report(
        _ solution: MagneticFit.Solution, before: MagneticCalibration?, _ dialogue: Dialogue
    ) {
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

    /// Why there is no calibration yet, and what to do about it.
    static func reason(_ error: MagneticFitError) -> String {
        switch error {
        case .tooFewReadings(let have, let need):
            return "\(100 * have / max(1, need)) % of the turning is done"
        case .notTurnedEnough(let deviation, let axis, let missing):
            let limit = decimal(MagneticFit.Parameters().largestDeviation, 1)
            return
                "the \(axisName(axis)) component of the hard iron is known to \(decimal(deviation, 1)) µT, \(limit) µT is "
                + "needed: tilt it further, best with \(sideWords(missing.direction)) up"
        case .residualTooLarge(let residual):
            return
                "the readings contradict one another by \(decimal(residual, 1)) µT: move away from iron, magnets and "
                + "cables, and turn it more slowly"
        case .implausibleStrength(let strength):
            return
                "the field would have \(decimal(strength, 0)) µT, which the earth's has nowhere: calibrate it outside, or "
                + "away from iron"
        case .implausibleSoftIron(let part):
            return
                "iron on the board would distort the field by \(decimal(100 * part, 0)) %: take iron and magnets away "
                + "from the board"
        case .wrongAxes(let axes):
            let sides = [axes.row0, axes.row1, axes.row2].map { row in
                sideWords(row).replacing("+", with: "")
            }
            return
                "the axes of the magnetometer do not match those of the gyroscope: its \(sides.joined(separator: ", ")), "
                + "or the negatives of all three, lie along x, y, z; report it with the name of the board"
        case .noSolution:
            return "the readings give no calibration: turn it about other axes"
        }
    }
}
