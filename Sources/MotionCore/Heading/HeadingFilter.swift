internal import CMotionMath

/// Turns the attitude of the six-axis filter about the vertical so that it points to magnetic north, with a magnetometer.
///
/// The six-axis attitude stays as it is apart from this turn, so a disturbed field cannot tilt it. A Kalman filter estimates
/// the turn (`offset`), its drift, the delay of the magnetometer, the hard iron that calibration has left, and the field
/// itself. It runs once per block of readings, ten times a second.
///
/// A field is judged by its strength and dip, which do not depend on the heading. While they differ from the usual field's,
/// the heading is that of the gyroscope. If that lasts, another field is learnt and then used, with the heading that the
/// gyroscope has kept; the usual one is used again as soon as it is back.
///
/// The principle, a separate turn about the vertical, is that of VQF (Laidig, Seel, Information Fusion 91, 2023).
package struct HeadingFilter: ~Copyable {
    /// Which field the heading is measured by.
    private enum Field: BitwiseCopyable {
        /// There has been no reading.
        case none
        /// The one that defines north.
        case usual
        /// None: another field is being learnt.
        case unknown
        /// Another field, relative to the heading that the gyroscope has kept.
        case other
    }

    private let parameters = HeadingParameters()
    /// The field at the place of calibration; `nil` if unknown.
    private let calibratedField: MagneticFieldFigures?

    private var field = Field.none
    /// What the user is told.
    package private(set) var quality = HeadingQuality.learning

    /// The estimated errors and their covariance.
    private var errors = HeadingVector.zero
    private let covariance = HeadingCovariance()
    /// The low-passed difference of the field from what is expected, µT, and its mean square over half a minute.
    private var residual = Vector3.zero
    private var slowVariance = 0.0

    /// The sums of the present block.
    private var block = HeadingBlock()
    /// What the drift may be at least, rad/s.
    private var leastDrift = 0.0
    /// The sum of the turns by which the six-axis filter has corrected its heading, and the part of it that the field had shown
    /// before, rad.
    private var correction = 0.0
    private var knownCorrection = 0.0
    /// Seconds of drift since the last block.
    private var sinceBlock = 0.0

    /// Seconds for which the field has been disturbed, and undisturbed while it was learnt.
    private var disturbedTime = 0.0
    private var agreementTime = 0.0
    /// Seconds of use of the usual and of the other field.
    private var usualTime = 0.0
    private var otherTime = 0.0
    /// Seconds for which the direction alone has not fitted; the variance by which the gyroscope's heading may be wrong.
    private var jumpTime = 0.0
    private var lostVariance = 0.0

    /// Whether the gyroscope has lost the heading: the next reading shows it again.
    private var mustAlign = false

    /// What is known of the usual field while another one is used.
    private var kept = KeptField()
    private let keptCovariance = HeadingCovariance()
    /// The errors some time ago, to which a disturbance that has grown slowly is traced back.
    private var history = HeadingHistory()
    /// Variance of the usual field's direction, which does not matter as long as no other field is used, rad².
    private var commonVariance = 0.0
    /// What is left of the turn to a field that has replaced the usual one, rad.
    private var remainingTurn = 0.0
    /// Whether the first field was not like that of the calibration, and seconds for which one has been.
    private var isProvisional = false
    private var calibratedTime = 0.0

    /// Creates a filter that has had no reading.
    ///
    /// - Parameter calibratedField: strength and dip of the field where the magnetometer was calibrated. With them, a filter
    ///   that starts in a disturbed field knows it.
    package init(calibratedField: MagneticFieldFigures? = nil) {
        self.calibratedField = calibratedField
    }

    /// The angle about the vertical that turns the six-axis frame into one whose x axis points to magnetic north, rad; 0
    /// before the first reading.
    package var offset: Double {
        errors[HeadingError.offset] + errors[HeadingError.drift] * driftSeconds(sinceBlock) + remainingTurn
            - knownCorrection
    }

    /// How well the heading is known; `nil` before the first reading.
    package var state: HeadingState? {
        guard field != .none else { return nil }
        // Without readings, the gyroscope keeps the heading.
        let isKept = sinceBlock > parameters.longestPause
        let deviation = deviation
        let isUncertain = quality == .tracking && deviation > parameters.trackedDeviation
        return HeadingState(
            quality: isUncertain ? .learning : isKept ? .disturbed : quality, deviation: deviation,
            field: errors.vector(at: HeadingError.north).length)
    }

    /// Standard deviation of the heading, rad; infinite before the first reading.
    package var deviation: Double {
        guard field != .none else { return .infinity }
        let variance = max(0, covariance[HeadingError.offset, HeadingError.offset])
        let drift = max(0, covariance[HeadingError.drift, HeadingError.drift])
        let since = driftSeconds(sinceBlock)
        let unread = drift * since * since + driftNoise(sinceBlock) + block.lostVariance
        let turned = parameters.turnError * parameters.turnError * block.path
        return (variance + unread + turned + commonVariance + remainingTurn * remainingTurn).squareRoot()
    }

    /// The seconds by which a drift that decays has to be multiplied to get its angle after `seconds`.
    private func driftSeconds(_ seconds: Double) -> Double {
        let time = parameters.driftTime
        // Between two readings, the first terms are exact enough.
        guard seconds > 1 else { return seconds * (1 - 0.5 * seconds / time) }
        return time * (1 - exp(-seconds / time))
    }

    /// The variance of the angle by which the drift that comes and goes turns the heading in `seconds`, rad².
    private func driftNoise(_ seconds: Double) -> Double {
        2 * parameters.drift * parameters.drift * parameters.driftTime * (seconds - driftSeconds(seconds))
    }

    /// Accounts for the corrections of the six-axis heading.
    ///
    /// When that filter finds a bias or a scale, it also turns its heading back by what they have turned it so far. A field that
    /// is followed has shown that turn before, so the heading must not turn again.
    ///
    /// - Parameter total: the sum of the corrections, rad.
    package mutating func follow(correction total: Double) {
        let isFollowed = (field == .usual || field == .other) && disturbedTime == 0
        if isFollowed, sinceBlock <= parameters.longestPause { knownCorrection += total - correction }
        correction = total
    }

    /// Accounts for a sample of the gyroscope.
    ///
    /// - Parameters:
    ///   - rate: the corrected angular rate, rad/s.
    ///   - interval: seconds since the sample before.
    ///   - lostAngle: by how much the gyroscope may have missed the heading in that time, rad: it was clipped, or samples are
    ///     missing.
    package mutating func turn(rate: Double, interval: Double, lostAngle: Double = 0) {
        if lostAngle > parameters.lostHeading {
            mustAlign = true
            block = HeadingBlock()
        }
        block.path += rate * interval
        block.lostVariance += lostAngle * lostAngle
        sinceBlock += interval
    }

    /// Takes a reading.
    ///
    /// - Parameters:
    ///   - field: the calibrated field, body axes, µT.
    ///   - attitude: the six-axis attitude at that time.
    ///   - rate: the corrected angular rate, body axes, rad/s.
    ///   - interval: seconds since the last reading.
    ///   - drift: the standard deviation of the gyroscope's bias, rad/s, as far as it is known.
    package mutating func take(
        _ field: Vector3, attitude: Quaternion, rate: Vector3, interval: Double, drift: Double = 0
    ) {
        guard field.isFinite else { return }
        leastDrift = drift
        let attitude = Quaternion(angle: -knownCorrection, axis: Vector3(0, 0, 1)) * attitude
        block.add(field, attitude: attitude, rate: rate, interval: interval)
        guard block.duration >= parameters.blockDuration - 0.5 * interval || self.field == .none || mustAlign else {
            return
        }
        close(block)
        block = HeadingBlock()
        sinceBlock = 0
    }
}

// A block of readings: what it is expected to show, and what its difference means.
extension HeadingFilter {
    /// What a block of readings shows, compared with the errors estimated so far.
    private struct Comparison {
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

    private mutating func close(_ block: HeadingBlock) {
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

    private func addNoise(_ variance: Double, to error: Int) { covariance[error, error] += variance }

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
    private mutating func correct(_ seen: Comparison, mask: HeadingVector = HeadingError.all) {
        correct(by: seen.difference, (seen.north, seen.west, seen.up), noise: seen.noise, mask: mask)
    }

    private mutating func correct(
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

// Which field is used: the usual one, which defines north, or another one after a lasting disturbance.
extension HeadingFilter {
    // MARK: The start

    /// Starts with the first reading that shows a direction. It defines north.
    private mutating func begin(with measured: Vector3) {
        let p = parameters
        let strength = measured.length
        guard Self.showsDirection(measured) else { return }
        let horizontal = Vector3(measured.x, measured.y, 0).length
        errors = .zero
        takeHeading(from: measured)
        disturbedTime = 0
        errors.set(Vector3(horizontal, 0, measured.z), at: HeadingError.north)
        covariance.clear()
        covariance.reset(HeadingError.offset, variance: 9)
        covariance.reset(HeadingError.drift, variance: p.initialDrift * p.initialDrift)
        covariance.reset(HeadingError.delay, variance: p.initialDelay * p.initialDelay)
        for axis in 0..<3 {
            covariance.reset(HeadingError.hardIron + axis, variance: p.initialHardIron * p.initialHardIron)
        }
        covariance.reset(HeadingError.north, variance: 100)
        covariance.reset(HeadingError.up, variance: 100)
        field = .usual
        slowVariance = p.fieldError * p.fieldError * strength * strength
        history = HeadingHistory(errors)
        usualTime = 0
        isProvisional = calibratedField.map { !$0.matches(measured, within: p.disturbedField * $0.strength) } ?? false
        quality = isProvisional ? .learning : .tracking
    }

    /// Takes the heading from the field. What the gyroscope may have missed does not matter any more.
    private mutating func takeHeading(from measured: Vector3) {
        errors[HeadingError.offset] = -atan2(measured.y, measured.x)
        mustAlign = false
        lostVariance = 0
        remainingTurn = 0
        residual = .zero
        jumpTime = 0
    }

    private static func showsDirection(_ measured: Vector3) -> Bool {
        measured.length > 10 && Vector3(measured.x, measured.y, 0).length >= 0.05 * measured.length
    }

    /// After the gyroscope has lost the heading: takes it from the usual field, of which everything else stays known.
    ///
    /// - Returns: whether the field is like the usual one and shows a direction. Otherwise the loss counts as uncertainty.
    private mutating func aligns(with measured: Vector3) -> Bool {
        let known = errors.vector(at: HeadingError.north)
        let isUsual = measured.differenceInStrengthAndDip(from: known) <= parameters.disturbedField * known.length
        guard Self.showsDirection(measured), isUsual else { return false }
        takeHeading(from: measured)
        covariance.reset(
            HeadingError.offset, variance: parameters.alignedDeviation * parameters.alignedDeviation)
        history = HeadingHistory(errors)
        return true
    }

    /// After a start in a field unlike that of the calibration: starts again where the field is like it.
    ///
    /// - Returns: whether it did.
    private mutating func beginsAgain(_ seen: Comparison, _ block: HeadingBlock) -> Bool {
        guard isProvisional, let calibratedField else { return false }
        quality = .learning
        let measured = seen.field - seen.rate.cross(seen.expected) * errors[HeadingError.delay]
        let isLike = calibratedField.matches(measured, within: parameters.disturbedField * calibratedField.strength)
        calibratedTime = isLike ? calibratedTime + block.duration : 0
        guard calibratedTime >= parameters.matchTime else { return false }
        calibratedTime = 0
        let (offset, drift) = (errors[HeadingError.offset], errors[HeadingError.drift])
        let driftVariance = covariance[HeadingError.drift, HeadingError.drift]
        field = .none
        begin(with: measured)
        guard field == .usual else { return false }
        errors[HeadingError.offset] += offset
        errors[HeadingError.drift] = drift
        covariance[HeadingError.drift, HeadingError.drift] = driftVariance
        history = HeadingHistory(errors)
        return true
    }

    // MARK: The usual field

    /// - Returns: whether the field was used.
    private mutating func followUsual(_ seen: Comparison, _ block: HeadingBlock) -> Bool {
        guard seen.strengthDeviation <= seen.limit else {
            disturbedTime += block.duration
            if beginsAgain(seen, block) { return false }
            if disturbedTime > 0.5 { quality = .disturbed }
            if disturbedTime > parameters.disturbedTime { forgetField() }
            return false
        }
        disturbedTime = max(0, disturbedTime - 2 * block.duration)
        if disturbedTime == 0 { quality = .tracking }
        usualTime += block.duration
        correct(seen)
        history.advance(block.duration, errors, keeping: parameters.growthTime)
        return !beginsAgain(seen, block)
    }

    /// The field is disturbed for long: field and hard iron are unknown from now on, and the heading is that of the
    /// gyroscope.
    private mutating func forgetField() {
        let p = parameters
        let strength = max(20, errors.vector(at: HeadingError.north).length)
        if field == .usual { keepUsual() }
        let variance = p.unknownField * p.unknownField * strength * strength
        for index in HeadingError.hardIron..<HeadingError.count { covariance.reset(index, variance: variance) }
        covariance[HeadingError.delay, HeadingError.offset] = 0
        covariance[HeadingError.delay, HeadingError.drift] = 0
        field = .unknown
        quality = .disturbed
        disturbedTime = 0
        agreementTime = 0
        otherTime = 0
        residual = .zero
        slowVariance = p.fieldError * p.fieldError * strength * strength
    }

    /// Keeps what is known of the usual field. What the last seconds have learnt may have followed a growing disturbance, so
    /// it is undone.
    private mutating func keepUsual() {
        history.undo(&errors)
        // An error that heading and usual field have in common is no error relative to that field, so it does not count
        // while the gyroscope keeps the heading.
        let own = covariance.headingVariancesGivenTheRest(scratch: keptCovariance)
        keptCovariance.copy(from: covariance)
        kept = KeptField(errors: errors, offsetVariance: own.offset, driftVariance: own.drift)
        let (offset, drift) = (HeadingError.offset, HeadingError.drift)
        commonVariance = max(0, covariance[offset, offset] - own.offset)
        covariance[offset, offset] = own.offset
        covariance[drift, drift] = own.drift
        covariance[offset, drift] = 0
    }

    /// Looks whether the usual field is back.
    ///
    /// - Returns: whether it is, and is used again.
    private mutating func returnsToUsual(_ seen: Comparison, _ block: HeadingBlock) -> Bool {
        let p = parameters
        let usual = kept.errors.vector(at: HeadingError.north)
        let hardIron = seen.rotation * kept.errors.vector(at: HeadingError.hardIron)
        let measured = seen.field - seen.rate.cross(usual) * kept.errors[HeadingError.delay] - hardIron
        kept.take(measured, share: 1 - exp(-block.duration / p.residualTime))
        let shown = kept.field
        let isLike = shown.differenceInStrengthAndDip(from: usual) < 0.6 * p.disturbedField * usual.length
        let angle = atan2(-shown.y, shown.x)
        let (offset, drift) = (HeadingError.offset, HeadingError.drift)
        let isNear = abs(angle) < max(15 * radiansPerDegree, 3 * covariance[offset, offset].squareRoot())
        kept.matchTime = isLike && isNear ? kept.matchTime + block.duration : 0
        // The usual field from another side: the gyroscope has lost the heading. Only if the board has turned since: a
        // disturbance may look like it from one side.
        let isLost = isLike && !isNear
        kept.farTime = isLost ? kept.farTime + block.duration : 0
        kept.farPath = isLost ? kept.farPath + block.path : 0
        let isFar = kept.farTime > p.returnTime && kept.farPath > 1
        guard isFar || kept.matchTime > p.matchTime else { return false }

        let offsetVariance = covariance[offset, offset] + (isFar ? angle * angle : 0)
        if isFar { lostVariance += angle * angle }
        let driftVariance = covariance[drift, drift]
        var restored = kept.errors
        restored[offset] = errors[offset]
        restored[drift] = errors[drift]
        errors = restored
        covariance.copy(from: keptCovariance)
        addNoise(max(0, offsetVariance - kept.offsetVariance), to: offset)
        addNoise(max(0, driftVariance - kept.driftVariance), to: drift)
        commonVariance = 0
        residual = .zero
        useAsUsual()
        return true
    }

    private mutating func useAsUsual() {
        field = .usual
        quality = .tracking
        disturbedTime = 0
        history = HeadingHistory(errors)
    }

    // MARK: Another field

    /// Learns a field, relative to the heading of the gyroscope.
    private mutating func learn(_ seen: Comparison, _ block: HeadingBlock) {
        let uncertainty =
            covariance.variance(of: seen.north) + covariance.variance(of: seen.west) + covariance.variance(of: seen.up)
        if residual.length > seen.limit + 2 * uncertainty.squareRoot() {
            disturbedTime += block.duration
            agreementTime = 0
            if disturbedTime > 1 { forgetField() }
        } else {
            disturbedTime = max(0, disturbedTime - 2 * block.duration)
            agreementTime += block.duration
        }
        correct(seen, mask: HeadingError.withoutHeading)
        guard agreementTime > parameters.candidateTime else { return }
        field = .other
        otherTime = 0
    }

    /// - Returns: whether the field was used.
    private mutating func followOther(_ seen: Comparison, _ block: HeadingBlock) -> Bool {
        guard seen.strengthDeviation <= seen.limit else {
            disturbedTime += block.duration
            if disturbedTime > 0.5 { quality = .disturbed }
            if disturbedTime > parameters.disturbedTime { forgetField() }
            return false
        }
        disturbedTime = max(0, disturbedTime - 2 * block.duration)
        correct(seen)
        otherTime += block.duration
        // With a field that is known from calibration, another one is always a disturbance.
        quality = calibratedField == nil ? .tracking : .disturbed
        adoptOther(strength: seen.strength)
        return true
    }

    /// The other field becomes the usual one if it equals that apart from hard iron: a magnet was attached to the board. Or,
    /// if no field is known from calibration, after a short use of the first one: that was disturbed.
    private mutating func adoptOther(strength: Double) {
        let present = errors.vector(at: HeadingError.north)
        let usual = kept.errors.vector(at: HeadingError.north)
        var variance = 0.0
        for axis in 0..<3 { variance += covariance[HeadingError.north + axis, HeadingError.north + axis] }
        if variance.squareRoot() < 0.04 * strength, (present - usual).length < 0.06 * strength {
            let deviation = 0.02 * strength
            correct(
                by: usual - present,
                (
                    HeadingVector(Vector3(1, 0, 0), at: HeadingError.north),
                    HeadingVector(Vector3(0, 1, 0), at: HeadingError.north),
                    HeadingVector(Vector3(0, 0, 1), at: HeadingError.north)
                ),
                noise: deviation * deviation, mask: HeadingError.all)
            defineNorth()
        } else if calibratedField == nil, usualTime < parameters.provenTime, otherTime > max(usualTime, 30) {
            defineNorth()
        }
    }

    /// The field in use defines north from now on. The heading follows slowly.
    private mutating func defineNorth() {
        let present = errors.vector(at: HeadingError.north)
        let angle = -atan2(present.y, present.x)
        let turn = Quaternion(angle: angle, axis: Vector3(0, 0, 1)).matrix
        errors[HeadingError.offset] += angle
        var turned = turn * present
        covariance.turnField(by: turn)
        covariance.defineNorth(turned.x)
        turned.y = 0
        errors.set(turned, at: HeadingError.north)
        remainingTurn -= angle
        addNoise(commonVariance, to: HeadingError.offset)
        commonVariance = 0
        usualTime = max(otherTime, 20)
        useAsUsual()
    }
}

/// The heading by a magnetometer.
public struct HeadingState: Equatable, Sendable, BitwiseCopyable {
    /// How far it can be trusted.
    public var quality: HeadingQuality

    /// Standard deviation of the heading against magnetic north, rad.
    public var deviation: Double

    /// The strength of the field that the heading is measured by, µT.
    public var field: Double

    @inlinable
    public init(quality: HeadingQuality, deviation: Double, field: Double) {
        self.quality = quality
        self.deviation = deviation
        self.field = field
    }
}

/// How far the heading can be trusted.
public enum HeadingQuality: UInt8, Sendable, BitwiseCopyable {
    /// There has been no reading, or the field is not yet known to be that of the earth, or the heading is uncertain: its
    /// deviation is more than 10°.
    case learning
    /// The field is as expected.
    case tracking
    /// The field is disturbed: the heading is that of the gyroscope, or relative to another field.
    case disturbed
}
