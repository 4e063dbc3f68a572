/// Finds a gyroscope's scale factors and misalignment from turns between rests. Two facts are used: gravity's direction
/// at the start, carried along by the gyroscope, must match gravity's direction at the end; and a sensor that went all
/// the way round has turned by 360°.
///
/// There are nine unknowns, the matrix that turns readings into true rates along the calibrated accelerometer's axes,
/// solved by Gauss-Newton with priors for the errors of a chip. The bias is the mean of the rests.
package struct GyroscopeFit: Sendable {
    /// The priors and limits.
    private enum Rule {
        /// Prior standard deviation of a scale factor. Default 5 %.
        static let scaleDeviation = 0.05
        /// Prior standard deviation of a misalignment, rad. Default 0.03.
        static let crossAxisDeviation = 0.03
        /// Standard deviation of gravity's direction at a rest, rad. Default 0.1°.
        static let directionDeviation = 0.1 * radiansPerDegree
        /// Standard deviation of the heading when the sensor is put back after full turns, rad. Default 0.5°, by eye
        /// against an edge.
        static let headingDeviation = 0.5 * radiansPerDegree
        /// Smallest turn, rad. Default 30°.
        static let smallestTurn = 30 * radiansPerDegree
        /// Fewest turns. Default 3.
        static let fewestTurns = 3
        /// Largest standard deviation of a scale factor. Default 1 %: turns that leave out an axis exceed it.
        static let largestUncertainty = 0.01
        /// Largest plausible error of a scale factor. Default 15 %.
        static let largestScaleError = 0.15
        /// Largest plausible misalignment, rad. Default 0.1.
        static let largestCrossAxis = 0.1
        /// Largest plausible RMS residual of the fit, rad. Default 2°.
        static let largestResidual = 2 * radiansPerDegree
    }

    /// The turns so far.
    package private(set) var turns: [TurnSegment] = []

    /// The accelerometer's calibration, which gives gravity's direction.
    package let accelerometer: AccelerometerCalibration

    package init(accelerometer: AccelerometerCalibration) {
        self.accelerometer = accelerometer
    }

    /// Adds a turn.
    ///
    /// - Throws: `tooSmall`, `notBack` or `wrongNumberOfTurns`; the turn is then not added.
    package mutating func add(_ turn: TurnSegment) throws(GyroscopeFitError) {
        if turn.fullTurns > 0 {
            let tilt = accelerometer.apply(turn.start.force).angle(to: accelerometer.apply(turn.end.force))
            guard tilt < 3 * radiansPerDegree else { throw GyroscopeFitError.notBack(angle: tilt) }
            let heading = abs(turn.measuredHeading)
            guard abs(heading / (2 * .pi) - Double(turn.fullTurns)) < 0.15 * Double(turn.fullTurns) else {
                throw GyroscopeFitError.wrongNumberOfTurns(measured: heading / (2 * .pi), expected: turn.fullTurns)
            }
        } else {
            let angle = turn.measuredRotation.rotationVector.length
            guard angle >= Rule.smallestTurn else { throw GyroscopeFitError.tooSmall(angle: angle) }
        }
        turns.append(turn)
    }

    /// A calibration and its quality.
    package struct Solution: Equatable, Sendable, BitwiseCopyable {
        /// The slope over temperature is zero: turns are too short to measure it.
        package var calibration: GyroscopeCalibration
        /// RMS of two kinds of angles (rad): between gravity as carried along and as measured, and between full turns
        /// and 360°.
        package var residual: Double
        /// How many turns there were.
        package var turns: Int
        /// Standard deviation of the least certain scale factor, and its axis.
        package var uncertainty: Double
        package var weakestAxis: Int
    }

    /// Finds the calibration that fits all turns.
    ///
    /// - Throws: the reason if there is no plausible calibration.
    package func solve() throws(GyroscopeFitError) -> Solution {
        guard turns.count >= Rule.fewestTurns else {
            throw GyroscopeFitError.tooFewTurns(have: turns.count, need: Rule.fewestTurns)
        }
        var matrix = Matrix3.identity
        var solution: LeastSquaresSolution?
        for _ in 0..<12 {
            guard let next = equations(around: matrix).solved() else { throw GyroscopeFitError.noSolution }
            solution = next
            let largest = next.largestStep
            guard largest.isFinite, largest < 1 else { throw GyroscopeFitError.noSolution }
            matrix = matrix.adding(next.step[...])
            if largest < 1e-9 { break }
        }
        guard let solution else { throw GyroscopeFitError.noSolution }
        var weakest = 0
        for axis in 1..<3 where solution.deviation(of: 4 * axis) > solution.deviation(of: 4 * weakest) {
            weakest = axis
        }
        let uncertainty = solution.deviation(of: 4 * weakest)
        guard uncertainty <= Rule.largestUncertainty else {
            throw GyroscopeFitError.axesDoNotSpan(weakestAxis: weakest, uncertainty: uncertainty)
        }
        guard matrix.isPlausible(scale: Rule.largestScaleError, cross: Rule.largestCrossAxis) else {
            throw GyroscopeFitError.implausibleMatrix(matrix)
        }
        let residual = residual(matrix)
        guard residual <= Rule.largestResidual else { throw GyroscopeFitError.residualTooLarge(residual) }
        return Solution(
            calibration: calibration(matrix), residual: residual, turns: turns.count, uncertainty: uncertainty,
            weakestAxis: weakest)
    }

    private func calibration(_ matrix: Matrix3) -> GyroscopeCalibration {
        var bias = Vector3.zero
        var temperature = 0.0
        for turn in turns {
            bias += turn.start.rate + turn.end.rate
            temperature += turn.start.temperature + turn.end.temperature
        }
        let share = 1 / Double(2 * turns.count)
        let mean = temperature * share
        return GyroscopeCalibration(
            bias: bias * share, referenceTemperature: mean.isFinite ? mean : 25, matrix: matrix)
    }

    private func equations(around matrix: Matrix3) -> NormalEquations {
        var equations = NormalEquations(count: 9)
        for index in 0..<9 {
            let isDiagonal = index % 4 == 0
            equations.addPrior(
                index, target: (isDiagonal ? 1 : 0) - matrix.element(index),
                deviation: isDiagonal ? Rule.scaleDeviation : Rule.crossAxisDeviation)
        }
        for turn in turns {
            guard let check = TurnCheck(turn, matrix: matrix, accelerometer) else { continue }
            for axis in 0..<3 {
                equations.add(
                    check.rateRow(axis: axis), target: check.found[axis] - check.turned[axis],
                    deviation: Rule.directionDeviation)
            }
            if let error = check.headingError {
                equations.add(check.headingRow, target: -error, deviation: Rule.headingDeviation)
            }
        }
        return equations
    }

    private func residual(_ matrix: Matrix3) -> Double {
        var squares = 0.0
        var count = 0.0
        for turn in turns {
            guard let check = TurnCheck(turn, matrix: matrix, accelerometer) else { continue }
            let direction = check.directionError
            let heading = abs(check.headingError ?? 0)
            squares += direction * direction + heading * heading
            count += check.headingError == nil ? 1 : 2
        }
        return count > 0 ? (squares / count).squareRoot() : 0
    }
}

extension Matrix3 {
    /// The element at an index that counts row by row.
    func element(_ index: Int) -> Double { self[index / 3][index % 3] }

    /// The matrix plus nine numbers, row by row.
    func adding(_ step: ArraySlice<Double>) -> Matrix3 {
        let i = step.startIndex
        return Matrix3(
            row0 + Vector3(step[i], step[i + 1], step[i + 2]), row1 + Vector3(step[i + 3], step[i + 4], step[i + 5]),
            row2 + Vector3(step[i + 6], step[i + 7], step[i + 8]))
    }
}

/// Why a turn is rejected, or why the turns give no calibration.
package enum GyroscopeFitError: Error, Equatable, Sendable, BitwiseCopyable {
    /// The angle of the turn (rad) is too small to be useful.
    case tooSmall(angle: Double)
    /// The sensor did not return to the attitude in which full turns end: gravity's direction is off by this angle
    /// (rad).
    case notBack(angle: Double)
    /// The gyroscope measured another number of full turns than expected.
    case wrongNumberOfTurns(measured: Double, expected: Int)
    /// More turns are needed.
    case tooFewTurns(have: Int, need: Int)
    /// The turns leave out an axis: the standard deviation of its scale factor is still this large.
    case axesDoNotSpan(weakestAxis: Int, uncertainty: Double)
    /// The equations have no solution.
    case noSolution
    /// Scale factors or misalignment are too large for a working chip.
    case implausibleMatrix(Matrix3)
    /// The RMS residual, rad, is too large.
    case residualTooLarge(Double)
}
