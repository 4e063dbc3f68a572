internal import CMotionMath

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
