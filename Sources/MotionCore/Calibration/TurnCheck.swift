internal import CMotionMath

/// Checks a calibration against a turn: where gravity's direction should be at its end, and where it is.
struct TurnCheck {
    /// Gravity's direction at the end, carried along from the start by the gyroscope.
    let turned: Vector3
    /// Gravity's direction at the end as measured by the accelerometer.
    let found: Vector3
    /// The difference between the measured full turns and 360° each, rad; `nil` if it is not a full turn.
    let headingError: Double?
    private let turn: TurnSegment
    private let integral: TurnIntegral
    private let accelerometer: AccelerometerCalibration

    /// Returns `nil` if the force of a rest has no direction.
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
        // The angle of the rotation about the vertical. The integrated heading gives the number of whole turns.
        let q = integral.rotation
        let twist = 2 * atan2(Vector3(q.x, q.y, q.z).dot(start), q.w)
        let whole = 2 * Double.pi
        let heading = twist + whole * ((integral.heading - twist) / whole).rounded()
        headingError = heading - whole * Double(turn.fullTurns) * (integral.heading < 0 ? -1 : 1)
    }

    /// The angle (rad) turned about any axis, all movements added up.
    var path: Double { integral.path }

    /// The angle (rad) between gravity as carried along and as measured.
    var directionError: Double { turned.angle(to: found) }

    /// The derivatives of `turned` along an axis with respect to the gyroscope's matrix, row by row.
    func rateRow(axis: Int) -> [Double] {
        // Axes turned by θ see a fixed vector turned by -θ: gravity moves by gravity × θ.
        integral.sensitivity.map { turned.cross($0)[axis] }
    }

    /// The derivatives of the heading of full turns with respect to the gyroscope's matrix, row by row.
    var headingRow: [Double] { integral.sensitivity.map { turned.dot($0) } }

    /// The derivatives of `turned` minus `found` along an axis with respect to the accelerometer's errors, in the order
    /// of the unknowns of `AccelerometerFit`.
    func forceRow(axis: Int) -> [Double] {
        var unit = Vector3.zero
        unit[axis] = 1
        let start = directionRow(integral.rotation.rotate(unit), of: turn.start.force)
        let end = directionRow(unit, of: turn.end.force)
        var row = start
        for index in 0..<row.count { row[index] -= end[index] }
        return row
    }

    /// The derivatives of the component along `axis` of a force's direction. Only a change perpendicular to the force
    /// turns it.
    private func directionRow(_ axis: Vector3, of measured: Vector3) -> [Double] {
        let force = accelerometer.apply(measured)
        let share = 1 / force.length
        let up = force * share
        let across = (axis - axis.dot(up) * up) * share
        return AccelerometerFit.row(across, measured: measured, accelerometer)
    }
}
