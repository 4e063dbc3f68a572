/// Finds hard iron, soft iron, scale and alignment of a magnetometer while the board is turned by hand, with the six-axis
/// attitude.
///
/// A reading is m = W · Rᵀ · F + h, with the attitude R from body to earth, the field F of the earth, the hard iron h and a
/// matrix W near the identity. The attitude makes tilts of 60° in all directions sufficient; the lengths of the readings alone
/// would need the whole sphere.
///
/// Readings are averaged over turns of five degrees, and summed in segments of some 25 of them (`MagneticMoments`), the latest
/// 24 of which are kept. Each segment has a heading of its own, since that of the gyroscope drifts. A segment that does not fit
/// the others, because iron was near, is left out. Memory is fixed; only `solve` allocates.
package struct MagneticFit: Sendable {
    /// The priors and limits of a fit.
    package struct Parameters: Equatable, Sendable, BitwiseCopyable {
        /// The turn over which readings are averaged into one, rad. Default 5°.
        package var turn = 5 * radiansPerDegree
        /// Prior standard deviation of an element of W. Default 0.1: soft iron and scale.
        package var softIronDeviation = 0.1
        /// Standard deviation of the change of the gyroscope's heading from one segment to the next, rad. Default 3°: a
        /// scale error of 2 % in the 125° of a segment.
        package var headingDeviation = 3 * radiansPerDegree
        /// Smallest standard deviation of a reading, µT. Default 0.5: noise and what the model leaves out.
        package var fieldDeviation = 0.5
        /// Fewest readings. Default 100.
        package var fewestReadings = 100
        /// Largest RMS residual, µT. Default 1.
        package var largestResidual = 1.0
        /// Largest standard deviation of the hard iron along an axis, µT. Default 0.3.
        package var largestDeviation = 0.3
        /// Largest plausible difference of an element of the soft-iron matrix from the identity. Default 0.3.
        package var largestSoftIron = 0.3
        /// The plausible strength of the field, µT. The earth's is 22 to 67 µT.
        package var weakestField = 22.0
        package var strongestField = 67.0
        /// Part of the segments that may be left out.
        package var largestPartLeftOut = 0.25
        /// By how much the second-best right-angled rotation of the axes must fit worse than the best. Default 1.5.
        package var axesRatio = 1.5

        package init() {}
    }

    /// A calibration and its quality.
    package struct Solution: Equatable, Sendable, BitwiseCopyable {
        package var calibration: MagneticCalibration
        /// RMS of what the model does not explain, per axis, µT.
        package var residual: Double
        /// Standard deviation of the hard iron, µT, the largest of the axes.
        package var deviation: Double
        /// Standard deviation of the heading that this leaves, rad, with that side of the board up that was up in the middle
        /// of the movement: the largest in any direction.
        package var headingDeviation: Double
        /// How many readings there were, and how many of them were left out because they did not fit the others.
        package var readings: Int
        package var readingsLeftOut: Int
    }

    static let segmentLength = 25
    static let segmentLimit = 24

    package let parameters: Parameters

    /// The noise of a reading at rest, µT, if it was measured. With a noisy magnetometer the residual may be larger.
    package var restNoise = 0.0

    /// The sums of the segments, in a ring once there are `segmentLimit`, and the index of the newest.
    private var segments: [MagneticMoments] = []
    private var newest = -1

    // The reading that is being averaged, and the attitude at its start.
    private var startAttitude = Quaternion.identity
    private var fieldSum = Vector3.zero
    private var rotationSum = Matrix3(.zero, .zero, .zero)
    private var sumCount = 0.0

    package init(parameters: Parameters = Parameters()) {
        self.parameters = parameters
        segments.reserveCapacity(MagneticFit.segmentLimit)
    }

    /// Adds a reading of the magnetometer, µT, with the six-axis attitude at its time, both in the same axes. Does not
    /// allocate.
    ///
    /// - Returns: whether it completed a turn of five degrees, so that `solve` may give another result.
    @discardableResult
    package mutating func add(_ field: Vector3, attitude: Quaternion) -> Bool {
        guard field.isFinite, attitude.normSquared.isFinite else { return false }
        let isComplete = sumCount > 0 && attitude.angle(to: startAttitude) >= parameters.turn
        if isComplete {
            let k = 1 / sumCount
            append(k * fieldSum, k * rotationSum)
        }
        if isComplete || sumCount == 0 {
            startAttitude = attitude
            fieldSum = .zero
            rotationSum = Matrix3(.zero, .zero, .zero)
            sumCount = 0
        }
        fieldSum += field
        rotationSum = rotationSum + attitude.matrix
        sumCount += 1
        return isComplete
    }

    private mutating func append(_ field: Vector3, _ rotation: Matrix3) {
        if newest < 0 || segments[newest].count >= Double(MagneticFit.segmentLength) {
            newest = (newest + 1) % MagneticFit.segmentLimit
            if newest < segments.count {
                segments[newest] = MagneticMoments()
            } else {
                segments.append(MagneticMoments())
            }
        }
        segments[newest].add(field, rotation)
    }

    /// Forgets the attitude of the reading that is being averaged, because the next attitude does not continue it.
    package mutating func interrupt() { sumCount = 0 }

    // MARK: How far it is

    /// The number of readings in use.
    package var readings: Int { segments.reduce(0) { $0 + Int($1.count) } }

    /// The part of all directions of the board that have pointed up: 0 … 1, in steps of 1/24.
    package var coverage: Double { Double(directions.nonzeroBitCount) / 24 }

    private var directions: UInt32 { segments.reduce(0) { $0 | $1.directions } }

    /// The side of the board that has pointed up least.
    package var missingSide: BodySide {
        let directions = self.directions
        var missing = BodySide.plusX
        for side in BodySide.allCases
        where MagneticMoments.parts(of: side, in: directions) < MagneticMoments.parts(of: missing, in: directions) {
            missing = side
        }
        return missing
    }

    /// The segments from the oldest to the newest.
    var orderedSegments: [MagneticMoments] {
        guard newest >= 0 else { return [] }
        return (1...segments.count).map { segments[(newest + $0) % segments.count] }
    }

    // MARK: The result

    /// The calibration that fits the readings.
    ///
    /// - Throws: the reason if they do not suffice or contradict one another.
    package func solve() throws(MagneticFitError) -> Solution {
        let count = readings
        guard count >= parameters.fewestReadings else {
            throw MagneticFitError.tooFewReadings(have: count, need: parameters.fewestReadings)
        }
        var segments = orderedSegments
        if let axes = betterAxes(segments) { throw MagneticFitError.wrongAxes(axes) }
        let largestResidual = max(parameters.largestResidual, 1.5 * restNoise)
        let fewest = Double(segments.count) * (1 - parameters.largestPartLeftOut)
        while true {
            guard let estimate = iterate(segments) else { throw MagneticFitError.noSolution }
            if let worst = estimate.outlier(beyond: largestResidual), Double(segments.count - 1) >= fewest {
                segments.remove(at: worst)
                continue
            }
            guard estimate.residual <= largestResidual else {
                throw MagneticFitError.residualTooLarge(estimate.residual)
            }
            return try checked(estimate, count, segments)
        }
    }

    private func checked(
        _ estimate: MagneticEstimate, _ count: Int, _ segments: [MagneticMoments]
    ) throws(MagneticFitError) -> Solution {
        var used = MagneticMoments()
        for segment in segments { used.add(segment) }
        let (deviation, axis) = estimate.hardIronDeviation
        guard deviation <= parameters.largestDeviation else {
            throw MagneticFitError.notTurnedEnough(deviation: deviation, axis: axis, missing: missingSide)
        }
        let strength = estimate.place.strength
        guard strength >= parameters.weakestField, strength <= parameters.strongestField else {
            throw MagneticFitError.implausibleStrength(strength)
        }
        let softIron = estimate.shape.inverse
        let largest = (softIron - .identity).largestElement
        guard largest <= parameters.largestSoftIron else { throw MagneticFitError.implausibleSoftIron(largest) }
        return Solution(
            calibration: MagneticCalibration(hardIron: estimate.hardIron, softIron: softIron, place: estimate.place),
            residual: estimate.residual, deviation: deviation,
            headingDeviation: estimate.headingDeviation(up: used.rotation.row2), readings: count,
            readingsLeftOut: count - Int(used.count))
    }
}

/// Why the readings of a magnetometer give no calibration, at least not yet.
package enum MagneticFitError: Error, Equatable, Sendable, BitwiseCopyable {
    /// The board has not been turned enough for this many readings, one for each five degrees.
    case tooFewReadings(have: Int, need: Int)
    /// The readings leave the hard iron of an axis uncertain by this deviation, µT. The side has pointed up least.
    case notTurnedEnough(deviation: Double, axis: Int, missing: BodySide)
    /// The readings contradict one another by this RMS, µT: iron or a magnet was near, or something on the board moved.
    case residualTooLarge(Double)
    /// The field would have a strength, µT, that the earth's has nowhere.
    case implausibleStrength(Double)
    /// An element of the soft-iron matrix would differ so much from the identity's.
    case implausibleSoftIron(Double)
    /// The readings fit the gyroscope only after this right-angled rotation: its axes are not those that they are taken for.
    case wrongAxes(Matrix3)
    /// The equations have no solution.
    case noSolution
}
