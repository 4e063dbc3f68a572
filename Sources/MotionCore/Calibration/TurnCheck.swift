internal import CMotionMath

/// What a turn says of a chip's calibration: where gravity's direction should be at its end, and where it is.
struct TurnCheck {
    /// Gravity's direction at the end, turned there from the start by the gyroscope.
    let turned: Vector3
    /// Gravity's direction at the end as the accelerometer found it.
    let found: Vector3
    /// By how much full turns miss 360°, rad; `nil` where it is no full turn.
    let headingError: Double?
    private let turn: TurnSegment
    private let integral: TurnIntegral
    private let accelerometer: AccelerometerCalibration

    /// Works out a turn; `nil` where a rest's force has no direction.
    init?(_ turn: TurnSegment, matrix: Matrix3, _ accelerometer: AccelerometerCalibration) {
        guard let start = accelerometer.apply(turn.start.force).normalized,
            let end = accelerometer.apply(turn.end.force).normalized
        else { return nil }
        self.turn = turn
        self.accelerometer = accelerometer
        integral = TurnIntegral(turn, matrix: matrix, up: start)
        turned = integral.rotation.unrotate(start)
        found = end
        guard turn.fullTurns > 0 else {
            headingError = nil
            return
        }
        // The angle of the rotation about the vertical; how many whole turns it lacks is what was counted on the way.
        let q = integral.rotation
        let twist = 2 * atan2(Vector3(q.x, q.y, q.z).dot(start), q.w)
        let whole = 2 * Double.pi
        let heading = twist + whole * ((integral.heading - twist) / whole).rounded()
        headingError = heading - whole * Double(turn.fullTurns) * (integral.heading < 0 ? -1 : 1)
    }

    /// The angle (rad) turned about any axis, all movements added up.
    var path: Double { integral.path }

    /// The angle (rad) between gravity as turned and as found.
    var directionError: Double { turned.angle(to: found) }

    /// How `turned` along an axis changes with the gyroscope's matrix, row after row.
    func rateRow(axis: Int) -> [Double] {
        // The end's axes turned by θ see what stands still turned by -θ: gravity moves by gravity × θ.
        integral.sensitivity.map { turned.cross($0)[axis] }
    }

    /// How the heading of full turns changes with the gyroscope's matrix, row after row.
    var headingRow: [Double] { integral.sensitivity.map { turned.dot($0) } }

    /// How `turned` less `found` along an axis changes with the accelerometer's errors, in the order of
    /// `AccelerometerFit`'s unknowns.
    func forceRow(axis: Int) -> [Double] {
        var unit = Vector3.zero
        unit[axis] = 1
        let start = directionRow(integral.rotation.rotate(unit), of: turn.start.force)
        let end = directionRow(unit, of: turn.end.force)
        var row = start
        for index in 0..<row.count { row[index] -= end[index] }
        return row
    }

    /// How the component along `axis` of the direction of a force changes: only what is at right angles to the force
    /// turns it.
    private func directionRow(_ axis: Vector3, of measured: Vector3) -> [Double] {
        let force = accelerometer.apply(measured)
        let share = 1 / force.length
        let up = force * share
        let across = (axis - axis.dot(up) * up) * share
        return AccelerometerFit.row(across, measured: measured, accelerometer)
    }
}
