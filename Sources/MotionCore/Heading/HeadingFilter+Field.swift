internal import CMotionMath

// Which field is used: the usual one, which defines north, or another one after a lasting disturbance.
extension HeadingFilter {
    // MARK: The start

    /// Starts with the first reading that shows a direction. It defines north.
    mutating func begin(with measured: Vector3) {
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
    mutating func aligns(with measured: Vector3) -> Bool {
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
    mutating func followUsual(_ seen: Comparison, _ block: HeadingBlock) -> Bool {
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
    mutating func returnsToUsual(_ seen: Comparison, _ block: HeadingBlock) -> Bool {
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
    mutating func learn(_ seen: Comparison, _ block: HeadingBlock) {
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
    mutating func followOther(_ seen: Comparison, _ block: HeadingBlock) -> Bool {
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

/// The usual field while another one is used.
struct KeptField: BitwiseCopyable {
    /// The errors when the disturbance was noticed. Heading and drift do not count.
    private(set) var errors = HeadingVector.zero
    /// The variances of heading and drift relative to the usual field at that time.
    private(set) var offsetVariance = 0.0
    private(set) var driftVariance = 0.0
    /// The field since, low-passed, in the frame of the heading, µT.
    private(set) var field = Vector3.zero
    private var hasField = false
    /// Seconds for which it has been like the usual one, and like it from another side, and the angle turned meanwhile, rad.
    var matchTime = 0.0
    var farTime = 0.0
    var farPath = 0.0

    init() {}

    init(errors: HeadingVector, offsetVariance: Double, driftVariance: Double) {
        self.errors = errors
        self.offsetVariance = offsetVariance
        self.driftVariance = driftVariance
    }

    mutating func take(_ measured: Vector3, share: Double) {
        field = hasField ? field + share * (measured - field) : measured
        hasField = true
    }
}

/// The errors ten to twenty seconds ago.
struct HeadingHistory: BitwiseCopyable {
    private var newer: HeadingVector
    private var older: HeadingVector
    /// Corrections of the heading since `newer`, and between `older` and `newer`, rad.
    private var newerCorrection = 0.0
    private var olderCorrection = 0.0
    private var age = 0.0

    init(_ errors: HeadingVector = .zero) {
        newer = errors
        older = errors
    }

    /// Records a correction of the heading.
    mutating func note(_ correction: Double) { newerCorrection += correction }

    /// Records the errors every `seconds`.
    mutating func advance(_ duration: Double, _ errors: HeadingVector, keeping seconds: Double) {
        age += duration
        guard age > seconds else { return }
        age = 0
        older = newer
        newer = errors
        olderCorrection = newerCorrection
        newerCorrection = 0
    }

    /// Takes the corrections since then back.
    func undo(_ errors: inout HeadingVector) {
        let offset = errors[HeadingError.offset] - newerCorrection - olderCorrection
        errors = older
        errors[HeadingError.offset] = offset
    }
}
