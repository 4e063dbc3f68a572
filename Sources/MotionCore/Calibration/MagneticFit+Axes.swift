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
