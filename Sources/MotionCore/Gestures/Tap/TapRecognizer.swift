internal import CMotionMath

/// Recognises taps, and counts those in quick succession.
///
/// A tap is reported as soon as its count is final: at once if no higher count is configured, otherwise when the window
/// for the next tap has passed. After the highest count was reported, further taps at the same pace belong to it and
/// are ignored until there is a pause, so that a fourth tap is not reported as another single one.
struct TapRecognizer: Sendable, BitwiseCopyable {
    /// The settings. A change also applies to a sequence in progress.
    var settings: TapSettings

    private var detector = TapDetector()
    /// The number of taps in the current sequence, and when the latest one began.
    private var count = 0
    private var latest = Timestamp(nanoseconds: 0)
    /// The strongest tap of the sequence.
    private var strongest = TapDetector.Blow()
    private var isReported = false

    /// Constants of the rule.
    private enum Rule {
        /// The required ratio of the peak to the noise before it, at sensitivity 5, and its lower limit.
        static let noise = 5.0
        static let leastNoise = 4.0
        /// Each step of sensitivity divides the needed peak by this.
        static let sensitivityStep = 1.25
        /// The share of the needed peak that makes a near miss.
        static let nearly = 0.5
        /// The share of the needed peak that is enough if the body was at rest. Nothing but a blow moves a resting body,
        /// while steps and clothes give weak blows to one that is worn.
        static let rest = 0.5
    }

    init(settings: TapSettings) {
        self.settings = settings
    }

    /// Processes a sample; returns whether a sequence is in progress, so that `finishSequence` must be called.
    ///
    /// These are two functions because events are so rare: a returned event would be copied with every sample.
    mutating func update(_ sample: GestureSample, _ misses: inout NearMisses) -> Bool {
        if detector.update(sample, threshold: settings.threshold, stillness: settings.stillness),
            isTap(detector.candidate, at: sample.timestamp, &misses)
        {
            take(detector.candidate, at: sample.timestamp, &misses)
        }
        return count > 0
    }

    /// Whether the impacts so far may still become a tap.
    var isUndecided: Bool { count > 0 && !isReported || detector.hasCandidate }

    /// Resets the recognizer.
    mutating func reset() {
        detector.reset()
        count = 0
        isReported = false
    }
}

extension TapRecognizer {
    /// Whether a blow is a tap and strong enough.
    private func isTap(_ blow: TapDetector.Blow, at now: Timestamp, _ misses: inout NearMisses) -> Bool {
        let gain = settings.common.gain(step: Rule.sensitivityStep)
        let ratio = max(Rule.leastNoise, Rule.noise / gain)
        let usual = settings.threshold / gain
        if let flaw = blow.flaw {
            // An echo belongs to a tap already reported, and one movement may cause many blows.
            if blow.peak >= max(usual, ratio * blow.noise), flaw.isFirst {
                misses.add(.tap, flaw.reason, at: now, value: flaw.value, limit: flaw.limit, unit: flaw.unit)
            }
            return false
        }
        let least = blow.isFromRest ? Rule.rest * usual : usual
        let needed = max(least, ratio * blow.noise)
        if blow.peak >= needed { return true }
        guard blow.peak >= Rule.nearly * needed else { return false }
        // If it did not stand out, the movement before it is what can be changed.
        let isDrowned = needed > least
        misses.add(
            isDrowned
                ? NearMiss(.tap, .noQuietBefore, at: now, value: blow.noise, limit: blow.peak / ratio)
                : NearMiss(.tap, .tooWeak, at: now, value: blow.peak, limit: needed))
        return false
    }

    /// Adds a tap to the sequence, or begins a new sequence.
    private mutating func take(_ blow: TapDetector.Blow, at now: Timestamp, _ misses: inout NearMisses) {
        let pause = count > 0 ? blow.onset.seconds(since: latest) : .infinity
        latest = blow.onset
        guard pause <= settings.window else {
            count = 1
            isReported = false
            strongest = blow
            return
        }
        if isReported {
            misses.add(.tap, .tooSoon, at: now, value: pause, limit: settings.window)
            return
        }
        count += 1
        if blow.peak > strongest.peak { strongest = blow }
    }

    /// Returns the event of the sequence when its count is final.
    mutating func finishSequence(at now: Timestamp, _ misses: inout NearMisses) -> GestureEvent? {
        let isOver =
            now.seconds(since: latest) > settings.window
            && !(detector.hasCandidate && detector.candidate.onset.seconds(since: latest) <= settings.window)
        if isReported {
            if isOver { count = 0 }
            return nil
        }
        let highest = settings.counts.highest
        guard count >= highest || isOver else { return nil }
        let taps = count
        // After the last of several taps a pause is needed; after single taps it is not.
        isReported = highest > 1 && !isOver
        if !isReported { count = 0 }
        guard settings.counts.contains(count: taps) else {
            if highest > 0 {
                misses.add(.tap, .tooFewTaps, at: now, value: Double(taps), limit: Double(highest))
            }
            return nil
        }
        var event = GestureEvent(.tap, .recognized, at: now)
        event.count = taps
        event.side = BodySide(nearestTo: -strongest.push)
        event.strength = strongest.strength
        return event
    }
}

/// Detects single taps of a finger: sudden, from stillness, and over at once.
///
/// Subtracting a low-pass removes everything slower than a tap. A candidate begins when the remainder stands out from
/// the noise. It is judged 0.12 s later, when the movement before it, its speed and its aftermath are known. None of
/// this depends on the sensitivity, so a higher one finds everything that a lower one does.
struct TapDetector: Sendable, BitwiseCopyable {
    /// A blow, and why it may not be a tap.
    struct Blow: Sendable, BitwiseCopyable {
        var onset = Timestamp(nanoseconds: 0)
        /// Peak acceleration without everything slower than a tap, m/s².
        var peak = 0.0
        /// Peak acceleration relative to the moment before, m/s².
        var strength = 0.0
        /// The direction of its first push.
        var push = Vector3.zero
        /// RMS, before it, of the quantity of `peak`, m/s².
        var noise = 0.0
        /// Whether the body was at rest before it, as on a table.
        var isFromRest = false
        /// Why it is not a tap; `nil` if only its strength is left to check.
        var flaw: Flaw?
    }

    /// Why a blow is not a tap.
    struct Flaw: Sendable, BitwiseCopyable {
        var reason: NearMiss.Reason
        var value = Double.nan
        var limit = Double.nan
        /// The unit of these; `nil` for the usual one of the reason.
        var unit: NearMiss.Unit?
        /// Whether it is the first blow of its movement, which may have many.
        var isFirst = true
        /// Whether it nevertheless resembles a tap: the echo of one, or one too soon after a movement.
        var isTapLike = false
    }

    /// Recent mean squares.
    private struct RecentMotion: Sendable, BitwiseCopyable {
        /// Of the fast part, m²/s⁴, over 0.1 s.
        var noise = 0.0
        /// Of the slow part without gravity, m²/s⁴, over 0.15 s and 0.6 s.
        var sway = 0.0
        var slowSway = 0.0
        /// Of the angular rate, rad²/s², over 0.3 s.
        var rotation = 0.0
    }

    /// Coefficients of the averages for one sample period.
    private struct Coefficients: Sendable, BitwiseCopyable {
        var interval = 0.0
        var mean = 0.0
        var gravity = 0.0
        var noise = 0.0
        var sway = 0.0
        var slowSway = 0.0
        var rotation = 0.0

        mutating func prepare(_ interval: Double) {
            // Sample periods jitter; one per cent does not matter.
            if abs(interval - self.interval) <= 0.01 * self.interval { return }
            self.interval = interval
            mean = 1 - exp(-interval / 0.03)
            gravity = 1 - exp(-interval / 0.4)
            noise = 1 - exp(-interval / 0.1)
            sway = 1 - exp(-interval / 0.15)
            slowSway = 1 - exp(-interval / 0.6)
            rotation = 1 - exp(-interval / 0.3)
        }
    }

    private var coefficients = Coefficients()
    private var hasStarted = false
    private var startedAt = Timestamp(nanoseconds: 0)
    private var last = Timestamp(nanoseconds: 0)
    private var lastAcceleration = Vector3.zero
    private var mean = Vector3.zero
    private var gravity = Vector3.zero
    private var recent = RecentMotion()

    /// Whether a candidate is being followed.
    private(set) var hasCandidate = false
    /// The current candidate, or the one that was judged last.
    private(set) var candidate = Blow()
    private var before = RecentMotion()
    private var base = Vector3.zero
    private var sums = Sums()
    private var isPushing = false

    private var latestTap = Timestamp(nanoseconds: .min)
    private var latestTapPeak = 0.0
    private var latestMovement = Timestamp(nanoseconds: .min)

    /// Sums over a candidate.
    private struct Sums: Sendable, BitwiseCopyable {
        var samples = 0.0
        /// Squared steps from sample to sample, and squared acceleration relative to the moment before, during the
        /// strike.
        var steps = 0.0
        var squares = 0.0
        /// The fast part after the strike, m/s², and its number of samples.
        var rest = 0.0
        var restSamples = 0.0
        /// The change of velocity, m/s.
        var velocity = Vector3.zero
    }

    /// Constants of the rule.
    private enum Rule {
        /// The longest sample period, s: at 40 Hz and below, a tap falls between two samples.
        static let longestInterval = 0.025
        /// Seconds until the averages are valid.
        static let settling = 0.3
        /// A candidate begins at this share of the threshold and at this multiple of the noise.
        static let onsetShare = 0.26
        static let onsetNoise = 4.0
        /// Seconds from the onset: in which the peak lies, in which the strike lies, and at which the candidate is
        /// judged.
        static let peakWindow = 0.04
        static let strike = 0.06
        static let decision = 0.12
        /// A blow stronger by this factor after the peak window is a new candidate, and the first one was only its
        /// forerunner.
        static let forerunner = 1.5
        /// The largest remainder after the strike, relative to the peak: more means ringing like a machine, or a
        /// movement.
        static let rest = 0.33
        /// The lowest mean frequency of the strike, Hz: hands and steps are slower. `steepest` limits it close to the
        /// sample rate, where it means little: the squared steps of white noise are twice its squares.
        static let frequency = 14.0
        static let steepest = 0.5
        /// Limit for the mean acceleration over the whole candidate, as a multiple of the required stillness plus a
        /// share of the strength: more has set the body in motion, or stopped it.
        static let drift = 5.0
        static let driftShare = 0.1
        /// A strong blow may follow more movement: this share of its strength is added.
        static let swayShare = 0.015
        /// Limit for the RMS of the angular rate before it, rad/s per m/s² of required stillness.
        static let rotation = 1.4
        /// Limits for a body at rest: RMS of the slow part, m/s², and of the angular rate, rad/s. Hands and bodies sway
        /// by 0.05 m/s² and more; on a table, only the sensor's noise is left.
        static let restSway = 0.04
        static let restRotation = 0.1
        /// Seconds after a movement, such as steps or handling, in which nothing counts as a tap.
        static let calming = 0.5
        /// Seconds after a tap in which a blow of less than this share of its peak is its echo.
        static let echoTime = 0.25
        static let echoShare = 0.3
    }

    /// Resets the detector.
    mutating func reset() {
        self = TapDetector()
    }

    /// Processes a sample; returns whether the candidate has just been judged.
    ///
    /// It does not return the blow itself: an optional of that size would be copied with every sample.
    mutating func update(_ sample: GestureSample, threshold: Double, stillness: Double) -> Bool {
        let interval = sample.timestamp.seconds(since: last)
        guard hasStarted, interval <= Rule.longestInterval else {
            begin(at: sample)
            return false
        }
        guard interval > 0 else { return false }
        last = sample.timestamp
        coefficients.prepare(interval)

        let meanBefore = mean
        let fast = sample.acceleration - mean
        let square = fast.lengthSquared
        mean += fast * coefficients.mean
        let slow = mean - gravity
        gravity += slow * coefficients.gravity

        if !hasCandidate {
            let onset = Rule.onsetShare * threshold
            let noise = Rule.onsetNoise * Rule.onsetNoise * recent.noise
            if square >= onset * onset, square >= noise,
                sample.timestamp.seconds(since: startedAt) >= Rule.settling
            {
                hasCandidate = true
                before = recent
                base = meanBefore
                strike(at: sample.timestamp)
            }
        }
        let slowSquare = slow.lengthSquared
        recent.noise += (square - recent.noise) * coefficients.noise
        recent.sway += (slowSquare - recent.sway) * coefficients.sway
        recent.slowSway += (slowSquare - recent.slowSway) * coefficients.slowSway
        recent.rotation += (sample.rotationRate.lengthSquared - recent.rotation) * coefficients.rotation

        let previous = lastAcceleration
        lastAcceleration = sample.acceleration
        guard hasCandidate else { return false }
        follow(sample, fast: square.squareRoot(), step: sample.acceleration - previous, interval: interval)
        guard sample.timestamp.seconds(since: candidate.onset) >= Rule.decision - 1e-9 else { return false }
        hasCandidate = false
        judge(at: sample.timestamp, stillness: stillness)
        return true
    }

    private mutating func begin(at sample: GestureSample) {
        hasStarted = true
        hasCandidate = false
        startedAt = sample.timestamp
        last = sample.timestamp
        lastAcceleration = sample.acceleration
        mean = sample.acceleration
        gravity = sample.acceleration
        recent = RecentMotion()
    }
}

// MARK: - The candidate

extension TapDetector {
    private mutating func strike(at onset: Timestamp) {
        candidate = Blow()
        candidate.onset = onset
        sums = Sums()
        isPushing = true
    }

    /// Processes a sample of the candidate.
    private mutating func follow(_ sample: GestureSample, fast: Double, step: Vector3, interval: Double) {
        var age = sample.timestamp.seconds(since: candidate.onset)
        if age > Rule.peakWindow + 1e-9, fast > Rule.forerunner * candidate.peak {
            strike(at: sample.timestamp)
            age = 0
        }
        let against = sample.acceleration - base
        let square = against.lengthSquared
        if age <= Rule.peakWindow + 1e-9 {
            candidate.peak = max(candidate.peak, fast)
            candidate.strength = max(candidate.strength, square.squareRoot())
        }
        sums.samples += 1
        if age <= Rule.strike + 1e-9 {
            sums.steps += step.lengthSquared
            sums.squares += square
        }
        if age >= Rule.strike - 1e-9 {
            sums.rest += fast
            sums.restSamples += 1
        }
        sums.velocity += against * interval
        guard isPushing else { return }
        // The first push lasts until the acceleration reverses; what follows is the reaction of the table or the hand.
        if against.dot(candidate.push) < 0 {
            isPushing = false
        } else if square > 0.09 * candidate.strength * candidate.strength {
            candidate.push += against
        }
    }

    /// Judges the candidate and updates the state for the next one.
    private mutating func judge(at now: Timestamp, stillness: Double) {
        candidate.noise = before.noise.squareRoot()
        candidate.isFromRest =
            max(before.sway, before.slowSway) <= Rule.restSway * Rule.restSway
            && before.rotation <= Rule.restRotation * Rule.restRotation
        candidate.flaw = flaw(at: now, stillness: stillness)
        let isTapLike = candidate.flaw?.isTapLike ?? true
        if isTapLike {
            // A tap must not disturb the stillness that the next one needs.
            recent = before
        } else if candidate.flaw?.reason != .noQuietAfter {
            latestMovement = now
        }
        if candidate.flaw == nil {
            latestTap = candidate.onset
            latestTapPeak = candidate.peak
        }
    }

    private func flaw(at now: Timestamp, stillness: Double) -> Flaw? {
        let isCalm = isLonger(Rule.calming, from: latestMovement, to: candidate.onset)
        let sway = max(before.sway, before.slowSway).squareRoot()
        let swayLimit = stillness + Rule.swayShare * candidate.strength
        if sway > swayLimit {
            return Flaw(reason: .noQuietBefore, value: sway, limit: swayLimit, isFirst: isCalm)
        }
        let rotationLimit = Rule.rotation * stillness
        if before.rotation > rotationLimit * rotationLimit {
            return Flaw(
                reason: .noQuietBefore, value: before.rotation.squareRoot(), limit: rotationLimit, unit: .rate,
                isFirst: isCalm)
        }
        let rest = sums.rest / max(1, sums.restSamples)
        if rest > Rule.rest * candidate.peak {
            return Flaw(reason: .noQuietAfter, value: rest, limit: Rule.rest * candidate.peak, isFirst: isCalm)
        }
        // The angle per sample at the mean frequency is the square root of steps over squares.
        let seconds = now.seconds(since: candidate.onset)
        let period = sums.samples > 1 ? seconds / (sums.samples - 1) : coefficients.interval
        let angle = 2 * .pi * Rule.frequency * period
        let least = min(Rule.steepest, angle * angle)
        if sums.steps < least * sums.squares {
            let half = .pi * period / (sums.steps / sums.squares).squareRoot()
            return Flaw(reason: .tooSlow, value: half, limit: .pi * period / least.squareRoot(), isFirst: isCalm)
        }
        let drift = sums.velocity.length / Rule.decision
        let driftLimit = Rule.drift * stillness + Rule.driftShare * candidate.strength
        if drift > driftLimit {
            return Flaw(reason: .setInMotion, value: drift, limit: driftLimit, isFirst: isCalm)
        }
        if !isLonger(Rule.echoTime, from: latestTap, to: candidate.onset),
            candidate.peak < Rule.echoShare * latestTapPeak
        {
            return Flaw(
                reason: .tooWeak, value: candidate.peak, limit: Rule.echoShare * latestTapPeak, isFirst: false,
                isTapLike: true)
        }
        return isCalm ? nil : Flaw(reason: .noQuietBefore, isFirst: false, isTapLike: true)
    }

    private func isLonger(_ seconds: Double, from earlier: Timestamp, to later: Timestamp) -> Bool {
        earlier.nanoseconds == .min || later.seconds(since: earlier) > seconds
    }
}

/// How taps are recognised.
public struct TapSettings: Equatable, Sendable, BitwiseCopyable {
    /// Common settings; each step of sensitivity divides `threshold` by 1.25. The default cooldown is 0.1 s.
    public var common = RecognizerSettings(cooldown: 0.1)

    /// The counts to recognise: single, double, triple taps. Default: only single taps, so that every tap is reported
    /// at once.
    ///
    /// A tap waits only for counts in this set. With single and double, a single tap is reported when `window` has
    /// passed without another one, and never before its double tap. With double alone, the second tap is reported at
    /// once and single taps never. A count outside the set is not reported as a smaller one: two taps are not one tap.
    public var counts: TapCounts = .single

    /// The longest time between two taps of a double or triple tap, s. Default 0.4: people need 0.15 s to 0.4 s.
    /// Smaller reports a single tap sooner, but takes slow double taps for two single ones; larger gives people more
    /// time. It has no effect if only single taps are recognised.
    public var window = 0.4

    /// Peak acceleration of the weakest tap at sensitivity 5 on a board that is held or worn, m/s², after everything
    /// slower than a tap is removed. Default 1.25. Half of it is enough on a board at rest: a fingertip on a board that
    /// lies on a desk. The sensor's own noise may require more. Smaller recognises softer taps, but also knocks on the
    /// table and steps; larger requires a knuckle.
    ///
    /// A blow of less than 0.26 of it is never a tap, at any sensitivity.
    public var threshold = 1.25

    /// Largest RMS of the body's movement before a tap, m/s². Default 0.5: allows a person who stands and holds the
    /// board, but not one who walks. Smaller requires the board to lie; larger recognises taps in motion, but also
    /// takes footsteps for taps.
    public var stillness = 0.5

    /// Creates the default settings.
    public init() {}
}

/// A set of tap counts.
public struct TapCounts: OptionSet, Sendable, BitwiseCopyable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    public static let single = TapCounts(rawValue: 1 << 0)
    public static let double = TapCounts(rawValue: 1 << 1)
    public static let triple = TapCounts(rawValue: 1 << 2)

    /// Single, double and triple.
    public static let all = TapCounts(rawValue: 0b111)

    /// Whether the count is a member.
    public func contains(count: Int) -> Bool {
        count >= 1 && count <= 3 && rawValue & (1 << UInt8(count - 1)) != 0
    }

    /// The largest member; 0 if the set is empty.
    var highest: Int { rawValue & 4 != 0 ? 3 : rawValue & 2 != 0 ? 2 : rawValue & 1 != 0 ? 1 : 0 }
}
