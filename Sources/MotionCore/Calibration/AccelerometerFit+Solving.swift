extension AccelerometerFit {
    /// The unknowns: offset x, y, z and the elements xx, yy, zz, xy, xz, yz of the matrix minus the identity. With
    /// turns, also the nine elements of the gyroscope's matrix.
    private static let unknowns = 9
    private static let unknownsWithTurns = 18

    /// Solves with the turns that are plausible; `nil` if there is no solution.
    func iterate() -> (AccelerometerCalibration, LeastSquaresSolution)? {
        guard let (first, _, _) = iterate(with: []) else { return nil }
        // A free matrix of nine numbers would fit any single turn, so check against the identity first.
        var turns = self.turns.filter { turn in
            guard let check = TurnCheck(turn, matrix: .identity, first) else { return false }
            return check.directionError < 5 * parameters.largestTurnError + 0.1 * check.path
        }
        while true {
            guard let (calibration, matrix, solution) = iterate(with: turns) else { return nil }
            var worst: (index: Int, error: Double)?
            for index in 0..<turns.count {
                let error = TurnCheck(turns[index], matrix: matrix, calibration)?.directionError ?? .infinity
                if error > max(parameters.largestTurnError, worst?.error ?? 0) { worst = (index, error) }
            }
            guard let worst else { return (calibration, solution) }
            turns.remove(at: worst.index)
        }
    }

    private func iterate(
        with turns: [TurnSegment]
    ) -> (AccelerometerCalibration, gyroscope: Matrix3, LeastSquaresSolution)? {
        let count = turns.isEmpty ? Self.unknowns : Self.unknownsWithTurns
        var values = [Double](repeating: 0, count: Self.unknowns)
        var matrix = Matrix3.identity
        var solution: LeastSquaresSolution?
        for _ in 0..<20 {
            var equations = NormalEquations(count: count)
            guard addPoses(to: &equations, around: values), addTurns(turns, to: &equations, around: values, matrix),
                let next = equations.solved()
            else { return nil }
            solution = next
            var largest = 0.0
            for step in next.step { largest = max(largest, abs(step)) }
            if !largest.isFinite { return nil }
            for index in 0..<Self.unknowns { values[index] += next.step[index] }
            if count > Self.unknowns { matrix = matrix.adding(next.step[Self.unknowns...]) }
            if largest < 1e-9 { break }
        }
        guard let solution else { return nil }
        return (Self.calibration(values), matrix, solution)
    }

    /// Adds the priors and the lengths of the poses' forces.
    private func addPoses(to equations: inout NormalEquations, around values: [Double]) -> Bool {
        for index in 0..<Self.unknowns {
            equations.addPrior(index, target: -values[index], deviation: priorDeviation(index))
        }
        let calibration = Self.calibration(values)
        for pose in poses {
            let force = calibration.apply(pose.force)
            guard let up = force.normalized else { return false }
            equations.add(
                padded(Self.row(up, measured: pose.force, calibration), to: equations.count),
                target: standardGravity - force.length, deviation: parameters.forceDeviation)
        }
        return true
    }

    /// Adds the angles between forces that the turns measured.
    private func addTurns(
        _ turns: [TurnSegment], to equations: inout NormalEquations, around values: [Double], _ matrix: Matrix3
    ) -> Bool {
        guard !turns.isEmpty else { return true }
        for index in 0..<9 {
            equations.addPrior(
                Self.unknowns + index, target: (index % 4 == 0 ? 1 : 0) - matrix.element(index),
                deviation: parameters.gyroscopeDeviation)
        }
        let calibration = Self.calibration(values)
        for turn in turns {
            guard let check = TurnCheck(turn, matrix: matrix, calibration) else { return false }
            for axis in 0..<3 {
                equations.add(
                    check.forceRow(axis: axis) + check.rateRow(axis: axis),
                    target: check.found[axis] - check.turned[axis], deviation: parameters.turnDeviation)
            }
        }
        return true
    }

    private func padded(_ row: [Double], to count: Int) -> [Double] {
        row + [Double](repeating: 0, count: count - row.count)
    }

    private func priorDeviation(_ index: Int) -> Double {
        index < 3
            ? parameters.offsetDeviation : index < 6 ? parameters.scaleDeviation : parameters.crossAxisDeviation
    }

    static func calibration(_ values: [Double]) -> AccelerometerCalibration {
        AccelerometerCalibration(
            offset: Vector3(values[0], values[1], values[2]),
            matrix: Matrix3(
                Vector3(1 + values[3], values[6], values[7]), Vector3(values[6], 1 + values[4], values[8]),
                Vector3(values[7], values[8], 1 + values[5])))
    }

    /// The derivatives, with respect to the unknowns, of the calibrated force's component along `direction`.
    static func row(
        _ direction: Vector3, measured: Vector3, _ calibration: AccelerometerCalibration
    ) -> [Double] {
        let d = measured - calibration.offset
        let u = direction
        // The matrix is symmetric, so it is its own transpose.
        let offset = calibration.matrix * u
        return [
            -offset.x, -offset.y, -offset.z, u.x * d.x, u.y * d.y, u.z * d.z,
            u.x * d.y + u.y * d.x, u.x * d.z + u.z * d.x, u.y * d.z + u.z * d.y,
        ]
    }

    /// The direction in which the length of gravity is least certain, among the faces, edges and corners of a cube.
    func weakest(
        _ calibration: AccelerometerCalibration, _ solution: LeastSquaresSolution
    ) -> (deviation: Double, direction: Vector3) {
        var largest = 0.0
        var direction = Vector3(0, 0, 1)
        let inverse = calibration.matrix.inverse
        for code in 0..<27 {
            let corner = Vector3(Double(code % 3 - 1), Double(code / 3 % 3 - 1), Double(code / 9 - 1))
            guard let up = corner.normalized else { continue }
            let measured = inverse * (standardGravity * up) + calibration.offset
            let deviation = solution.deviation(
                of: padded(Self.row(up, measured: measured, calibration), to: solution.step.count))
            if deviation > largest * (1 + 1e-9) {
                largest = deviation
                direction = up
            }
        }
        return (largest, direction)
    }
}
