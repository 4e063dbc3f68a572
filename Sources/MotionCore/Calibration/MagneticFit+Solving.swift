internal import CMotionMath

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
