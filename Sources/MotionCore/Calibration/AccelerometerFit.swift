/// Finds an accelerometer's offset, scale factors and cross-axis sensitivity from resting positions in any order and any
/// orientation: at rest the length of the true specific force is gravity's.
///
/// Nine numbers are sought, an offset and a symmetric matrix, by Gauss-Newton with prior knowledge of how large a chip's
/// errors are, so that six poses already give offset and scale. Which way the axes as a whole are turned cannot be told
/// from lengths; the symmetric matrix leaves them where they are.
///
/// Lengths alone need nine poses or more for all nine numbers. The turns between the poses, where they were recorded, say
/// by which angle two forces differ, up to the gyroscope's own errors, which are then sought too and thrown away: with
/// them eight poses do.
package struct AccelerometerFit: Sendable {
    /// What is expected of chips and of poses.
    package struct Parameters: Equatable, Sendable, BitwiseCopyable {
        /// Standard deviation of an offset before anything is known, m/s². Default 100 mg.
        package var offsetDeviation = 0.1 * standardGravity
        /// Standard deviation of a scale factor before anything is known. Default 5 %.
        package var scaleDeviation = 0.05
        /// Standard deviation of a cross-axis term before anything is known. Default 3 %.
        package var crossAxisDeviation = 0.03
        /// How well the length of a mean force is known, m/s². Default 0.5 mg, of noise and of a rest that was none.
        package var forceDeviation = 0.0005 * standardGravity
        /// How well a turn tells gravity's direction at its end, rad, beside the gyroscope's scale and misalignment.
        /// Default 0.05°, of noise and of a bias that wanders.
        package var turnDeviation = 0.05 * radiansPerDegree
        /// Standard deviation of the gyroscope's scale factors and misalignment before anything is known. Default 5 %.
        package var gyroscopeDeviation = 0.05
        /// Error of a turn, rad, from which on it is not believed at all: of one that fits no gyroscope, then of one that
        /// does not fit the others. Default 1°; at first five times that and a tenth of the turn.
        package var largestTurnError = 1 * radiansPerDegree
        /// Smallest angle between two poses, rad. Default 20°.
        package var smallestAngle = 20 * radiansPerDegree
        /// Fewest poses. Default 6: an offset and a scale factor an axis.
        package var fewestPoses = 6
        /// Largest believable offset of an axis, m/s². Default 300 mg.
        package var largestOffset = 0.3 * standardGravity
        /// Largest believable error of a scale factor. Default 15 %.
        package var largestScaleError = 0.15
        /// Largest believable cross-axis term. Default 10 %.
        package var largestCrossAxis = 0.1
        /// Largest believable RMS of what the fit leaves, m/s². Default 20 mg.
        package var largestResidual = 0.02 * standardGravity
        /// Largest uncertainty of the length of gravity in any direction, m/s². Default 60 mg: poses that leave a side
        /// of the sensor out are beyond it.
        package var largestUncertainty = 0.06 * standardGravity

        /// Makes the defaults.
        package init() {}
    }

    /// The poses so far, in the order in which they were added.
    package private(set) var poses: [RestingPose] = []

    /// The turns that were added.
    package private(set) var turns: [TurnSegment] = []

    /// What is expected.
    package let parameters: Parameters

    /// Makes a fit without poses.
    package init(parameters: Parameters = Parameters()) {
        self.parameters = parameters
    }

    /// Whether there are poses enough for a try at a solution.
    package var hasEnoughPoses: Bool { poses.count >= parameters.fewestPoses }

    /// Adds a pose.
    ///
    /// - Throws: `notGravity` or `tooNear`; the pose is then left out.
    package mutating func add(_ pose: RestingPose) throws(AccelerometerFitError) {
        let length = pose.force.length
        guard length > 0.6 * standardGravity, length < 1.5 * standardGravity else {
            throw AccelerometerFitError.notGravity(length: length)
        }
        for index in 0..<poses.count {
            let angle = poses[index].force.angle(to: pose.force)
            guard angle >= parameters.smallestAngle else {
                throw AccelerometerFitError.tooNear(pose: index, angle: angle)
            }
        }
        poses.append(pose)
    }

    /// Takes the last pose out again.
    package mutating func removeLast() {
        if !poses.isEmpty { poses.removeLast() }
    }

    /// Adds a turn between two rests, which need not be poses of the fit.
    package mutating func add(_ turn: TurnSegment) {
        turns.append(turn)
    }

    /// The direction (length 1, sensor axes) in which another pose would tell most; for the first poses up is enough.
    package var mostUsefulDirection: Vector3 {
        guard let (_, solution) = iterate() else { return Vector3(0, 0, 1) }
        return weakest(AccelerometerCalibration(), solution).direction
    }

    /// Finds the calibration that makes all poses' forces as long as gravity.
    ///
    /// - Throws: why there is none that can be believed.
    package func solve() throws(AccelerometerFitError) -> Solution {
        guard hasEnoughPoses else {
            throw AccelerometerFitError.tooFewPoses(have: poses.count, need: parameters.fewestPoses)
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
        guard residual <= parameters.largestResidual else {
            throw AccelerometerFitError.residualTooLarge(residual, worstPose: worst)
        }
        let (uncertainty, direction) = weakest(calibration, solution)
        guard uncertainty <= parameters.largestUncertainty else {
            throw AccelerometerFitError.notSpread(missing: direction)
        }
        for axis in 0..<3 {
            guard abs(calibration.offset[axis]) <= parameters.largestOffset else {
                throw AccelerometerFitError.implausibleOffset(axis: axis, calibration.offset[axis])
            }
        }
        guard calibration.matrix.isPlausible(scale: parameters.largestScaleError, cross: parameters.largestCrossAxis)
        else { throw AccelerometerFitError.implausibleMatrix(calibration.matrix) }
        return Solution(
            calibration: calibration, residual: residual, largestResidual: largest, worstPose: worst,
            poses: poses.count, uncertainty: uncertainty, weakestDirection: direction)
    }

    /// A calibration, and how good it is.
    package struct Solution: Equatable, Sendable, BitwiseCopyable {
        package var calibration: AccelerometerCalibration
        /// RMS of what is left of the poses' forces' lengths less gravity, m/s².
        package var residual: Double
        /// The largest of them, m/s², and the index of its pose.
        package var largestResidual: Double
        package var worstPose: Int
        /// How many poses there were.
        package var poses: Int
        /// Standard deviation of the length of gravity, m/s², in the direction where it is least certain. With few poses
        /// this, not the residual, says how good the calibration is.
        package var uncertainty: Double
        /// That direction, length 1, sensor axes: another pose with it up would help most.
        package var weakestDirection: Vector3
    }
}

/// Why a pose is refused, or why the poses give no calibration.
package enum AccelerometerFitError: Error, Equatable, Sendable, BitwiseCopyable {
    /// The force is so far from gravity (m/s²) that the sensor did not rest or is broken.
    case notGravity(length: Double)
    /// The pose is nearly that of the index, the angle (rad) away: it adds nothing.
    case tooNear(pose: Int, angle: Double)
    /// More poses are needed.
    case tooFewPoses(have: Int, need: Int)
    /// The poses leave a side out: one with this direction (length 1, sensor axes) up is missing.
    case notSpread(missing: Vector3)
    /// The equations have no solution.
    case noSolution
    /// The offset of an axis, m/s², is larger than a working chip's.
    case implausibleOffset(axis: Int, Double)
    /// Scale factors or cross-axis terms are larger than a working chip's.
    case implausibleMatrix(Matrix3)
    /// What the fit leaves, RMS in m/s², is too much: the pose of the index, most of all, was no rest.
    case residualTooLarge(Double, worstPose: Int)
}

extension Matrix3 {
    /// Whether the diagonal is within `scale` of 1 and everything else within `cross` of 0.
    func isPlausible(scale: Double, cross: Double) -> Bool {
        for row in 0..<3 {
            let values = row == 0 ? row0 : row == 1 ? row1 : row2
            for column in 0..<3 {
                let isWithin = row == column ? abs(values[column] - 1) <= scale : abs(values[column]) <= cross
                if !isWithin { return false }
            }
        }
        return true
    }
}
