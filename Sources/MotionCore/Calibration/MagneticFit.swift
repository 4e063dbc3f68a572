internal import CMotionMath

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

/// The estimate of a magnetometer's errors from segments of readings.
struct MagneticEstimate {
    /// W: what the sensor makes of a field along the body's axes; near the identity.
    var shape = Matrix3.identity
    var hardIron: Vector3
    /// The field's horizontal part and its part up, µT.
    var horizontal: Double
    var up: Double
    /// The angle of the horizontal part against the x axis of the attitude, rad, for each segment.
    var headings: [Double]

    /// RMS of what is not explained, per axis, µT: of all readings, and of each segment.
    var residual = 0.0
    var residuals: [Double] = []
    /// The last step, for its covariance.
    var solution: LeastSquaresSolution?

    // The unknowns of the normal equations.
    static func shape(_ row: Int, _ column: Int) -> Int { 3 * row + column }
    static func hardIron(_ axis: Int) -> Int { 9 + axis }
    static let horizontal = 12
    static let up = 13
    static func heading(_ segment: Int) -> Int { 14 + segment }
    var unknowns: Int { 14 + headings.count }

    /// The field along the axes of the attitude of a segment.
    func field(_ segment: Int) -> Vector3 {
        Vector3(horizontal * cos(headings[segment]), horizontal * sin(headings[segment]), up)
    }

    var place: MagneticFieldFigures {
        MagneticFieldFigures(
            strength: (horizontal * horizontal + up * up).squareRoot(), dip: atan2(-up, abs(horizontal)))
    }

    /// The segment with the largest residual if that is too large and much larger than usual.
    func outlier(beyond limit: Double) -> Int? {
        guard let worst = residuals.indices.max(by: { residuals[$0] < residuals[$1] }) else { return nil }
        let median = residuals.sorted()[residuals.count / 2]
        return residuals[worst] > max(limit, 3 * median) ? worst : nil
    }

    /// Standard deviation of the hard iron along its least certain axis, µT, and that axis.
    var hardIronDeviation: (deviation: Double, axis: Int) {
        guard let solution else { return (.infinity, 0) }
        var largest = (deviation: 0.0, axis: 0)
        for axis in 0..<3 {
            let deviation = solution.deviation(of: MagneticEstimate.hardIron(axis))
            if !(deviation <= largest.deviation) { largest = (deviation, axis) }
        }
        return largest
    }

    /// The largest standard deviation of the heading, rad, in eight directions, with the side up that is nearest to the body
    /// axis `up`.
    func headingDeviation(up: Vector3) -> Double {
        guard let solution, abs(horizontal) > 0 else { return .infinity }
        let level = Quaternion(from: BodySide(nearestTo: up).direction, to: Vector3(0, 0, 1))
        let inverse = shape.inverse.transposed
        var largest = 0.0
        for step in 0..<8 {
            let attitude = Quaternion(angle: .pi / 4 * Double(step), axis: Vector3(0, 0, 1)) * level
            // The error of the corrected field across the horizontal field: eᵀ · W⁻¹ · (δh + δW · x).
            let x = attitude.unrotate(Vector3(horizontal, 0, self.up))
            let across = inverse * attitude.unrotate(Vector3(0, 1, 0))
            var row = [Double](repeating: 0, count: unknowns)
            for axis in 0..<3 {
                row[MagneticEstimate.hardIron(axis)] = across[axis]
                for column in 0..<3 { row[MagneticEstimate.shape(axis, column)] = across[axis] * x[column] }
            }
            largest = max(largest, solution.deviation(of: row))
        }
        return largest / abs(horizontal)
    }
}

extension MagneticFit {
    /// Solves by Gauss-Newton; `nil` if there is no solution.
    func iterate(_ segments: [MagneticMoments]) -> MagneticEstimate? {
        guard var estimate = start(segments) else { return nil }
        for _ in 0..<20 {
            estimate.setResiduals(segments)
            guard let solution = step(estimate, segments).solved() else { return nil }
            estimate.apply(solution)
            guard estimate.hardIron.isFinite else { return nil }
            var largest = 0.0
            for index in 0..<estimate.unknowns where index < 9 || index >= 14 {
                largest = max(largest, abs(solution.step[index]))
            }
            if largest < 1e-6 { break }
        }
        estimate.setResiduals(segments)
        return estimate
    }

    /// The first estimate, with W the identity: linear in the hard iron and the field of each segment.
    private func start(_ segments: [MagneticMoments]) -> MagneticEstimate? {
        guard let hardIron = MagneticFit.fit(segments, axes: .identity)?.hardIron else { return nil }
        var horizontal = 0.0
        var up = 0.0
        var headings: [Double] = []
        for segment in segments {
            let field = (segment.turnedBack(.identity) - segment.rotation * hardIron) * (1 / segment.count)
            headings.append(atan2(field.y, field.x))
            horizontal += (field.x * field.x + field.y * field.y).squareRoot() / Double(segments.count)
            up += field.z / Double(segments.count)
        }
        return MagneticEstimate(hardIron: hardIron, horizontal: horizontal, up: up, headings: headings)
    }

    /// The normal equations for a step from an estimate.
    private func step(_ estimate: MagneticEstimate, _ segments: [MagneticMoments]) -> NormalEquations {
        var equations = NormalEquations(count: estimate.unknowns)
        let deviation = max(parameters.fieldDeviation, estimate.residual)
        for index in segments.indices {
            estimate.add(segments[index], index, to: &equations, weight: 1 / (deviation * deviation))
        }
        for row in 0..<3 {
            for column in 0..<3 {
                equations.addPrior(
                    MagneticEstimate.shape(row, column),
                    target: (row == column ? 1 : 0) - estimate.shape[row][column],
                    deviation: parameters.softIronDeviation)
            }
        }
        for index in segments.indices {
            // Keeps the equations solvable where the field has no horizontal part.
            equations.addPrior(MagneticEstimate.heading(index), target: 0, deviation: .pi)
            guard index > 0 else { continue }
            var row = [Double](repeating: 0, count: estimate.unknowns)
            row[MagneticEstimate.heading(index)] = 1
            row[MagneticEstimate.heading(index - 1)] = -1
            let change = Quaternion.wrapped(estimate.headings[index] - estimate.headings[index - 1])
            equations.add(row, target: -change, deviation: parameters.headingDeviation)
        }
        return equations
    }
}

extension MagneticEstimate {
    /// Adds the readings of a segment to the normal equations of a step.
    fileprivate func add(
        _ segment: MagneticMoments, _ index: Int, to equations: inout NormalEquations, weight: Double
    ) {
        let field = field(index)
        // The derivatives of the field: by its horizontal part, its part up, and the heading.
        let (cosine, sine) = (cos(headings[index]), sin(headings[index]))
        let derivatives = (
            (MagneticEstimate.horizontal, Vector3(cosine, sine, 0)), (MagneticEstimate.up, Vector3(0, 0, 1)),
            (MagneticEstimate.heading(index), Vector3(-horizontal * sine, horizontal * cosine, 0))
        )
        let turned = segment.turned(field)
        let products = segment.turnedByTurned(field, field)
        let errors = residualProducts(segment, field, field)
        let sum = segment.field - segment.count * hardIron - shape * turned
        for row in 0..<3 {
            let axis = MagneticEstimate.hardIron(row)
            equations.add(information: weight * segment.count, axis, axis)
            equations.add(rightSide: weight * sum[row], axis)
            for column in 0..<3 {
                let element = MagneticEstimate.shape(row, column)
                equations.add(information: weight * turned[column], element, axis)
                equations.add(rightSide: weight * errors[row][column], element)
                for other in 0...column {
                    equations.add(
                        information: weight * products[column][other], element, MagneticEstimate.shape(row, other))
                }
            }
        }
        add(derivatives.0, to: &equations, segment, field, weight)
        add(derivatives.1, to: &equations, segment, field, weight)
        add(derivatives.2, to: &equations, segment, field, weight)
        let metric = shape.transposed * shape
        func couple(_ a: (Int, Vector3), _ b: (Int, Vector3)) {
            equations.add(
                information: weight * metric.elementProduct(segment.turnedByTurned(a.1, b.1)), a.0, b.0)
        }
        couple(derivatives.0, derivatives.0)
        couple(derivatives.1, derivatives.1)
        couple(derivatives.2, derivatives.2)
        couple(derivatives.0, derivatives.1)
        couple(derivatives.0, derivatives.2)
        couple(derivatives.1, derivatives.2)
    }

    /// Adds what an unknown of the field has in common with W and h, and its right side.
    private func add(
        _ unknown: (index: Int, derivative: Vector3), to equations: inout NormalEquations, _ segment: MagneticMoments,
        _ field: Vector3, _ weight: Double
    ) {
        let mean = shape * segment.turned(unknown.derivative)
        let products = shape * segment.turnedByTurned(unknown.derivative, field)
        for row in 0..<3 {
            equations.add(information: weight * mean[row], unknown.index, MagneticEstimate.hardIron(row))
            for column in 0..<3 {
                equations.add(
                    information: weight * products[row][column], unknown.index, MagneticEstimate.shape(row, column))
            }
        }
        let errors = residualProducts(segment, field, unknown.derivative)
        equations.add(rightSide: weight * shape.elementProduct(errors), unknown.index)
    }

    /// The sum of (m - h - W · Rᵀ · field) · (Rᵀu)ᵀ.
    private func residualProducts(_ segment: MagneticMoments, _ field: Vector3, _ u: Vector3) -> Matrix3 {
        segment.fieldByTurned(u) - Matrix3(outer: hardIron, segment.turned(u))
            - shape * segment.turnedByTurned(field, u)
    }

    fileprivate mutating func apply(_ solution: LeastSquaresSolution) {
        for row in 0..<3 {
            hardIron[row] += solution.step[MagneticEstimate.hardIron(row)]
            for column in 0..<3 { shape[row][column] += solution.step[MagneticEstimate.shape(row, column)] }
        }
        horizontal += solution.step[MagneticEstimate.horizontal]
        up += solution.step[MagneticEstimate.up]
        for index in headings.indices { headings[index] += solution.step[MagneticEstimate.heading(index)] }
        self.solution = solution
    }

    /// Computes the residuals from the sums.
    fileprivate mutating func setResiduals(_ segments: [MagneticMoments]) {
        var squares = 0.0
        var count = 0.0
        residuals.removeAll(keepingCapacity: true)
        for index in segments.indices {
            let segment = segments[index]
            let field = field(index)
            let metric = shape.transposed * shape
            let explained =
                metric.elementProduct(segment.turnedByTurned(field, field))
                + segment.count * hardIron.lengthSquared + 2 * hardIron.dot(shape * segment.turned(field))
            let common =
                hardIron.dot(segment.field) + shape.elementProduct(segment.fieldByTurned(field))
            let sum = max(0, segment.fieldSquares + explained - 2 * common)
            residuals.append((sum / (3 * segment.count)).squareRoot())
            squares += sum
            count += segment.count
        }
        residual = (squares / (3 * count)).squareRoot()
    }
}

// Whether a magnetometer has the axes that it is taken to have: a driver for another part, or a board that mounts it another
// way, shows as readings that fit the gyroscope only after a rotation.
extension MagneticFit {
    /// The right-angled rotation that makes the readings fit the attitude clearly better than all others; `nil` if that is
    /// none at all, or if the movement does not show it.
    ///
    /// A rotation and its negative fit equally well, with the field reversed, so it is known up to its sign.
    func betterAxes(_ segments: [MagneticMoments]) -> Matrix3? {
        var all = MagneticMoments()
        for segment in segments { all.add(segment) }
        var best = (residual: Double.infinity, axes: Matrix3.identity)
        var second = Double.infinity
        for index in 0..<24 {
            let axes = MagneticFit.rightAngled(index)
            guard let residual = MagneticFit.fit([all], axes: axes)?.residual else { return nil }
            if residual < best.residual {
                second = best.residual
                best = (residual, axes)
            } else {
                second = min(second, residual)
            }
        }
        let isClear = second >= parameters.axesRatio * max(best.residual, parameters.fieldDeviation)
        return isClear && best.axes != .identity ? best.axes : nil
    }

    /// Fits hard iron and one field for each segment to the readings along other axes, with W the identity: linear.
    ///
    /// - Returns: the hard iron, µT, and the RMS residual per axis, µT.
    static func fit(_ segments: [MagneticMoments], axes: Matrix3) -> (hardIron: Vector3, residual: Double)? {
        // R · Q · m = F + R · h. Each field F is eliminated: it is the mean of the rest.
        var equations = NormalEquations(count: 3)
        var right = Vector3.zero
        var squares = 0.0
        var count = 0.0
        for segment in segments {
            let back = segment.turnedBack(axes)
            let side = axes * segment.field - segment.rotation.transposed * back * (1 / segment.count)
            let spread = segment.rotation.transposed * segment.rotation
            for row in 0..<3 {
                equations.add(rightSide: side[row], row)
                for column in 0...row {
                    equations.add(
                        information: (row == column ? segment.count : 0) - spread[row][column] / segment.count, row,
                        column)
                }
            }
            right += side
            squares += segment.fieldSquares - back.lengthSquared / segment.count
            count += segment.count
        }
        // 1 mT: no more than what keeps the equations solvable while the board is turned about one axis.
        for axis in 0..<3 { equations.addPrior(axis, target: 0, deviation: 1000) }
        guard count > 0, let step = equations.solved()?.step else { return nil }
        let hardIron = Vector3(step[0], step[1], step[2])
        let sum = max(0, squares - hardIron.dot(right))
        return (hardIron, (sum / (3 * count)).squareRoot())
    }

    /// The rotations by right angles, 0 … 23.
    static func rightAngled(_ index: Int) -> Matrix3 {
        let sides = BodySide.allCases
        let first = sides[index / 4].direction
        let second = sides[(2 * (index / 8 + 1) + index % 4) % 6].direction
        return Matrix3(first, second, first.cross(second))
    }
}

/// Sums over readings of a magnetometer, from which its errors are computed without the readings themselves.
///
/// With the attitude R (body to earth), the field F of the earth reads m = W · Rᵀ · F + h. Everything that a least-squares fit
/// of W, h and F needs of the readings is a sum of products of m and R.
struct MagneticMoments: Equatable, Sendable, BitwiseCopyable {
    /// The number of readings.
    private(set) var count = 0.0
    /// Sums of m and |m|².
    private(set) var field = Vector3.zero
    private(set) var fieldSquares = 0.0
    /// The sum of R.
    private(set) var rotation = Matrix3(.zero, .zero, .zero)
    /// Sums of m · rᵀ for each row r of R.
    private var fieldBy0 = Matrix3(.zero, .zero, .zero)
    private var fieldBy1 = Matrix3(.zero, .zero, .zero)
    private var fieldBy2 = Matrix3(.zero, .zero, .zero)
    /// Sums of r · sᵀ for each pair of rows r, s of R.
    private var rows00 = Matrix3(.zero, .zero, .zero)
    private var rows01 = Matrix3(.zero, .zero, .zero)
    private var rows02 = Matrix3(.zero, .zero, .zero)
    private var rows11 = Matrix3(.zero, .zero, .zero)
    private var rows12 = Matrix3(.zero, .zero, .zero)
    private var rows22 = Matrix3(.zero, .zero, .zero)
    /// The directions of the body that have pointed up: one bit for each quarter of each side.
    private(set) var directions: UInt32 = 0

    /// Adds a reading: the field, µT, and the attitude. Both may be means over a small turn.
    mutating func add(_ m: Vector3, _ r: Matrix3) {
        count += 1
        field += m
        fieldSquares += m.lengthSquared
        rotation = rotation + r
        fieldBy0 = fieldBy0 + Matrix3(outer: m, r.row0)
        fieldBy1 = fieldBy1 + Matrix3(outer: m, r.row1)
        fieldBy2 = fieldBy2 + Matrix3(outer: m, r.row2)
        rows00 = rows00 + Matrix3(outer: r.row0, r.row0)
        rows01 = rows01 + Matrix3(outer: r.row0, r.row1)
        rows02 = rows02 + Matrix3(outer: r.row0, r.row2)
        rows11 = rows11 + Matrix3(outer: r.row1, r.row1)
        rows12 = rows12 + Matrix3(outer: r.row1, r.row2)
        rows22 = rows22 + Matrix3(outer: r.row2, r.row2)
        directions |= MagneticMoments.bit(of: r.row2)
    }

    /// Adds the sums of other readings.
    mutating func add(_ other: MagneticMoments) {
        count += other.count
        field += other.field
        fieldSquares += other.fieldSquares
        rotation = rotation + other.rotation
        fieldBy0 = fieldBy0 + other.fieldBy0
        fieldBy1 = fieldBy1 + other.fieldBy1
        fieldBy2 = fieldBy2 + other.fieldBy2
        rows00 = rows00 + other.rows00
        rows01 = rows01 + other.rows01
        rows02 = rows02 + other.rows02
        rows11 = rows11 + other.rows11
        rows12 = rows12 + other.rows12
        rows22 = rows22 + other.rows22
        directions |= other.directions
    }

    // MARK: Sums for directions of the earth

    /// The sum of Rᵀu.
    func turned(_ u: Vector3) -> Vector3 { rotation.transposed * u }

    /// The sum of m · (Rᵀu)ᵀ.
    func fieldByTurned(_ u: Vector3) -> Matrix3 { u.x * fieldBy0 + u.y * fieldBy1 + u.z * fieldBy2 }

    /// The sum of (Rᵀu) · (Rᵀv)ᵀ.
    func turnedByTurned(_ u: Vector3, _ v: Vector3) -> Matrix3 {
        let diagonal = (u.x * v.x) * rows00 + (u.y * v.y) * rows11 + (u.z * v.z) * rows22
        let upper = (u.x * v.y) * rows01 + (u.x * v.z) * rows02 + (u.y * v.z) * rows12
        let lower = (v.x * u.y) * rows01 + (v.x * u.z) * rows02 + (v.y * u.z) * rows12
        return diagonal + upper + lower.transposed
    }

    /// The sum of R · q · m for a constant matrix q.
    func turnedBack(_ q: Matrix3) -> Vector3 {
        // Row k of the result is the sum of r · (q · m), the trace of q · (m · rᵀ).
        let transposed = q.transposed
        return Vector3(
            transposed.elementProduct(fieldBy0), transposed.elementProduct(fieldBy1),
            transposed.elementProduct(fieldBy2))
    }

    // MARK: Directions

    /// The bit of a direction: 24 parts of a sphere, four for each side of a cube.
    private static func bit(of up: Vector3) -> UInt32 {
        let side = BodySide(nearestTo: up)
        let (first, second) =
            switch side {
            case .plusX, .minusX: (up.y, up.z)
            case .plusY, .minusY: (up.z, up.x)
            case .plusZ, .minusZ: (up.x, up.y)
            }
        return 1 << (4 * UInt32(side.rawValue) + (first > 0 ? 2 : 0) + (second > 0 ? 1 : 0))
    }

    /// How many of the four parts of a side have pointed up.
    static func parts(of side: BodySide, in directions: UInt32) -> Int {
        (directions >> (4 * UInt32(side.rawValue)) & 0xF).nonzeroBitCount
    }
}
