/// Recognises impacts: acceleration that is high, short, and stands out from the movement before it.
///
/// An impact lasts some milliseconds and then rings. A cell of 20 ms would flatten it, so samples are used. If the
/// sample rate cannot resolve it, it is a single high sample, lower than its real peak. Shakes and steps can be as
/// high, but they last longer or follow others like them. The side that was hit faces the blow. The force pushes away
/// from it, so it is the side opposite to the acceleration.
struct ImpactRecognizer: Sendable, BitwiseCopyable {
    var settings: ImpactSettings { didSet { leastSquare = ImpactRecognizer.leastSquare(settings) } }

    /// The square of the smallest linear acceleration of an impact, (m/s²)², however quiet it was before.
    private var leastSquare: Double
    /// Recent mean square of the linear acceleration, impacts excluded, (m/s²)².
    private var level = 0.0
    /// The acceleration that the current peak must exceed.
    private var needed = 0.0
    private var state = State.quiet
    private var began = Timestamp(nanoseconds: 0)
    private var last = 0.0
    /// The first stroke: its impulse, m/s, and its highest acceleration, m/s², increased by `Rule.clipped` if it
    /// clipped.
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
        /// It was an impact; its ringing may be higher.
        case ringing
        /// It was not an impact and must fade first.
        case fading
    }

    /// Constants of the rule.
    private enum Rule {
        /// The ratio of an impact to the RMS before it: excludes steps and swings that follow others.
        static let crest = 3.5
        /// Time constant of that RMS, s.
        static let levelTime = 0.4
        /// The share of the needed acceleration at which a stroke begins, and of its peak at which it ends.
        static let edge = 0.5
        /// Seconds in which the peak of the ringing is searched.
        static let ringing = 0.03
        /// A stroke longer than `swing`, s, may be the first of a shake. It is one if an opposite stroke with the share
        /// `returnShare` of its peak follows between the two times, s after the peak. Ringing reverses faster.
        static let swing = 0.015
        static let earliestReturn = 0.04
        static let latestReturn = 0.14
        static let returnShare = 0.6
        /// The share of the needed acceleration that makes a near miss.
        static let nearMiss = 0.6
        /// The factor for a peak that clipped.
        static let clipped = 1.25
        /// Each step of sensitivity divides the needed acceleration by this.
        static let sensitivityStep = 1.15
    }

    init(settings: ImpactSettings) {
        self.settings = settings
        leastSquare = ImpactRecognizer.leastSquare(settings)
    }

    /// Resets the recognizer.
    mutating func reset() {
        level = 0
        last = 0
        state = .quiet
    }

    private static func leastSquare(_ settings: ImpactSettings) -> Double {
        let least = settings.threshold / settings.common.gain(step: Rule.sensitivityStep)
        return least * least
    }

    /// Processes a sample. Returns whether it belongs to a stroke, which `follow` then follows: most do not, and returning no
    /// event costs as much as returning one.
    mutating func update(_ sample: GestureSample) -> Bool {
        guard state == .quiet else { return true }
        let square = (sample.acceleration - sample.gravity).lengthSquared
        let least = max(leastSquare, Rule.crest * Rule.crest * level)
        guard square * (Rule.clipped * Rule.clipped) > Rule.edge * Rule.edge * least else {
            level += (square - level) * min(1, sample.interval / Rule.levelTime)
            last = square
            return false
        }
        needed = least.squareRoot()
        state = .rising
        began = sample.timestamp
        impulse = 0
        peak = 0
        strength = 0
        last = last.squareRoot()
        return true
    }

    /// Follows a stroke in progress; returns the resulting event, if any.
    mutating func follow(_ sample: GestureSample, _ misses: inout NearMisses) -> GestureEvent? {
        let linear = sample.acceleration - sample.gravity
        let length = linear.length
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

    /// Decides at the end of the first stroke whether it was an impact.
    private mutating func conclude(at timestamp: Timestamp, longest: Double, _ misses: inout NearMisses) {
        if peak < needed {
            state = .quiet
            noteWeakness(at: timestamp, &misses)
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
        // Strokes that were not impacts count for the level, so that a series of swings raises it.
        if state == .quiet {
            let duration = timestamp.seconds(since: began)
            level += (peak * peak * 0.5 - level) * min(1, duration / Rule.levelTime)
        }
    }

    /// Whether this is the next swing of a shake that began with the stroke.
    private func isReturn(_ linear: Vector3, _ length: Double, at timestamp: Timestamp) -> Bool {
        guard impulse > Rule.swing * peak, length > Rule.returnShare * peak else { return false }
        return linear.dot(stroke) < 0 && timestamp.seconds(since: peakAt) > Rule.earliestReturn
    }

    /// Records that a blow was too weak, or that it did not stand out from what was before it.
    private func noteWeakness(at timestamp: Timestamp, _ misses: inout NearMisses) {
        if peak * peak >= leastSquare {
            note(.noQuietBefore, at: timestamp, value: needed / Rule.crest, limit: peak / Rule.crest, &misses)
        } else {
            note(.tooWeak, at: timestamp, value: peak, limit: leastSquare.squareRoot(), &misses)
        }
    }

    private func note(
        _ reason: NearMiss.Reason, at timestamp: Timestamp, value: Double, limit: Double, _ misses: inout NearMisses
    ) {
        guard peak > Rule.nearMiss * needed else { return }
        misses.add(.impact, reason, at: timestamp, value: value, limit: limit)
    }
}

/// How impacts are recognised.
public struct ImpactSettings: Equatable, Sendable, BitwiseCopyable {
    /// Common settings; each step of sensitivity divides `threshold` by 1.15. The default cooldown is 0.3 s.
    public var common = RecognizerSettings(cooldown: 0.3)

    /// Peak linear acceleration of the weakest impact at sensitivity 5, m/s². Default 4 g: harder than the tap of a
    /// finger or a footstep. Smaller reports softer impacts, larger only hard ones.
    public var threshold = 4 * standardGravity

    /// The longest impact, s: the ratio of its impulse to its peak. Default 0.045. Smaller accepts only hard objects
    /// that hit each other; larger also accepts padded ones, and eventually the swings of a shake.
    public var maximumDuration = 0.045

    /// Creates the default settings.
    public init() {}
}
