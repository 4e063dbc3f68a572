internal import CMotionMath

/// Describes the last swings of a movement and the time before them in numbers that do not depend on its size.
///
/// All except the last three are ratios, cosines, seconds or counts, so a gentle shake looks like a vigorous one. All
/// are computed from cells of 20 ms, so they hardly depend on the sample rate. "Weakest", "middle" and "strongest" are
/// the peaks of the last three swings. A comparison with earlier movement is the logarithm of the ratio of its RMS to
/// the weakest peak. 0.02 g is added to both, so that sensor noise does not count as movement.
enum ShakeFeature: Int, CaseIterable {
    // The number of swings since the onset: only three, at most four, at most five.
    case threeSwings
    case fourSwings
    case fiveSwings
    // Logarithms of the ratios of the middle peak to the weakest and of the strongest to the middle one.
    case middlePeak
    case strongestPeak
    // The mean half period, in units of 0.2 s; and twice the logarithm of its ratio to 0.15 s.
    case halfPeriod
    case logarithmicHalfPeriod
    // How unequal the half periods are: the largest deviation from their mean; the logarithm of the ratio of the last
    // two.
    case spread
    case acceleration
    // How far successive peaks are from opposite (the latest two, the two before) and the outer two from equal: 0 to 2.
    case latestTurn
    case earlierTurn
    case sameSide
    // Ratio of the energy across the line of the peaks to the energy along it.
    case across
    // Logarithms of peak to RMS for the previous two swings: the larger and the mean. Blows are peaky.
    case crest
    case meanCrest
    // The logarithm of the ratio of the RMS change from cell to cell to the RMS itself: roughness.
    case roughness
    // Movement before the onset: 0.4 to 0.1 s, 1 to 0.4 s; the quietest 0.4 s of 12 s and of 3 s; the RMS of 3 s.
    case justBefore
    case shortlyBefore
    case quietest
    case quietestLately
    case meanBefore
    // How vertical the line is: the cosine; and the largest upward and downward components of the peaks.
    case uprightness
    case upwardPeak
    case downwardPeak
    // The duration of a fall in the last 1.2 s, in units of 0.2 s, at most 0.4 s.
    case fall
    // The logarithm of the ratio of the largest force in these swings to the middle peak.
    case impact
    // How far gravity wandered during these swings, relative to the weakest peak.
    case wander
    // The smallest force in these swings, in g, at most 1.
    case leastForce
    // The logarithm of the ratio of the latest swing's age to the half period.
    case age
    // How far the board has tilted since 0.5 s before the onset: 1 minus the cosine.
    case tilt
    // The logarithm of the ratio of the strongest peak to the RMS of these swings.
    case overallCrest
    // The largest acceleration in the 3 s before; the share of the 8 s before with more than 0.3 of the weakest peak;
    // the median of these 8 s; and the strongest 0.4 s of the 3 s before.
    case largestBefore
    case busyBefore
    case medianBefore
    case loudestBefore
    // The logarithm of the ratio of the previous two swings' changes of velocity.
    case velocityRatio
    // Sizes: the logarithm of the weakest peak in g; the largest upward and downward components of the peaks, at most
    // 3 g. Feet cannot push a body down, so steps are no stronger downward than a fall; a hand shakes both ways.
    case weakestPeak
    case upwardForce
    case downwardForce
}

/// The features of one movement.
struct ShakeFeatures: ~Copyable {
    static var count: Int { ShakeFeature.downwardForce.rawValue + 1 }

    private let values = FixedBuffer(repeating: 0.0, count: ShakeFeatures.count)

    /// The peak of the weakest of the last three swings, m/s².
    private(set) var weakest = 0.0
    /// The age of the onset in swings.
    private(set) var onset = 2
    /// Sums over the last three swings, and their largest change from cell to cell as a share of the strongest peak.
    private var energies = MotionEnergies()
    private(set) var steepness = 0.0
    /// The motion before the onset, and the swing for which it was computed.
    private(set) var preceding = PrecedingMotion()
    private var onsetSwing = -1

    /// The share of the weakest of the last three peaks that an earlier swing needs to belong to the movement.
    private static let onsetShare = 0.5
    /// The limit of the upward and downward force, g: sensors of ±4 g measure no more.
    private static let largestForce = 3.0

    private(set) subscript(feature: ShakeFeature) -> Double {
        get { values[feature.rawValue] }
        nonmutating set { values[feature.rawValue] = newValue }
    }

    /// The feature at an index.
    subscript(index: Int) -> Double { values[index] }

    /// Copies the values of another instance.
    mutating func assign(_ other: borrowing ShakeFeatures) {
        for index in 0..<ShakeFeatures.count { values[index] = other.values[index] }
        weakest = other.weakest
        onset = other.onset
        preceding = other.preceding
    }

    /// Finds the onset, the weakest swing and the steepest change: all that the first gates need. Swings that began before
    /// `start` belong to an earlier movement.
    mutating func begin(_ swings: borrowing SwingTracker, after start: Double = -.infinity) {
        weakest = swings.weakestOfThree
        onset = 2
        while onset + 1 < swings.remembered, swings[onset + 1].start > start,
            swings[onset + 1].amplitude >= ShakeFeatures.onsetShare * weakest
        {
            onset += 1
        }
        energies = swings.energies(latest: swings.age(of: swings[2]) + 1)
        steepness = energies.steepest.squareRoot() / ShakeFeatures.strongest(swings)
    }

    /// Finds the motion before the onset, after `begin`.
    mutating func lookBack(_ swings: borrowing SwingTracker) {
        guard swings[onset].cell != onsetSwing else { return }
        onsetSwing = swings[onset].cell
        preceding = swings.precedingMotion(before: swings[onset])
    }

    /// Invalidates the cached motion before the onset.
    mutating func reset() {
        onsetSwing = -1
    }

    /// The logarithm of the ratio of a movement to the weakest peak.
    func ratio(_ movement: Double) -> Double {
        let floor = 0.02 * standardGravity
        return log((movement + floor) / (weakest + floor))
    }

    private static func strongest(_ swings: borrowing SwingTracker) -> Double {
        max(swings[0].amplitude, max(swings[1].amplitude, swings[2].amplitude))
    }

    /// Computes the remaining features, after `lookBack`.
    mutating func complete(_ swings: borrowing SwingTracker, at time: Double) {
        let strongest = ShakeFeatures.strongest(swings)
        let middle = swings[0].amplitude + swings[1].amplitude + swings[2].amplitude - weakest - strongest
        self[.threeSwings] = onset == 2 ? 1 : 0
        self[.fourSwings] = onset <= 3 ? 1 : 0
        self[.fiveSwings] = onset <= 4 ? 1 : 0
        self[.middlePeak] = log(middle / weakest)
        self[.strongestPeak] = log(strongest / middle)
        let halfPeriod = computeRhythm(swings)
        computeLine(swings, strongest: strongest)
        computeShape(swings, strongest: strongest, middle: middle)
        computePrecedingMotion()
        self[.fall] = min(0.4, swings.recentFall(at: time)) * 5
        self[.age] = log((time - swings[0].start + 0.02) / (halfPeriod + 0.02))
    }

    private func computeRhythm(_ swings: borrowing SwingTracker) -> Double {
        let a = swings[0].start - swings[1].start
        let b = swings[1].start - swings[2].start
        var mean = 0.5 * (a + b)
        var spread = abs(a - b) / (a + b)
        if onset > 2 {
            let c = swings[2].start - swings[3].start
            mean = (a + b + c) / 3
            spread = max(abs(a - mean), max(abs(b - mean), abs(c - mean))) / mean
        }
        let bounded = min(mean, 0.6)
        self[.halfPeriod] = bounded * 5
        self[.logarithmicHalfPeriod] = 2 * log(bounded / 0.15)
        self[.spread] = min(spread, 1)
        self[.acceleration] = max(-1.5, min(1.5, log(a / b)))
        return mean
    }

    private func computeLine(_ swings: borrowing SwingTracker, strongest: Double) {
        func cosine(_ a: Swing, _ b: Swing) -> Double { a.peak.dot(b.peak) / (a.amplitude * b.amplitude) }
        self[.latestTurn] = 1 + cosine(swings[0], swings[1])
        self[.earlierTurn] = 1 + cosine(swings[1], swings[2])
        self[.sameSide] = 1 - cosine(swings[0], swings[2])
        let line = (swings[0].peak - swings[1].peak + swings[2].peak).normalized ?? Vector3(0, 0, 1)
        let diagonal = swings[0].diagonal + swings[1].diagonal + swings[2].diagonal
        let mixed = swings[0].mixed + swings[1].mixed + swings[2].mixed
        let along = Swing.energy(along: line, diagonal: diagonal, mixed: mixed)
        let all = diagonal.x + diagonal.y + diagonal.z
        self[.across] = min(1, max(0, all - along) / max(1e-9, along))

        let up = swings.gravity * (1 / max(1e-9, swings.gravity.length))
        self[.uprightness] = abs(line.dot(up))
        var upward = 0.0
        var downward = 0.0
        for age in 0..<3 {
            let part = swings[age].peak.dot(up)
            upward = max(upward, part)
            downward = max(downward, -part)
        }
        self[.upwardPeak] = upward / strongest
        self[.downwardPeak] = downward / strongest
        self[.weakestPeak] = log(weakest / standardGravity)
        self[.upwardForce] = min(ShakeFeatures.largestForce, upward / standardGravity)
        self[.downwardForce] = min(ShakeFeatures.largestForce, downward / standardGravity)
        let first = swings[onset]
        self[.wander] = min(1, (swings.gravity - first.gravity).length / (weakest + 0.2 * standardGravity))
        let before = swings.gravity(cellsAgo: swings.age(of: first) + 25)
        self[.tilt] = 1 - up.dot(before) / max(1e-9, before.length)
    }

    private func computeShape(_ swings: borrowing SwingTracker, strongest: Double, middle: Double) {
        let a = log(swings[1].crest)
        let b = log(swings[2].crest)
        self[.crest] = max(a, b)
        self[.meanCrest] = 0.5 * (a + b)
        let cells = swings.age(of: swings[2])
        let floor = 1e-4 * standardGravity * standardGravity
        self[.roughness] = 0.5 * log((energies.change + floor) / (energies.motion + floor))
        self[.overallCrest] = log(strongest / (energies.motion / Double(cells + 1) + 1e-9).squareRoot())
        let forces = swings.forceRange(latest: cells)
        let share = 0.1 * standardGravity
        self[.impact] = log((forces.largest + share) / (middle + share))
        self[.leastForce] = min(1, forces.smallest / standardGravity)
        let velocities = (swings[1].path, swings[2].path)
        let least = 0.01 * standardGravity
        self[.velocityRatio] = log((velocities.0 + least) / (velocities.1 + least))
    }

    private func computePrecedingMotion() {
        self[.justBefore] = ratio(preceding.justBefore)
        self[.shortlyBefore] = ratio(preceding.shortlyBefore)
        self[.quietest] = ratio(preceding.quietest)
        self[.quietestLately] = ratio(preceding.quietestLately)
        self[.meanBefore] = ratio(preceding.mean)
        self[.largestBefore] = ratio(preceding.largest)
        self[.busyBefore] = Double(preceding.louder(than: 0.3 * weakest)) / Double(PrecedingMotion.capacity)
        self[.medianBefore] = ratio(preceding.median)
        self[.loudestBefore] = ratio(preceding.loudest)
    }
}
