internal import Glibc
internal import JostleCommandLine
internal import MotionCore

extension CalibrateCommand {
    /// If a mounting is within this angle (rad) of a right-angled one, that one is probably meant.
    private static let straightAngle = 5 * radiansPerDegree

    /// Determines how the sensor's axes lie in the body, from the body level and the body tipped forward.
    static func mount(_ measurement: CalibrationMeasurement) throws(CommandFailure) {
        let dialogue = measurement.dialogue
        dialogue.say("Place the body level, as it is mounted.")
        let accelerometer = measurement.known.chip.accelerometer
        let level = accelerometer.apply(try measurement.rest("Level").force)
        let advice = "tip it forward, front down, by 30° to 90°, and hold it there"
        dialogue.say("Level: good; now \(advice)")
        while true {
            let tipped = accelerometer.apply(try measurement.nextPose("Tipped", advice: advice).force)
            do throws(MountFitError) {
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
    static func level(_ measurement: CalibrationMeasurement) throws(CommandFailure) {
        let dialogue = measurement.dialogue
        dialogue.say("Lay the board as it should read zero, and do not touch it.")
        let pose = try measurement.rest("Level", seconds: 5)
        let up = measurement.settings.motion.mount * measurement.known.chip.accelerometer.apply(pose.force)
        let angles = Quaternion(from: up, to: Vector3(0, 0, 1)).eulerAngles
        // Only the inclination, because a heading is valid only within one run.
        let attitude = Quaternion(roll: angles.roll, pitch: angles.pitch, yaw: 0)
        let reference = measurement.storedReference ?? .identity
        let before = attitude.inclination(to: reference) * degreesPerRadian
        dialogue.say("Tilt: \(decimal(before, 1))° before, 0° after.")
        dialogue.say(
            "Level is roll \(decimal(angles.roll * degreesPerRadian, 1))°, pitch \(decimal(angles.pitch * degreesPerRadian, 1))° from the vertical."
        )
        if try measurement.store(reference: attitude), measurement.settings.motion.reference != .stored {
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
