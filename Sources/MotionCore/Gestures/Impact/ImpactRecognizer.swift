internal import CMotionMath

/// Recognises blows: acceleration that is high, short, and stands out from what went before.
///
/// A blow lasts for some milliseconds and rings on; a cell of 20 ms would flatten it, so samples are looked at. What a
/// sample rate does not resolve is seen as one high sample; its height is then less than the blow's. Shakes and steps can
/// be as high: they last longer, or come after others like them. The side that was hit faces the blow: the force pushes
/// away from it, so it is the side against the acceleration.
struct ImpactRecognizer: Sendable, BitwiseCopyable {
    /// How blows are recognised; see `apply(_:)`.
    private(set) var settings: ImpactSettings

    /// The square of the linear acceleration that a blow needs, (m/s²)², however quiet it was.
    private var leastSquare: Double
    /// Mean square of the linear acceleration lately, blows left out, (m/s²)².
    private var level = 0.0
    /// What the present peak must exceed.
    private var needed = 0.0
    private var state = State.quiet
    private var began = Timestamp(nanoseconds: 0)
    private var last = 0.0
    /// The first stroke: its impulse, m/s, its highest acceleration, m/s², and whether that was cut off.
    private var impulse = 0.0
    private var peak = 0.0
    private var strength = 0.0
    private var stroke = Vector3.zero
    private var peakAt = Timestamp(nanoseconds: 0)
    private var ringsUntil = Timestamp(nanoseconds: 0)

    private enum State {
        case quiet
        /// The acceleration rises, or has not fallen to half of its peak.
        case rising
        /// A blow it was; its ringing may be higher.
        case ringing
        /// It was none, and has to fade first.
        case fading
    }

    /// Constants of the rule: what each means and what it guards against.
    private enum Rule {
        /// A blow is higher than the RMS before it by this: neither a step nor a swing among others.
        static let crest = 3.5
        /// Time constant of that RMS, s.
        static let levelTime = 0.4
        /// The share of what is needed at which a stroke begins, and of its peak at which it is over.
        static let edge = 0.5
        /// Seconds in which the ringing's height is looked at.
        static let ringing = 0.03
        /// A stroke that is longer than this, s, may be a shake's first: then the next one comes within so many seconds
        /// of its peak, but not before, with this share of its height. What rings does so faster.
        static let swing = 0.015
        static let earliestReturn = 0.04
        static let latestReturn = 0.14
        static let returnShare = 0.6
        /// The share of what is needed that makes a near miss.
        static let nearMiss = 0.6
        /// A peak that was cut off counts as higher by this.
        static let clipped = 1.25
        /// Each step of sensitivity divides the needed acceleration by this.
        static let sensitivityStep = 1.15
    }

    /// Makes a recognizer that has seen nothing.
    init(settings: ImpactSettings) {
        self.settings = settings
        leastSquare = ImpactRecognizer.leastSquare(settings)
    }

    /// Takes over new settings.
    mutating func apply(_ settings: ImpactSettings) {
        self.settings = settings
        leastSquare = ImpactRecognizer.leastSquare(settings)
    }

    /// Forgets everything.
    mutating func reset() {
        level = 0
        last = 0
        state = .quiet
    }

    private static func leastSquare(_ settings: ImpactSettings) -> Double {
        let least = settings.threshold / pow(Rule.sensitivityStep, Double(settings.common.sensitivity - 5))
        return least * least
    }

    /// Takes a sample and tells what it brings about.
    mutating func update(_ sample: GestureSample, _ misses: inout NearMisses) -> GestureEvent? {
        let linear = sample.acceleration - sample.gravity
        let square = linear.lengthSquared
        if state == .quiet {
            let least = max(leastSquare, Rule.crest * Rule.crest * level)
            guard square * (Rule.clipped * Rule.clipped) > Rule.edge * Rule.edge * least else {
                level += (square - level) * min(1, sample.interval / Rule.levelTime)
                last = square
                return nil
            }
            needed = least.squareRoot()
            state = .rising
            began = sample.timestamp
            impulse = 0
            peak = 0
            strength = 0
            last = last.squareRoot()
        }
        return follow(linear, square.squareRoot(), sample, &misses)
    }

    /// A stroke that has begun.
    private mutating func follow(
        _ linear: Vector3, _ length: Double, _ sample: GestureSample, _ misses: inout NearMisses
    ) -> GestureEvent? {
        defer { last = state == .quiet ? length * length : length }
        switch state {
        case .quiet:
            return nil
        case .rising:
            let height = sample.isClipped ? length * Rule.clipped : length
            if height > peak {
                peak = height
                stroke = linear
                peakAt = sample.timestamp
            }
            strength = max(strength, sample.isClipped ? max(length, sample.acceleration.length) : length)
            impulse += 0.5 * (last + length) * sample.interval
            let longest = max(settings.maximumDuration, sample.interval)
            if length < max(Rule.edge * peak, Rule.edge * needed) {
                conclude(at: sample.timestamp, longest: longest, &misses)
            } else if impulse > longest * peak, sample.timestamp.seconds(since: began) > 2 * longest {
                state = .fading
                note(.tooSlow, at: sample.timestamp, value: impulse / peak, limit: longest, &misses)
            }
            return nil
        case .ringing:
            strength = max(strength, sample.isClipped ? max(length, sample.acceleration.length) : length)
            if isReturn(linear, length, at: sample.timestamp) {
                state = .fading
                note(.tooSlow, at: sample.timestamp, value: impulse / peak, limit: Rule.swing, &misses)
                return nil
            }
            guard sample.timestamp >= ringsUntil else { return nil }
            state = .fading
            var event = GestureEvent(.impact, .recognized, at: sample.timestamp)
            event.strength = strength
            event.side = BodySide(nearestTo: -stroke)
            return event
        case .fading:
            if length < Rule.edge * needed { state = .quiet }
            return nil
        }
    }

    /// The first stroke is over: was it a blow?
    private mutating func conclude(at timestamp: Timestamp, longest: Double, _ misses: inout NearMisses) {
        if peak < needed {
            state = .quiet
            note(.tooWeak, at: timestamp, value: peak, limit: needed, &misses)
        } else if impulse > longest * peak {
            state = .quiet
            note(.tooSlow, at: timestamp, value: impulse / peak, limit: longest, &misses)
        } else {
            state = .ringing
            let mayBeSwing = impulse > Rule.swing * peak
            ringsUntil =
                mayBeSwing
                ? peakAt.advanced(bySeconds: Rule.latestReturn) : timestamp.advanced(bySeconds: Rule.ringing)
        }
        // What was no blow counts for the level, so that a series of swings raises it.
        if state == .quiet {
            let duration = timestamp.seconds(since: began)
            level += (peak * peak * 0.5 - level) * min(1, duration / Rule.levelTime)
        }
    }

    /// Whether this is the next swing of a shake that the stroke began.
    private func isReturn(_ linear: Vector3, _ length: Double, at timestamp: Timestamp) -> Bool {
        guard impulse > Rule.swing * peak, length > Rule.returnShare * peak else { return false }
        return linear.dot(stroke) < 0 && timestamp.seconds(since: peakAt) > Rule.earliestReturn
    }

    private func note(
        _ reason: NearMiss.Reason, at timestamp: Timestamp, value: Double, limit: Double, _ misses: inout NearMisses
    ) {
        guard peak > Rule.nearMiss * needed else { return }
        misses.add(NearMiss(.impact, reason, at: timestamp, value: value, limit: limit))
    }
}
