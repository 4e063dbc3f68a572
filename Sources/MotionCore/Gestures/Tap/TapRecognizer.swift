internal import CMotionMath

/// Recognises taps, and counts those in quick succession.
///
/// A tap is reported as soon as its count is final: at once if no higher count is configured, otherwise when the window
/// for the next tap has passed. After the highest count was reported, further taps at the same pace belong to it and
/// are ignored until there is a pause, so that a fourth tap is not reported as another single one.
struct TapRecognizer: Sendable, BitwiseCopyable {
    /// The settings; change them with `apply(_:)`.
    private(set) var settings: TapSettings

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

    /// Applies new settings, also to a sequence in progress.
    mutating func apply(_ settings: TapSettings) {
        self.settings = settings
    }

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
        let gain = pow(Rule.sensitivityStep, Double(settings.common.sensitivity - 5))
        let ratio = max(Rule.leastNoise, Rule.noise / gain)
        let usual = settings.threshold / gain
        if let flaw = blow.flaw {
            // An echo belongs to a tap already reported, and one movement may cause many blows.
            if blow.peak >= max(usual, ratio * blow.noise), flaw.isFirst {
                misses.add(
                    NearMiss(.tap, flaw.reason, at: now, value: flaw.value, limit: flaw.limit, unit: flaw.unit))
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
            misses.add(NearMiss(.tap, .tooSoon, at: now, value: pause, limit: settings.window))
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
                misses.add(NearMiss(.tap, .tooFewTaps, at: now, value: Double(taps), limit: Double(highest)))
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
