internal import CMotionMath

// A block of readings: what it is expected to show, and what its difference means.
extension HeadingFilter {
    /// What a block of readings shows, compared with the errors estimated so far.
    struct Comparison {
        /// The field and the matrix from the body, in the frame of the present heading, and the angular rate there.
        var field: Vector3
        var rotation: Matrix3
        var rate: Vector3
        /// The expected field without delay and hard iron, its strength and its horizontal part, µT.
        var expected: Vector3
        var strength: Double
        var horizontal: Double
        /// Measured minus expected field, µT.
        var difference: Vector3
        /// How north, west and up of the difference follow from the errors.
        var north: HeadingVector
        var west: HeadingVector
        var up: HeadingVector
        /// The low-passed difference: of strength and dip, and along the horizon towards the right of the field, µT.
        var strengthDeviation: Double
        var directionDeviation: Double
        /// From which deviation the field counts as disturbed, µT.
        var limit: Double
        /// The variance of the difference along the horizon that follows from the errors, µT².
        var directionVariance: Double
        /// Variance of the noise of the difference, µT².
        var noise: Double
    }

    mutating func close(_ block: HeadingBlock) {
        guard field != .none else { return begin(with: block.field) }
        if mustAlign, field == .usual, aligns(with: block.field) { return }
        propagate(block)
        let seen = compare(block)
        if field != .usual, returnsToUsual(seen, block) { return }
        switch field {
        case .none: return
        case .usual: guard followUsual(seen, block) else { return }
        case .unknown: learn(seen, block)
        case .other: guard followOther(seen, block) else { return }
        }
        let share = 1 - exp(-block.duration / 30)
        slowVariance += share * (residual.dot(residual) / 3 - slowVariance)
        if field == .usual || field == .other { watchDirection(seen, block) }
    }

    // MARK: Time

    private mutating func propagate(_ block: HeadingBlock) {
        let p = parameters
        let remainder = exp(-block.duration / p.driftTime)
        let seconds = driftSeconds(block.duration)
        errors[HeadingError.offset] += errors[HeadingError.drift] * seconds
        errors[HeadingError.drift] *= remainder
        remainingTurn *= exp(-block.duration / p.adoptionTime)
        covariance.propagate(seconds, driftRemainder: remainder)
        lostVariance += block.lostVariance
        addNoise(
            p.headingWalk * p.headingWalk * block.duration + driftNoise(block.duration) + p.turnError * p.turnError
                * block.path
                + block.lostVariance,
            to: HeadingError.offset)
        addNoise(p.drift * p.drift * (1 - remainder * remainder), to: HeadingError.drift)
        let known = covariance[HeadingError.drift, HeadingError.drift]
        covariance[HeadingError.drift, HeadingError.drift] = max(known, leastDrift * leastDrift)
        for axis in 0..<3 {
            addNoise(p.hardIronWalk * p.hardIronWalk * block.duration, to: HeadingError.hardIron + axis)
            // The usual field has no component to the west.
            if field == .usual && HeadingError.north + axis == HeadingError.west { continue }
            addNoise(p.fieldWalk * p.fieldWalk * block.duration, to: HeadingError.north + axis)
        }
    }

    func addNoise(_ variance: Double, to error: Int) { covariance[error, error] += variance }

    // MARK: Comparison

    private mutating func compare(_ block: HeadingBlock) -> Comparison {
        let p = parameters
        let heading = Quaternion(angle: errors[HeadingError.offset], axis: Vector3(0, 0, 1)).matrix
        let measured = heading * block.field
        let rotation = heading * block.rotation
        let rate = heading * block.rate
        let expected = errors.vector(at: HeadingError.north)
        let strength = max(10, expected.length)
        let byDelay = rate.cross(expected)
        let byHardIron = rotation * errors.vector(at: HeadingError.hardIron)
        let difference = measured - (expected + byDelay * errors[HeadingError.delay] + byHardIron)
        residual += (1 - exp(-block.duration / p.residualTime)) * (difference - residual)

        let horizontal = max(1, Vector3(expected.x, expected.y, 0).length)
        let shown = Vector3(expected.x + residual.x, expected.y + residual.y, 0).length - horizontal
        let strengthDeviation = Vector3(shown, 0, residual.z).length
        let directionDeviation = (residual.x * expected.y - residual.y * expected.x) / horizontal
        let limit = p.disturbedField * strength

        func row(_ axis: Int, heading: Double, _ rotation: Vector3) -> HeadingVector {
            var row = HeadingVector(rotation, at: HeadingError.hardIron)
            row[HeadingError.offset] = heading
            row[HeadingError.delay] = byDelay[axis]
            row[HeadingError.north + axis] = 1
            return row
        }
        let north = row(0, heading: expected.y, rotation.row0)
        let west = row(1, heading: -expected.x, rotation.row1)
        let up = row(2, heading: 0, rotation.row2)
        let directionVariance = covariance.variance(
            of: north * (expected.y / horizontal) - west * (expected.x / horizontal))

        var slow = slowError(strength, limit) + strengthDeviation * strengthDeviation
        // A direction that does not fit is part of the noise, as far as the heading is known better than that, and as far as
        // the gyroscope cannot have lost it.
        let known = min(directionVariance, lostVariance * horizontal * horizontal)
        slow += max(0, directionDeviation * directionDeviation - known)
        let jitter = p.timeJitter * rate.length * strength
        let noise =
            p.fieldNoise * p.fieldNoise / block.count + slow * max(1, 2 * p.fieldErrorTime / block.duration) + jitter
            * jitter
        return Comparison(
            field: measured, rotation: rotation, rate: rate, expected: expected, strength: strength,
            horizontal: horizontal, difference: difference, north: north, west: west, up: up,
            strengthDeviation: strengthDeviation, directionDeviation: directionDeviation, limit: limit,
            directionVariance: directionVariance, noise: noise)
    }

    /// The variance of slow differences of the field from its estimate, µT².
    private func slowError(_ strength: Double, _ limit: Double) -> Double {
        let floor = parameters.fieldError * strength
        return max(floor * floor, min(slowVariance, 0.25 * limit * limit))
    }

    // MARK: Measurement

    /// Corrects the errors by the comparison, one component after the other.
    mutating func correct(_ seen: Comparison, mask: HeadingVector = HeadingError.all) {
        correct(by: seen.difference, (seen.north, seen.west, seen.up), noise: seen.noise, mask: mask)
    }

    mutating func correct(
        by difference: Vector3, _ weights: (HeadingVector, HeadingVector, HeadingVector), noise: Double,
        mask: HeadingVector
    ) {
        let before = covariance[HeadingError.offset, HeadingError.offset]
        var correction = HeadingVector.zero
        func apply(_ difference: Double, _ weights: HeadingVector) {
            let gain = covariance.measure(weights, noise: noise, mask: mask)
            correction += gain * (difference - weights.dot(correction))
        }
        apply(difference.x, weights.0)
        apply(difference.y, weights.1)
        apply(difference.z, weights.2)
        errors += correction
        if field == .usual { history.note(correction[HeadingError.offset]) }
        let after = covariance[HeadingError.offset, HeadingError.offset]
        lostVariance *= min(1, after / max(before, 1e-12))
    }

    // MARK: The heading of the gyroscope

    /// If strength and dip fit for long and the direction does not, the gyroscope has lost the heading, or drifts more than
    /// was thought.
    private mutating func watchDirection(_ seen: Comparison, _ block: HeadingBlock) {
        let p = parameters
        let known = seen.directionVariance + slowError(seen.strength, seen.limit)
        let limit = max(3 * radiansPerDegree * seen.horizontal, 3 * known.squareRoot())
        let isOff = abs(seen.directionDeviation) > limit && seen.strengthDeviation < 0.5 * seen.limit
        jumpTime = isOff ? jumpTime + block.duration : 0
        guard jumpTime > p.jumpTime else { return }
        let angle = seen.directionDeviation / seen.horizontal
        lostVariance += angle * angle
        addNoise(angle * angle, to: HeadingError.offset)
        addNoise(p.initialDrift * p.initialDrift, to: HeadingError.drift)
        jumpTime = 0
    }
}
