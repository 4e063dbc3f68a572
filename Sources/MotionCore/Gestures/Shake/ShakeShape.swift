internal import CMotionMath

/// The shape of a movement that was not a shake, in figures that a person can change.
///
/// `ShakeModel` decides, by ratios that a person cannot picture. These figures only name what was unlike a shake. Each is
/// compared with what shakes usually have; a strong shake may have more.
struct ShakeShape: Sendable, BitwiseCopyable {
    /// The number of swings from the onset.
    var swings = 0
    /// Seconds of one swing, on average.
    var swingTime = 0.0
    /// The largest ratio of the peaks, or of the durations, of the last three swings.
    var ratio = 1.0
    /// The largest angle by which a swing strayed from the line of the one before, or all from their common line, rad.
    var stray = 0.0
    /// The largest ratio of the peak to the RMS of a swing.
    var crest = 0.0
    /// The angle between the line and the vertical, rad.
    var fromVertical = 0.0
    /// RMS of the 0.3 s before, and the largest for this strength, m/s².
    var before = 0.0
    var beforeLimit = 0.0
    /// Seconds of a fall just before.
    var fall = 0.0

    /// What shakes usually have.
    enum Usual {
        static let swingTime = 0.08...0.3
        static let ratio = 2.0
        static let stray = 25 * radiansPerDegree
        /// A sine has 1.4.
        static let crest = 1.7
        /// Steps and jumps are closer to the vertical.
        static let fromVertical = 45 * radiansPerDegree
        /// RMS before it, as a share of its weakest peak.
        static let before = 0.3
    }

    init() {}

    /// The shape of the last swings, of which the first is `onset` swings ago.
    init(_ tracker: borrowing SwingTracker, onset: Int, weakest: Double, preceding: PrecedingMotion, at time: Double) {
        let (latest, middle, first) = (tracker[0], tracker[1], tracker[2])
        swings = onset + 1
        let (a, b) = (latest.start - middle.start, middle.start - first.start)
        swingTime = 0.5 * (a + b)
        let strongest = max(latest.amplitude, max(middle.amplitude, first.amplitude))
        ratio = max(strongest / max(1e-9, weakest), max(a, b) / max(1e-9, min(a, b)))
        let line = (latest.peak - middle.peak + first.peak).normalized ?? Vector3(0, 0, 1)
        let diagonal = latest.diagonal + middle.diagonal + first.diagonal
        let along = Swing.energy(along: line, diagonal: diagonal, mixed: latest.mixed + middle.mixed + first.mixed)
        let across = max(0, diagonal.x + diagonal.y + diagonal.z - along)
        stray = max(
            atan2(across.squareRoot(), max(0, along).squareRoot()),
            max(latest.peak.angle(to: -middle.peak), middle.peak.angle(to: -first.peak)))
        crest = max(middle.crest, first.crest)
        let toUp = line.angle(to: tracker.gravity)
        fromVertical = min(toUp, .pi - toUp)
        before = max(preceding.justBefore, preceding.shortlyBefore)
        beforeLimit = Usual.before * weakest
        fall = tracker.recentFall(at: time)
    }

    /// Whether this aspect was unlike a shake.
    func isUnusual(_ aspect: ShakeRefusal.Reason) -> Bool {
        switch aspect {
        case .tooWeak, .tooFewReversals, .unlikeShake: false
        case .noQuietBefore: before > beforeLimit
        case .notAlongOneLine: stray > Usual.stray
        case .tooIrregular: ratio > Usual.ratio
        case .wrongPace: !Usual.swingTime.contains(swingTime)
        case .blowLike: crest > Usual.crest
        case .likeSteps: fromVertical < Usual.fromVertical
        case .afterFall: fall > 0
        }
    }

    /// The measured figure of an aspect, and the usual one; not-a-number if it has none that a person could change.
    func figures(_ aspect: ShakeRefusal.Reason) -> (value: Double, limit: Double) {
        switch aspect {
        case .noQuietBefore: (before, beforeLimit)
        case .notAlongOneLine: (stray, Usual.stray)
        case .tooIrregular: (ratio, Usual.ratio)
        case .wrongPace:
            (
                swingTime,
                swingTime > Usual.swingTime.upperBound ? Usual.swingTime.upperBound : Usual.swingTime.lowerBound
            )
        case .tooFewReversals: (Double(swings), Double(swings + 1))
        case .afterFall: (fall, .nan)
        case .tooWeak, .blowLike, .likeSteps, .unlikeShake: (.nan, .nan)
        }
    }
}
