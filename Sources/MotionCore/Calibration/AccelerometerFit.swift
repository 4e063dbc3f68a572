/// Finds an accelerometer's offset, scale factors and cross-axis sensitivity from resting positions in any order and
/// any orientation: at rest, the true specific force is as long as gravity.
///
/// There are nine unknowns, an offset and a symmetric matrix, solved by Gauss-Newton. Priors for the errors of a chip
/// make six poses enough for offset and scale. Lengths do not show how the axes are turned as a whole; the symmetric
/// matrix leaves them unturned.
///
/// With lengths alone, all nine numbers take nine poses or more. If the turns between the poses were recorded, they
/// give the angles between the forces, up to the gyroscope's own errors. Those are estimated too and then discarded;
/// eight poses are then enough.
///
/// Copies of some chips measure twice or half of everything. The first pose shows it, and the priors are about the rest.
package struct AccelerometerFit: Sendable {
    /// The priors and limits.
    private enum Rule {
        /// Prior standard deviation of an offset, m/s². Default 100 mg.
        static let offsetDeviation = 0.1 * standardGravity
        /// Prior standard deviation of a scale factor. Default 5 %.
        static let scaleDeviation = 0.05
        /// Prior standard deviation of a cross-axis term. Default 3 %.
        static let crossAxisDeviation = 0.03
        /// Standard deviation of the length of a mean force, m/s². Default 0.5 mg, for noise and for a rest that was
        /// not quite one.
        static let forceDeviation = 0.0005 * standardGravity
        /// Standard deviation of gravity's direction at the end of a turn, rad, in addition to the gyroscope's scale
        /// and misalignment. Default 0.05°, for noise and a wandering bias.
        static let turnDeviation = 0.05 * radiansPerDegree
        /// Prior standard deviation of the gyroscope's scale factors and misalignment. Default 5 %.
        static let gyroscopeDeviation = 0.05
        /// Largest error of a turn, rad. Turns beyond it are left out: first those that fit no gyroscope, with a limit
        /// of five times this plus a tenth of the turn, then those that do not fit the other turns. Default 1°.
        static let largestTurnError = 1 * radiansPerDegree
        /// Smallest angle between two poses, rad. Default 20°.
        static let smallestAngle = 20 * radiansPerDegree
        /// Fewest poses. Default 6: an offset and a scale factor for each axis.
        static let fewestPoses = 6
        /// Largest plausible offset of an axis, m/s². Default 300 mg.
        static let largestOffset = 0.3 * standardGravity
        /// Largest plausible error of a scale factor. Default 15 %.
        static let largestScaleError = 0.15
        /// Largest plausible cross-axis term. Default 10 %.
        static let largestCrossAxis = 0.1
        /// Largest plausible RMS residual of the fit, m/s². Default 20 mg.
        static let largestResidual = 0.02 * standardGravity
        /// Largest standard deviation of the length of gravity in any direction, m/s². Default 60 mg: poses that leave
        /// out a side of the sensor exceed it.
        static let largestUncertainty = 0.06 * standardGravity
    }

    /// The poses so far, in the order in which they were added.
    package private(set) var poses: [RestingPose] = []

    /// The turns that were added.
    package private(set) var turns: [TurnSegment] = []

    package init() {}

    /// Adds a pose.
    ///
    /// - Throws: `notGravity` or `tooNear`; the pose is then not added.
    package mutating func add(_ pose: RestingPose) throws(AccelerometerFitError) {
        let length = pose.force.length / Self.scale(of: poses.first ?? pose)
        guard length > 0.6 * standardGravity, length < 1.5 * standardGravity else {
            throw AccelerometerFitError.notGravity(length: pose.force.length)
        }
        for index in 0..<poses.count {
            let angle = poses[index].force.angle(to: pose.force)
            guard angle >= Rule.smallestAngle else {
                throw AccelerometerFitError.tooNear(pose: index, angle: angle)
            }
        }
        poses.append(pose)
    }

    /// Adds a turn between two rests, which need not be poses of the fit.
    package mutating func add(_ turn: TurnSegment) {
        turns.append(turn)
    }

    /// The direction (unit vector, sensor axes) that should point up in the next pose to improve the fit most; up for
    /// the first poses.
    package var mostUsefulDirection: Vector3 {
        guard let (_, solution) = scaledToGravity.iterate() else { return Vector3(0, 0, 1) }
        return weakest(AccelerometerCalibration(), solution).direction
    }

    /// Finds the calibration that makes the forces of all poses as long as gravity.
    ///
    /// - Throws: the reason if there is no plausible calibration.
    package func solve() throws(AccelerometerFitError) -> Solution {
        let scale = poses.first.map(Self.scale) ?? 1
        var solution = try scaledToGravity.solveNearGravity()
        solution.calibration.offset = solution.calibration.offset * scale
        solution.calibration.matrix = (1 / scale) * solution.calibration.matrix
        return solution
    }

    /// The nominal reading of gravity in a pose, in multiples of gravity: 1, or 2 or 0.5 for a copy with another scale.
    private static func scale(of pose: RestingPose) -> Double {
        switch pose.force.length / standardGravity {
        case 1.5..<3: 2
        case 0.3..<0.6: 0.5
        default: 1
        }
    }

    /// The fit of the same poses as a chip with the usual scale would measure them.
    private var scaledToGravity: AccelerometerFit {
        guard let first = poses.first, Self.scale(of: first) != 1 else { return self }
        var scaled = self
        let factor = 1 / Self.scale(of: first)
        scaled.poses = poses.map { $0.scaled(by: factor) }
        scaled.turns = turns.map { $0.scaled(by: factor) }
        return scaled
    }

    /// `solve` for a chip with the usual scale.
    private func solveNearGravity() throws(AccelerometerFitError) -> Solution {
        guard poses.count >= Rule.fewestPoses else {
            throw AccelerometerFitError.tooFewPoses(have: poses.count, need: Rule.fewestPoses)
        }
        guard let (calibration, solution) = iterate() else { throw AccelerometerFitError.noSolution }
        var squares = 0.0
        var largest = 0.0
        var worst = 0
        for index in 0..<poses.count {
            let residual = calibration.apply(poses[index].force).length - standardGravity
            squares += residual * residual
            if abs(residual) > largest {
                largest = abs(residual)
                worst = index
            }
        }
        let residual = (squares / Double(poses.count)).squareRoot()
        guard residual <= Rule.largestResidual else {
            throw AccelerometerFitError.residualTooLarge(residual, worstPose: worst)
        }
        let (uncertainty, direction) = weakest(calibration, solution)
        guard uncertainty <= Rule.largestUncertainty else {
            throw AccelerometerFitError.notSpread(missing: direction)
        }
        for axis in 0..<3 {
            guard abs(calibration.offset[axis]) <= Rule.largestOffset else {
                throw AccelerometerFitError.implausibleOffset(axis: axis, calibration.offset[axis])
            }
        }
        guard calibration.matrix.isPlausible(scale: Rule.largestScaleError, cross: Rule.largestCrossAxis)
        else { throw AccelerometerFitError.implausibleMatrix(calibration.matrix) }
        return Solution(
            calibration: calibration, residual: residual, poses: poses.count, uncertainty: uncertainty,
            weakestDirection: direction)
    }

    /// A calibration and its quality.
    package struct Solution: Equatable, Sendable, BitwiseCopyable {
        package var calibration: AccelerometerCalibration
        /// RMS of the differences between the lengths of the poses' forces and gravity, m/s².
        package var residual: Double
        /// How many poses there were.
        package var poses: Int
        /// Standard deviation of the length of gravity, m/s², in the direction in which it is least certain. With few
        /// poses this, and not the residual, measures the quality of the calibration.
        package var uncertainty: Double
        /// That direction, a unit vector in sensor axes: another pose with it up would improve the fit most.
        package var weakestDirection: Vector3
    }
}

/// Why a pose is rejected, or why the poses give no calibration.
package enum AccelerometerFitError: Error, Equatable, Sendable, BitwiseCopyable {
    /// The force (m/s²) is so far from gravity that the sensor was not at rest or is broken.
    case notGravity(length: Double)
    /// The angle (rad) to the pose of this index is too small: the new pose adds nothing.
    case tooNear(pose: Int, angle: Double)
    /// More poses are needed.
    case tooFewPoses(have: Int, need: Int)
    /// The poses leave out a side: one with this direction (unit vector, sensor axes) up is missing.
    case notSpread(missing: Vector3)
    /// The equations have no solution.
    case noSolution
    /// The offset of an axis, m/s², is too large for a working chip.
    case implausibleOffset(axis: Int, Double)
    /// Scale factors or cross-axis terms are too large for a working chip.
    case implausibleMatrix(Matrix3)
    /// The RMS residual, m/s², is too large. The pose with the largest residual was probably not a rest.
    case residualTooLarge(Double, worstPose: Int)
}

extension Matrix3 {
    /// Whether the diagonal is within `scale` of 1 and everything else within `cross` of 0.
    func isPlausible(scale: Double, cross: Double) -> Bool {
        for row in 0..<3 {
            for column in 0..<3 {
                let value = self[row][column]
                let isWithin = row == column ? abs(value - 1) <= scale : abs(value) <= cross
                if !isWithin { return false }
            }
        }
        return true
    }
}

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
            return check.directionError < 5 * Rule.largestTurnError + 0.1 * check.path
        }
        while true {
            guard let (calibration, matrix, solution) = iterate(with: turns) else { return nil }
            var worst: (index: Int, error: Double)?
            for index in 0..<turns.count {
                let error = TurnCheck(turns[index], matrix: matrix, calibration)?.directionError ?? .infinity
                if error > max(Rule.largestTurnError, worst?.error ?? 0) { worst = (index, error) }
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
            let largest = next.largestStep
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
                target: standardGravity - force.length, deviation: Rule.forceDeviation)
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
                deviation: Rule.gyroscopeDeviation)
        }
        let calibration = Self.calibration(values)
        for turn in turns {
            guard let check = TurnCheck(turn, matrix: matrix, calibration) else { return false }
            for axis in 0..<3 {
                equations.add(
                    check.forceRow(axis: axis) + check.rateRow(axis: axis),
                    target: check.found[axis] - check.turned[axis], deviation: Rule.turnDeviation)
            }
        }
        return true
    }

    private func padded(_ row: [Double], to count: Int) -> [Double] {
        row + [Double](repeating: 0, count: count - row.count)
    }

    private func priorDeviation(_ index: Int) -> Double {
        index < 3
            ? Rule.offsetDeviation : index < 6 ? Rule.scaleDeviation : Rule.crossAxisDeviation
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
