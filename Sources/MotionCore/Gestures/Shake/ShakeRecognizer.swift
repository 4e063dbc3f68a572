internal import CMotionMath

/// Recognises shakes: quick movement to and fro along a line.
///
/// A shake is at least three swings, each opposite to the one before. Gates check its pace and the time before: a shake
/// begins from quiet or stands out from the movement before it, for example walking; and it does not follow a fall, a blow
/// or movement to and fro that goes on. A movement that passes them needs a certain strength, and the less its shape
/// resembles a shake, the more strength it needs: see `ShakeModel`.
struct ShakeRecognizer: ~Copyable {
    var settings: ShakeSettings

    private var swings = SwingTracker()
    private var past = ShakePast()
    private let model = ShakeModel()
    private var features = ShakeFeatures()
    private var refused = ShakeFeatures()
    private var refusedShape = ShakeShape()
    private var totalWhenRefused = 0
    private var pending: NearMiss?
    private var pendingShare = 0.0
    private var pendingTime = 0.0
    private var asksModel = false
    private var reference = 0.0
    private var time = 0.0
    private var isShaking = false
    private var onset = 0.0
    private var lastMovement = -Double.infinity
    /// The last movement of the last shake: swings before that belong to it.
    private var lastEnd = -Double.infinity
    private var strength = 0.0
    private var axis = BodyAxis.x
    private var turnsBefore = 0
    private var swingsAtStart = 0

    init(settings: ShakeSettings) {
        self.settings = settings
    }

    /// Whether the current movement may still become a shake, so that other gestures should wait.
    var isUndecided: Bool { !isShaking && swings.count >= 2 && time - swings[0].start < Rule.swingLength }

    /// Processes a cell; returns the resulting event, if any.
    mutating func update(_ cell: GestureCell, _ misses: inout NearMisses) -> GestureEvent? {
        time = cell.time
        swings.update(cell.acceleration, at: time)
        return judge(at: cell.timestamp, &misses)
    }

    /// Resets the recognizer without an event; the caller cancels a shake in progress.
    mutating func reset() {
        swings.reset()
        features.reset()
        pending = nil
        pendingShare = 0
        isShaking = false
        lastMovement = -.infinity
        lastEnd = -.infinity
        past = ShakePast()
    }
}

extension ShakeRecognizer {
    /// The largest number of swings from the onset to the decision: a movement that was not a shake for so long does not
    /// become one.
    static let mostSwings = 13
    /// Seconds of free fall in the last 1.2 s that exclude a shake: the swings are bounces after a drop.
    static let longestFall = 0.2
    /// The longest swing, s, as the mean of the last movement to and fro: of more than 600 recorded shakes none was
    /// slower than 1.3 Hz as a whole, but some begin slowly.
    static let slowestSwing = 0.39
    /// The shortest swing, s, as the mean of all swings so far: of 1,400 recorded shakes none had less than 0.061 s. A
    /// motor that starts is quicker.
    static let quickestSwing = 0.057

    /// The mean swing, s, at which no hand shakes, and the limit; `nil` if a hand does. After `ShakeFeatures.begin`.
    static func wrongPace(
        _ swings: borrowing SwingTracker, _ features: borrowing ShakeFeatures
    ) -> (value: Double, limit: Double)? {
        let latest = swings.halfPeriod(ofLast: 2)
        if latest > slowestSwing { return (latest, slowestSwing) }
        let all = swings.halfPeriod(ofLast: features.onset)
        return all < quickestSwing ? (all, quickestSwing) : nil
    }

    /// Whether the current swing is strong enough to decide on, after at least two others.
    static func isCandidate(_ swings: borrowing SwingTracker, at time: Double) -> Bool {
        swings.count >= 3 && time - swings[0].start < Rule.swingLength
            && swings.magnitude > Rule.swingShare * swings[0].amplitude
    }

    /// Constants of the rule.
    private enum Rule {
        /// Seconds from its start for which a swing counts as movement, and the share of its peak that the acceleration
        /// needs.
        static let swingLength = 0.36
        static let swingShare = 0.5
        /// During and after a shake, only swings with this share of its strength count as movement, so that a shake
        /// while walking ends.
        static let followShare = 0.35
        /// Seconds after the last movement at which a shake has ended, so that another one may begin.
        static let endDelay = 0.3
        /// Number of swings that confirm a shake.
        static let confirmed = 4
        /// Peak, m/s², from which two swings alone are reported as a near miss.
        static let strong = 1.2 * standardGravity
        /// For near misses: the peak, m/s², from which three swings alone were strong enough and one more was missing.
        static let vigorous = 0.8 * standardGravity
        /// How many times the amplitude may be needed, and how much, m/s², so that strength is what was missing.
        static let close = 1.5
        static let easy = 2 * standardGravity
        /// The largest amplitude that is told as a limit, m/s²: no hand reaches more.
        static let reachable = 40.0
        /// The share of the weakest peak that a later swing needs to have belonged to the movement.
        static let swingOfMovement = 0.5
    }

    /// Decides after each cell whether a shake begins, continues or ends.
    private mutating func judge(at timestamp: Timestamp, _ misses: inout NearMisses) -> GestureEvent? {
        let isCandidate = ShakeRecognizer.isCandidate(swings, at: time)
        let isMovement = isCandidate && (!isShaking || swings[0].amplitude >= Rule.followShare * reference)
        if isCandidate { past.note(swings, at: time) }
        if isMovement {
            // A movement that was refused before a pause was another one.
            if time - lastMovement > Rule.endDelay, pendingTime <= lastMovement { noteMiss(&misses) }
            lastMovement = time
        }
        guard isShaking else {
            if isMovement {
                if qualifies(at: timestamp, explains: misses.isEnabled) { return begin(at: timestamp) }
            } else if swings.count == 0 {
                noteMiss(&misses)
            } else if swings.count == 2 {
                noteTwoSwings(at: timestamp)
            }
            return nil
        }
        if isMovement {
            strength = max(strength, swings[0].amplitude)
            reference = max(reference, swings.weakestOfThree)
        }
        if time - onset > settings.maximumDuration {
            past.noteTooLong()
            return close(.cancelled, reason: .tooLong, at: timestamp)
        }
        guard time - lastMovement > Rule.endDelay else { return nil }
        return reversals + 1 >= Rule.confirmed
            ? close(.ended, reason: nil, at: timestamp) : close(.cancelled, reason: .tooShort, at: timestamp)
    }

    /// How often the movement has reversed since the onset.
    private var reversals: Int { turnsBefore + swings.total - swingsAtStart }

    /// Whether the last three swings are a shake.
    private mutating func qualifies(at timestamp: Timestamp, explains: Bool) -> Bool {
        features.begin(swings, after: lastEnd)
        // Swings of the shake before are no part of this movement.
        guard swings[2].start > lastEnd else {
            if swings[1].start > lastEnd { noteTwoSwings(at: timestamp) }
            return false
        }
        past.noteBlow(features.steepness, at: time)
        let fall = swings.recentFall(at: time)
        guard fall <= ShakeRecognizer.longestFall else {
            refuse(.partOfFall, value: fall, limit: ShakeRecognizer.longestFall, share: 0.1, at: timestamp)
            return false
        }
        guard features.onset < ShakeRecognizer.mostSwings else { return false }
        if let pace = ShakeRecognizer.wrongPace(swings, features) {
            refuse(.wrongPace, value: pace.value, limit: pace.limit, share: 0.1, at: timestamp)
            return false
        }
        guard !past.isRinging(at: time) else {
            refuse(.tooPeaky, value: .nan, limit: .nan, share: 0.1, at: timestamp)
            return false
        }
        // From here it costs more: the motion of 12 s.
        features.lookBack(swings)
        let weakest = features.weakest
        let before = features.preceding
        let start = ShakeStart(features)
        guard !past.continues(lastEnd, at: time) || start.standsOut else {
            // What goes on after a shake, weaker than it, is no other one.
            refuse(.noQuietBefore, value: 0, limit: Rule.endDelay, share: 0, unit: .seconds, at: timestamp)
            return false
        }
        guard start.isAcceptable else {
            let isMoment = start.isQuiet || start.standsOut
            let found = isMoment ? before.justBefore : before.quietest
            let floor = 0.02 * standardGravity
            let share = exp(isMoment ? ShakeStart.momentRatio : ShakeStart.quietRatio)
            let limit = max(isMoment ? 0 : ShakeStart.quietFloor, (weakest + floor) * share - floor)
            refuse(.noQuietBefore, value: found, limit: limit, share: 0.1 * limit / max(found, 1e-3), at: timestamp)
            return false
        }
        guard !past.goesOn(at: time) || start.standsOut else {
            // A pause that was long enough was before what goes on.
            let pause = past.stillness < ShakePast.pause ? past.stillness : 0
            refuse(.noQuietBefore, value: pause, limit: ShakePast.pause, share: 0.2, unit: .seconds, at: timestamp)
            return false
        }
        features.complete(swings, at: time)
        let needed = model.neededAmplitude(features, sensitivity: settings.common.sensitivity)
        if weakest >= needed { return true }
        if weakest / needed > pendingShare {
            refused.assign(features)
            if explains {
                refusedShape = ShakeShape(
                    swings, onset: features.onset, weakest: weakest, preceding: before, at: time)
            }
            totalWhenRefused = swings.total
            refuse(nil, value: weakest, limit: needed, share: weakest / needed, at: timestamp)
        }
        return false
    }

    /// Keeps a rejection if it was closer to a shake than earlier ones of the current movement. Without a reason, the
    /// shape was the cause, and the model finds the reason when the movement is over.
    private mutating func refuse(
        _ reason: NearMiss.Reason?, value: Double, limit: Double, share: Double, unit: NearMiss.Unit? = nil,
        at timestamp: Timestamp
    ) {
        guard share > pendingShare || pending == nil else { return }
        pendingShare = share
        pendingTime = time
        asksModel = reason == nil
        pending = NearMiss(.shake, reason ?? .tooWeak, at: timestamp, value: value, limit: limit, unit: unit)
    }

    /// Two strong swings: a near miss if no more follow.
    private mutating func noteTwoSwings(at timestamp: Timestamp) {
        guard pending == nil, min(swings[0].amplitude, swings[1].amplitude) > Rule.strong else { return }
        refuse(.tooFewReversals, value: 2, limit: 3, share: 0, at: timestamp)
    }

    /// The movement is over and was not a shake: records the near miss.
    private mutating func noteMiss(_ misses: inout NearMisses) {
        guard var miss = pending else { return }
        if asksModel, misses.isEnabled { miss = explained(miss) }
        misses.add(miss)
        pending = nil
        pendingShare = 0
    }

    /// Finds what a movement lacked that the model refused: strength, if a hand could have had that much more, else what
    /// was unlike a shake and cost most.
    private func explained(_ miss: NearMiss) -> NearMiss {
        let (weakest, needed) = (miss.value, miss.limit)
        let isOver = !hasGoneOn(weakest: weakest)
        if isOver, refusedShape.swings == 3, weakest >= Rule.vigorous { return named(.tooFewReversals, miss) }
        if needed <= Rule.close * weakest, needed <= Rule.easy { return miss }
        var obstacle = NearMiss.Reason.notConvincing
        var most = 0.0
        var next: UInt8 = 0
        while let aspect = NearMiss.Reason(rawValue: next) {
            next += 1
            guard refusedShape.isUnusual(aspect) || aspect == .tooFewReversals && isOver else { continue }
            let relief = model.relief(refused, aspect)
            if relief > most {
                most = relief
                obstacle = aspect
            }
        }
        if obstacle == .notConvincing, needed <= Rule.reachable { return miss }
        return named(obstacle, miss)
    }

    /// Whether the movement that was refused had further swings, so that their number was not what it lacked.
    private func hasGoneOn(weakest: Double) -> Bool {
        let later = min(swings.total - totalWhenRefused, SwingTracker.capacity)
        for age in 0..<later where swings[age].start <= lastMovement {
            if swings[age].amplitude >= Rule.swingOfMovement * weakest { return true }
        }
        return false
    }

    private func named(_ obstacle: NearMiss.Reason, _ miss: NearMiss) -> NearMiss {
        let figures = refusedShape.figures(obstacle)
        return NearMiss(.shake, obstacle, at: miss.timestamp, value: figures.value, limit: figures.limit)
    }

    private mutating func begin(at timestamp: Timestamp) -> GestureEvent {
        let first = features.onset
        onset = swings[first].start
        pending = nil
        pendingShare = 0
        isShaking = true
        turnsBefore = first
        swingsAtStart = swings.total
        strength = 0
        for age in 0...first { strength = max(strength, swings[age].amplitude) }
        reference = features.weakest
        axis = BodyAxis(dominantIn: swings[0].peak - swings[1].peak + swings[2].peak)
        return event(.began, at: timestamp)
    }

    private mutating func close(
        _ phase: GesturePhase, reason: CancellationReason?, at timestamp: Timestamp
    ) -> GestureEvent {
        var last = event(phase, at: timestamp)
        last.reason = reason
        isShaking = false
        lastEnd = lastMovement
        return last
    }

    private func event(_ phase: GesturePhase, at timestamp: Timestamp) -> GestureEvent {
        var event = GestureEvent(.shake, phase, at: timestamp)
        event.strength = strength
        event.axis = axis
        event.reversals = reversals
        event.duration = max(0, (phase == .began ? time : min(time, lastMovement)) - onset)
        return event
    }
}

/// How shakes are recognised.
public struct ShakeSettings: Equatable, Sendable, BitwiseCopyable {
    /// Common settings; the default cooldown is 0 s: a shake is over after 0.3 s without movement, and the next may begin.
    public var common = RecognizerSettings(cooldown: 0)

    /// Time after which a shake is cancelled as too long, s. Default 5. Smaller cancels long movements earlier; larger
    /// lets people shake for longer.
    public var maximumDuration = 5.0

    /// Creates the default settings.
    public init() {}
}

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
    func isUnusual(_ aspect: NearMiss.Reason) -> Bool {
        switch aspect {
        case .noQuietBefore: before > beforeLimit
        case .notAlongOneLine: stray > Usual.stray
        case .tooIrregular: ratio > Usual.ratio
        case .wrongPace: !Usual.swingTime.contains(swingTime)
        case .tooPeaky: crest > Usual.crest
        case .likeSteps: fromVertical < Usual.fromVertical
        case .partOfFall: fall > 0
        default: false
        }
    }

    /// The measured figure of an aspect, and the usual one; not-a-number if it has none that a person could change.
    func figures(_ aspect: NearMiss.Reason) -> (value: Double, limit: Double) {
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
        case .partOfFall: (fall, .nan)
        default: (.nan, .nan)
        }
    }
}
