internal import CMotionMath

/// Recognises shakes: quick movement to and fro along a line.
///
/// A shake is at least three swings, each against the one before. Two gates look at the time before: a shake comes out of
/// quiet, or stands out from what went on, as from walking; and not out of a fall. What passes them needs a certain
/// strength, and the less like a shake its shape is, the more: see `ShakeModel`.
struct ShakeRecognizer: ~Copyable {
    /// How shakes are recognised; see `apply(_:)`.
    private(set) var settings: ShakeSettings

    private var swings = SwingTracker()
    private let model = ShakeModel()
    private var features = ShakeFeatures()
    private var refused = ShakeFeatures()
    private var pending: ShakeRefusal?
    private var pendingShare = 0.0
    private var asksModel = false
    private var reference = 0.0
    private var time = 0.0
    private var state = State.armed
    private var onset = 0.0
    private var lastMovement = -Double.infinity
    private var strength = 0.0
    private var axis = BodyAxis.x
    private var turnsBefore = 0
    private var swingsAtStart = 0

    private enum State {
        /// A shake may begin.
        case armed
        /// One is under way.
        case shaking
        /// One is over; quiet is needed before the next.
        case spent
    }

    /// Makes a recognizer that has seen nothing.
    init(settings: ShakeSettings) {
        self.settings = settings
    }

    /// Whether movement goes on that may still become a shake: others may want to wait for what comes of it.
    var isUndecided: Bool { state == .armed && swings.count >= 2 && time - swings[0].start < Rule.swingLength }

    /// Takes a cell and tells what it brings about.
    mutating func update(_ cell: GestureCell, _ misses: inout NearMisses) -> GestureEvent? {
        time = cell.time
        swings.update(cell.acceleration, at: time)
        return judge(at: cell.timestamp, &misses)
    }

    /// Takes over new settings.
    mutating func apply(_ settings: ShakeSettings) {
        self.settings = settings
    }

    /// Forgets everything. A shake under way is none any more: whoever forgets tells so.
    mutating func reset() {
        swings.reset()
        features.reset()
        pending = nil
        pendingShare = 0
        state = .armed
        lastMovement = -.infinity
    }
}

extension ShakeRecognizer {
    /// Constants of the rule: what each means and what it guards against.
    private enum Rule {
        /// The quietest 0.4 s of the 12 s before may have this much RMS, m/s², or this share of the weakest peak (with
        /// the noise floor of `ShakeFeatures.ratio`): sport, brushing teeth and dribbling are never that quiet.
        static let quietFloor = 0.06 * standardGravity
        static let quietRatio = -2.1
        /// Or, for a shake while walking: the largest acceleration of the 3 s before and the RMS of the moment before,
        /// as shares of the weakest peak.
        static let standOutRatio = -0.35
        static let standOutMoment = -0.6
        /// The moment before may never have more than this share.
        static let momentRatio = -0.2
        /// Swings from the onset to the decision, at most: what was no shake for so long becomes none.
        static let mostSwings = 13
        /// Seconds of free fall in the last 1.2 s that rule a shake out: the swings are a drop's bounces.
        static let longestFall = 0.2
        /// Seconds since its start during which a swing is movement, and the share of its peak that is.
        static let swingLength = 0.36
        static let swingShare = 0.5
        /// In and after a shake only swings with this share of its own count as movement, so that a shake while
        /// walking ends.
        static let followShare = 0.35
        /// Seconds after the last movement at which a shake has ended.
        static let endDelay = 0.4
        /// Seconds after the last movement before another shake may begin, at least.
        static let rearmDelay = 0.6
        /// Swings that confirm a shake.
        static let confirmed = 4
        /// Peak, m/s², from which two swings that went no further are worth a word.
        static let strong = 1.2 * standardGravity
    }

    /// One more cell: does a shake begin, go on or end?
    private mutating func judge(at timestamp: Timestamp, _ misses: inout NearMisses) -> GestureEvent? {
        let isCandidate =
            swings.count >= 3 && time - swings[0].start < Rule.swingLength
            && swings.magnitude > Rule.swingShare * swings[0].amplitude
        let isMovement = isCandidate && (state == .armed || swings[0].amplitude >= Rule.followShare * reference)
        if state == .spent, time - lastMovement > max(Rule.rearmDelay, settings.common.cooldown) { state = .armed }
        if isMovement { lastMovement = time }
        switch state {
        case .armed:
            if isMovement {
                if qualifies(at: timestamp) { return begin(at: timestamp) }
            } else if swings.count == 0 {
                explain(&misses)
            } else if swings.count == 2 {
                noteTwoSwings(at: timestamp)
            }
        case .shaking:
            if isMovement {
                strength = max(strength, swings[0].amplitude)
                reference = max(reference, weakestOfThree)
            }
            if time - onset > settings.maximumDuration {
                return close(.cancelled, reason: .tooLong, at: timestamp)
            }
            if time - lastMovement > Rule.endDelay {
                return reversals + 1 >= Rule.confirmed
                    ? close(.ended, reason: nil, at: timestamp) : close(.cancelled, reason: .tooWeak, at: timestamp)
            }
        case .spent:
            break
        }
        return nil
    }

    /// How often the movement turned round since the onset.
    private var reversals: Int { turnsBefore + swings.total - swingsAtStart }

    private var weakestOfThree: Double {
        min(swings[0].amplitude, min(swings[1].amplitude, swings[2].amplitude))
    }

    /// Whether the last three swings are a shake.
    private mutating func qualifies(at timestamp: Timestamp) -> Bool {
        features.begin(swings)
        let weakest = features.weakest
        let before = features.ambience
        let isQuiet = before.quietest <= Rule.quietFloor || features.ratio(before.quietest) <= Rule.quietRatio
        let moment = features.ratio(before.justBefore)
        let standsOut = features.ratio(before.largest) <= Rule.standOutRatio && moment <= Rule.standOutMoment
        guard isQuiet || standsOut, moment <= Rule.momentRatio else {
            let isMoment = isQuiet || standsOut
            let found = isMoment ? before.justBefore : before.quietest
            let floor = 0.02 * standardGravity
            let share = exp(isMoment ? Rule.momentRatio : Rule.quietRatio)
            let limit = max(isMoment ? 0 : Rule.quietFloor, (weakest + floor) * share - floor)
            refuse(.noQuietBefore, value: found, limit: limit, share: 0.1 * limit / max(found, 1e-3), at: timestamp)
            return false
        }
        let fall = swings.recentFall(at: time)
        guard fall <= Rule.longestFall else {
            refuse(.afterFall, value: fall, limit: Rule.longestFall, share: 0.1, at: timestamp)
            return false
        }
        guard features.onset < Rule.mostSwings else { return false }
        features.complete(swings, at: time)
        let needed = model.neededAmplitude(features, sensitivity: settings.common.sensitivity)
        if weakest >= needed { return true }
        if weakest / needed > pendingShare {
            refused.assign(features)
            refuse(nil, value: weakest, limit: needed, share: weakest / needed, at: timestamp)
        }
        return false
    }

    /// Keeps a refusal where it was nearer to a shake than what else the present movement had. Without a reason, the
    /// shape decides, and is asked about when the movement is over.
    private mutating func refuse(
        _ reason: ShakeRefusal.Reason?, value: Double, limit: Double, share: Double, at timestamp: Timestamp
    ) {
        guard share > pendingShare || pending == nil else { return }
        pendingShare = share
        asksModel = reason == nil
        pending = ShakeRefusal(
            reason: reason ?? .tooWeak, value: value, limit: limit, swings: swings.count, timestamp: timestamp)
    }

    /// Two strong swings: a word is said where nothing follows.
    private mutating func noteTwoSwings(at timestamp: Timestamp) {
        guard pending == nil, min(swings[0].amplitude, swings[1].amplitude) > Rule.strong else { return }
        refuse(.tooFewReversals, value: 2, limit: 3, share: 0, at: timestamp)
    }

    /// The movement is over and was no shake: says why.
    private mutating func explain(_ misses: inout NearMisses) {
        guard var refusal = pending else { return }
        if misses.isWanted {
            if asksModel { refusal.reason = model.obstacle(refused) }
            misses.add(NearMiss(refusal))
        }
        pending = nil
        pendingShare = 0
    }

    private mutating func begin(at timestamp: Timestamp) -> GestureEvent {
        pending = nil
        pendingShare = 0
        let first = features.onset
        state = .shaking
        onset = swings[first].start
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
        state = .spent
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
