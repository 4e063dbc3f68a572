internal import CMotionMath

/// Recognises shakes: quick movement to and fro along a line.
///
/// A shake is at least three swings, each opposite to the one before. Two gates check the time before: a shake begins
/// from quiet or stands out from the movement before it, for example walking; and it does not follow a fall. A movement
/// that passes both needs a certain strength, and the less its shape resembles a shake, the more strength it needs: see
/// `ShakeModel`.
struct ShakeRecognizer: ~Copyable {
    /// The settings; change them with `apply(_:)`.
    private(set) var settings: ShakeSettings

    private var swings = SwingTracker()
    private let model = ShakeModel()
    private var features = ShakeFeatures()
    private var refused = ShakeFeatures()
    private var refusedShape = ShakeShape()
    private var totalWhenRefused = 0
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
        /// A shake is in progress.
        case shaking
        /// A shake is over; quiet is needed before the next one.
        case waitingForQuiet
    }

    init(settings: ShakeSettings) {
        self.settings = settings
    }

    /// Whether the current movement may still become a shake, so that other gestures should wait.
    var isUndecided: Bool { state == .armed && swings.count >= 2 && time - swings[0].start < Rule.swingLength }

    /// Processes a cell; returns the resulting event, if any.
    mutating func update(_ cell: GestureCell, _ misses: inout NearMisses) -> GestureEvent? {
        time = cell.time
        swings.update(cell.acceleration, at: time)
        return judge(at: cell.timestamp, &misses)
    }

    /// Applies new settings.
    mutating func apply(_ settings: ShakeSettings) {
        self.settings = settings
    }

    /// Resets the recognizer without an event; the caller cancels a shake in progress.
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
    /// The largest number of swings from the onset to the decision: a movement that was not a shake for so long does not
    /// become one.
    static let mostSwings = 13
    /// Seconds of free fall in the last 1.2 s that exclude a shake: the swings are bounces after a drop.
    static let longestFall = 0.2
    /// The longest mean half period, s: one slow movement to and fro a second is not a shake.
    static let slowestSwing = 0.42

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
        /// Seconds after the last movement at which a shake has ended.
        static let endDelay = 0.4
        /// Smallest time after the last movement before another shake may begin, s.
        static let rearmDelay = 0.6
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
        let isMovement = isCandidate && (state == .armed || swings[0].amplitude >= Rule.followShare * reference)
        if state == .waitingForQuiet, time - lastMovement > max(Rule.rearmDelay, settings.common.cooldown) {
            state = .armed
        }
        if isMovement { lastMovement = time }
        switch state {
        case .armed:
            if isMovement {
                if qualifies(at: timestamp, explains: misses.isEnabled) { return begin(at: timestamp) }
            } else if swings.count == 0 {
                noteMiss(&misses)
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
                    ? close(.ended, reason: nil, at: timestamp) : close(.cancelled, reason: .tooShort, at: timestamp)
            }
        case .waitingForQuiet:
            break
        }
        return nil
    }

    /// How often the movement has reversed since the onset.
    private var reversals: Int { turnsBefore + swings.total - swingsAtStart }

    private var weakestOfThree: Double {
        min(swings[0].amplitude, min(swings[1].amplitude, swings[2].amplitude))
    }

    /// Whether the last three swings are a shake.
    private mutating func qualifies(at timestamp: Timestamp, explains: Bool) -> Bool {
        features.begin(swings)
        let weakest = features.weakest
        let before = features.preceding
        let start = ShakeStart(features)
        guard start.isAcceptable else {
            let isMoment = start.isQuiet || start.standsOut
            let found = isMoment ? before.justBefore : before.quietest
            let floor = 0.02 * standardGravity
            let share = exp(isMoment ? ShakeStart.momentRatio : ShakeStart.quietRatio)
            let limit = max(isMoment ? 0 : ShakeStart.quietFloor, (weakest + floor) * share - floor)
            refuse(.noQuietBefore, value: found, limit: limit, share: 0.1 * limit / max(found, 1e-3), at: timestamp)
            return false
        }
        let fall = swings.recentFall(at: time)
        guard fall <= ShakeRecognizer.longestFall else {
            refuse(.afterFall, value: fall, limit: ShakeRecognizer.longestFall, share: 0.1, at: timestamp)
            return false
        }
        guard features.onset < ShakeRecognizer.mostSwings else { return false }
        features.complete(swings, at: time)
        guard features.halfPeriod <= ShakeRecognizer.slowestSwing else {
            refuse(
                .wrongPace, value: features.halfPeriod, limit: ShakeRecognizer.slowestSwing, share: 0.1, at: timestamp)
            return false
        }
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
        _ reason: ShakeRefusal.Reason?, value: Double, limit: Double, share: Double, at timestamp: Timestamp
    ) {
        guard share > pendingShare || pending == nil else { return }
        pendingShare = share
        asksModel = reason == nil
        pending = ShakeRefusal(reason: reason ?? .tooWeak, value: value, limit: limit, timestamp: timestamp)
    }

    /// Two strong swings: a near miss if no more follow.
    private mutating func noteTwoSwings(at timestamp: Timestamp) {
        guard pending == nil, min(swings[0].amplitude, swings[1].amplitude) > Rule.strong else { return }
        refuse(.tooFewReversals, value: 2, limit: 3, share: 0, at: timestamp)
    }

    /// The movement is over and was not a shake: records the near miss.
    private mutating func noteMiss(_ misses: inout NearMisses) {
        guard var refusal = pending else { return }
        if misses.isEnabled {
            if asksModel { explain(&refusal) }
            misses.add(NearMiss(refusal))
        }
        pending = nil
        pendingShare = 0
    }

    /// Finds what a movement lacked that the model refused: strength, if a hand could have had that much more, else what
    /// was unlike a shake and cost most.
    private func explain(_ refusal: inout ShakeRefusal) {
        let (weakest, needed) = (refusal.value, refusal.limit)
        let isOver = !hasGoneOn(weakest: weakest)
        if isOver, refusedShape.swings == 3, weakest >= Rule.vigorous { return name(.tooFewReversals, &refusal) }
        if needed <= Rule.close * weakest, needed <= Rule.easy { return }
        var obstacle = ShakeRefusal.Reason.unlikeShake
        var most = 0.0
        var next: UInt8 = 0
        while let aspect = ShakeRefusal.Reason(rawValue: next) {
            next += 1
            guard refusedShape.isUnusual(aspect) || aspect == .tooFewReversals && isOver else { continue }
            let relief = model.relief(refused, aspect)
            if relief > most {
                most = relief
                obstacle = aspect
            }
        }
        if obstacle == .unlikeShake, needed <= Rule.reachable { return }
        name(obstacle, &refusal)
    }

    /// Whether the movement that was refused had further swings, so that their number was not what it lacked.
    private func hasGoneOn(weakest: Double) -> Bool {
        let later = min(swings.total - totalWhenRefused, SwingTracker.capacity)
        for age in 0..<later where swings[age].amplitude >= Rule.swingOfMovement * weakest { return true }
        return false
    }

    private func name(_ obstacle: ShakeRefusal.Reason, _ refusal: inout ShakeRefusal) {
        let figures = refusedShape.figures(obstacle)
        refusal.reason = obstacle
        refusal.value = figures.value
        refusal.limit = figures.limit
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
        state = .waitingForQuiet
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
