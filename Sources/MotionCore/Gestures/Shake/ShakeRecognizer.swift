internal import CMotionMath

/// Recognises shakes: quick movement to and fro along a line, out of quiet.
///
/// A shake is at least three swings, each against the one before. What tells it from walking, sport, blows and handling
/// is not its strength alone: the strength it needs grows where the swings are peaky like blows, where they do not keep
/// to one line, go up and down like steps, are slow, or come in unequal time; and it must come out of quiet. The rule
/// was fitted to recordings whose licence allows it and to synthetic movements; each of its factors is named below.
struct ShakeRecognizer: ~Copyable {
    /// How shakes are recognised; see `apply(_:)`.
    private(set) var settings: ShakeSettings

    private var swings = SwingTracker()
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
    var isUndecided: Bool { state == .armed && swings.count >= 2 }

    /// Takes a cell and tells what it brings about.
    mutating func update(_ cell: GestureCell, _ misses: inout NearMisses) -> GestureEvent? {
        time = cell.time
        swings.update(cell.acceleration, at: time)
        return judge(at: cell.timestamp)
    }

    /// Takes over new settings.
    mutating func apply(_ settings: ShakeSettings) {
        self.settings = settings
    }

    /// Forgets everything. A shake under way is none any more: whoever forgets tells so.
    mutating func reset() {
        swings.reset()
        state = .armed
        lastMovement = -.infinity
    }
}

extension ShakeRecognizer {
    /// Constants of the rule: what each means and what it guards against.
    private enum Rule {
        /// Peak acceleration of the weakest of three swings, m/s², before the factors below.
        static let amplitude = 0.36 * standardGravity
        /// Exponents of the needed amplitude: on power across the line (sport, handling), on verticality (steps, stairs,
        /// jumps), on the half period in seconds (slow swaying), on its spread, and for three swings only.
        static let across = 0.9
        static let vertical = 1.0
        static let slowness = 0.7
        static let spread = 0.2
        static let fewSwings = 0.4
        /// The quietest 0.4 s of the 12 s before may have this much of the amplitude, or this many m/s².
        static let quietShare = 0.05
        static let quietFloor = 0.08 * standardGravity
        /// The moment before may have this much of the amplitude.
        static let beforeShare = 0.4
        /// A swing counts for the onset where it has this share of the weakest of the last three.
        static let onsetShare = 0.5
        /// Seconds a swing may last and still be part of a shake.
        static let swingLength = 0.3
        /// Seconds after the last movement at which a shake has ended.
        static let endDelay = 0.4
        /// Seconds after the last movement before another shake may begin, at least.
        static let rearmDelay = 0.6
        /// Swings that confirm a shake.
        static let confirmed = 4
        /// Each step of sensitivity divides the needed amplitude by this.
        static let sensitivityStep = 1.15
    }

    /// One more cell: does a shake begin, go on or end?
    private mutating func judge(at timestamp: Timestamp) -> GestureEvent? {
        let isMovement =
            swings.count >= 3 && time - swings[0].start < Rule.swingLength
            && swings.magnitude > 0.5 * swings[0].amplitude
        if state == .spent, time - lastMovement > max(Rule.rearmDelay, settings.common.cooldown) { state = .armed }
        if isMovement { lastMovement = time }
        switch state {
        case .armed:
            if isMovement, qualifies() { return begin(at: timestamp) }
        case .shaking:
            if isMovement { strength = max(strength, swings[0].amplitude) }
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

    /// The age of the swing with which the movement began.
    private func onsetAge(weakest: Double) -> Int {
        var age = 2
        while age + 1 < swings.remembered, swings[age + 1].amplitude >= Rule.onsetShare * weakest { age += 1 }
        return age
    }

    /// Whether the last three swings are a shake.
    private func qualifies() -> Bool {
        let weakest = min(swings[0].amplitude, min(swings[1].amplitude, swings[2].amplitude))
        let first = onsetAge(weakest: weakest)
        guard
            swings[first].quietest <= max(Rule.quietFloor, Rule.quietShare * weakest),
            swings[first].before <= Rule.beforeShare * weakest
        else { return false }
        return weakest >= neededAmplitude(onset: first)
    }

    /// The amplitude, m/s², that the weakest of the last three swings needs, given how shake-like they are.
    private func neededAmplitude(onset: Int) -> Double {
        let rhythm = halfPeriods(onset: onset)
        let sum = swings[0].peak - swings[1].peak + swings[2].peak
        guard let line = sum.normalized else { return .infinity }
        let diagonal = swings[0].diagonal + swings[1].diagonal + swings[2].diagonal
        let mixed = swings[0].mixed + swings[1].mixed + swings[2].mixed
        let along = max(1e-9, Swing.energy(along: line, diagonal: diagonal, mixed: mixed))
        let across = min(1, max(0, (diagonal.x + diagonal.y + diagonal.z - along) / along))
        let vertical = abs(line.dot(swings.gravity)) / max(1e-9, swings.gravity.length)
        let crest = max(swings[1].crest, swings[2].crest)
        let exponent =
            Rule.across * across + Rule.vertical * vertical + Rule.slowness * min(rhythm.mean, 0.5)
            + Rule.spread * min(rhythm.spread, 1) + (onset == 2 ? Rule.fewSwings : 0)
        let gain = pow(Rule.sensitivityStep, Double(settings.common.sensitivity - 5))
        return Rule.amplitude * crest * exp(exponent) / gain
    }

    /// The mean half period of the last swings, s, and its relative spread.
    private func halfPeriods(onset: Int) -> (mean: Double, spread: Double) {
        let a = swings[0].start - swings[1].start
        let b = swings[1].start - swings[2].start
        guard onset > 2 else { return (0.5 * (a + b), abs(a - b) / (a + b)) }
        let c = swings[2].start - swings[3].start
        let mean = (a + b + c) / 3
        return (mean, max(abs(a - mean), max(abs(b - mean), abs(c - mean))) / mean)
    }

    private mutating func begin(at timestamp: Timestamp) -> GestureEvent {
        let weakest = min(swings[0].amplitude, min(swings[1].amplitude, swings[2].amplitude))
        let first = onsetAge(weakest: weakest)
        state = .shaking
        onset = swings[first].start
        turnsBefore = first
        swingsAtStart = swings.total
        strength = 0
        for age in 0...first { strength = max(strength, swings[age].amplitude) }
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
