internal import Glibc
internal import MotionCore

extension CalibrateCommand {
    /// A mounting within this angle (rad) of one with right angles is probably meant to be that one.
    private static let straightAngle = 5 * radiansPerDegree

    /// The mounting: how the sensor's axes lie in the body, told by the body level and the body tipped forward.
    static func mount(_ bench: CalibrationBench) throws(CommandFailure) {
        let dialogue = bench.dialogue
        dialogue.say("Lay the body as it is mounted, level.")
        let accelerometer = bench.known.chip.accelerometer
        let level = accelerometer.apply(try bench.rest("Level").force)
        let advice = "tip it forward, its front down, by 30° to 90°, and keep it there"
        dialogue.say("Level: good; now \(advice)")
        while true {
            let tipped = accelerometer.apply(try bench.nextPose("Tipped", advice: advice).force)
            do throws(MountFitError) {
                let mount = try MountFit.mount(level: level, tippedForward: tipped)
                dialogue.say("Tipped: good")
                return tell(mount, level: level, bench)
            } catch {
                dialogue.say("Tipped: refused, \(reason(error))")
            }
        }
    }

    private static func tell(_ mount: Matrix3, level: Vector3, _ bench: CalibrationBench) {
        let dialogue = bench.dialogue
        let before = tilt(bench.settings.motion.mount * level)
        dialogue.say("Level reads: tilted by \(before)° before, by \(tilt(mount * level))° after.")
        dialogue.say("For the section sensor of the configuration:\n\n  \(line(mount))\n")
        guard let straight = mount.nearestRightAngled else { return }
        let angle = mount.angle(to: straight)
        guard angle > 0.05 * radiansPerDegree, angle < straightAngle else { return }
        let degrees = decimal(angle * degreesPerRadian, 1)
        dialogue.say("Right angles are \(degrees)° away. If it is mounted at right angles:\n\n  \(line(straight))\n")
    }

    /// The level: the inclination that is told as none.
    static func level(_ bench: CalibrationBench) throws(CommandFailure) {
        let dialogue = bench.dialogue
        dialogue.say("Lay the board as it should read zero, and leave it alone.")
        let pose = try bench.rest("Level", seconds: 5)
        let up = bench.settings.motion.mount * bench.known.chip.accelerometer.apply(pose.force)
        let angles = Quaternion(from: up, to: Vector3(0, 0, 1)).eulerAngles
        // Only the inclination: a heading belongs to the run in which it was taken.
        let attitude = Quaternion(roll: angles.roll, pitch: angles.pitch, yaw: 0)
        let reference = bench.storedReference ?? .identity
        let before = attitude.inclination(to: reference) * degreesPerRadian
        dialogue.say("Tilt: \(decimal(before, 1))° before, 0° after.")
        dialogue.say(
            "Level is roll \(decimal(angles.roll * degreesPerRadian, 1))°, pitch \(decimal(angles.pitch * degreesPerRadian, 1))° from the vertical."
        )
        if try bench.store(reference: attitude), bench.settings.motion.reference != .stored {
            dialogue.say("It is used where the configuration has attitude.reference: stored, which it has not now.")
        }
    }

    private static func tilt(_ force: Vector3) -> String {
        decimal(Quaternion(from: force, to: Vector3(0, 0, 1)).rotationVector.length * degreesPerRadian, 1)
    }

    /// The line of a configuration that has a mounting.
    private static func line(_ mount: Matrix3) -> String {
        let rows = [mount.row0, mount.row1, mount.row2].map { row in
            "[" + [row.x, row.y, row.z].map { decimal($0, 5) }.joined(separator: ", ") + "]"
        }
        return "mount_matrix: [\(rows.joined(separator: ", "))]"
    }

    private static func reason(_ error: MountFitError) -> String {
        switch error {
        case .wrongAngle(let angle):
            "it is tipped by \(decimal(angle * degreesPerRadian, 0))°; between 20° and 160° it must be, best 30° to 90°"
        case .notGravity(let length): "it reads \(decimal(length / standardGravity, 2)) g where 1 g is to be"
        }
    }
}

extension Matrix3 {
    /// The rotation with right angles only that has its axes nearest to this one's; `nil` where two are as near.
    fileprivate var nearestRightAngled: Matrix3? {
        let rows = [row0, row1, row2].map { BodySide(nearestTo: $0).direction }
        let nearest = Matrix3(rows[0], rows[1], rows[2])
        return nearest.determinant > 0.5 ? nearest : nil
    }

    /// The angle (rad) of the rotation between this one and another: rows differ by 2√2·sin(angle / 2) in all.
    fileprivate func angle(to other: Matrix3) -> Double {
        let squares =
            (row0 - other.row0).lengthSquared + (row1 - other.row1).lengthSquared + (row2 - other.row2).lengthSquared
        return 2 * asin(min(1, (squares / 8).squareRoot()))
    }
}
