internal import CMotionMath

/// Recognises taps, and counts those that follow one another quickly.
///
/// A tap is told as soon as nothing more can come of it: at once where no higher count is wanted, else when the window
/// for the next has passed. Once the highest count has been told, further taps at the same pace belong to it and are
/// left out until there is a pause, so that a fourth is not told as another single.
struct TapRecognizer: Sendable, BitwiseCopyable {
    /// How taps are recognised; see `apply(_:)`.
    private(set) var settings: TapSettings

    private var detector = TapDetector()
    /// The taps of the present sequence, and when the latest began.
    private var count = 0
    private var latest = Timestamp(nanoseconds: 0)
    /// The strongest of them.
    private var strongest = TapDetector.Blow()
    private var isTold = false

    /// Constants of the rule.
    private enum Rule {
        /// The peak needs so many times the noise before it, at sensitivity 5 and at the most.
        static let noise = 5.0
        static let leastNoise = 4.0
        /// Each step of sensitivity divides the needed peak by this.
        static let sensitivityStep = 1.25
        /// A blow that only lacks strength is a near miss from this share of it.
        static let nearly = 0.5
    }

    /// Makes a recognizer that has seen nothing.
    init(settings: TapSettings) {
        self.settings = settings
    }

    /// Takes a sample; returns whether taps have been heard that are to be told now or later, with `conclude`.
    ///
    /// Two steps, since a sample brings about an event so rarely: one would be copied around with every sample.
    mutating func listen(_ sample: GestureSample, _ misses: inout NearMisses) -> Bool {
        if detector.update(sample, threshold: settings.threshold, stillness: settings.stillness),
            isTap(detector.candidate, at: sample.timestamp, &misses)
        {
            take(detector.candidate, at: sample.timestamp, &misses)
        }
        return count > 0
    }

    /// Whether a tap may still come of the blows so far.
    var isUndecided: Bool { count > 0 && !isTold || detector.hasCandidate }

    /// Takes over new settings; a sequence under way goes on under them.
    mutating func apply(_ settings: TapSettings) {
        self.settings = settings
    }

    /// Forgets everything.
    mutating func reset() {
        detector.reset()
        count = 0
        isTold = false
    }
}

extension TapRecognizer {
    /// Whether a blow is a tap and strong enough.
    private func isTap(_ blow: TapDetector.Blow, at now: Timestamp, _ misses: inout NearMisses) -> Bool {
        let gain = pow(Rule.sensitivityStep, Double(settings.common.sensitivity - 5))
        let needed = max(settings.threshold / gain, max(Rule.leastNoise, Rule.noise / gain) * blow.noise)
        if let flaw = blow.flaw {
            // An echo is part of a tap that was told, and one movement may knock many times.
            if blow.peak >= needed, flaw.isFirst {
                misses.add(NearMiss(.tap, flaw.reason, at: now, value: flaw.value, limit: flaw.limit))
            }
            return false
        }
        if blow.peak >= needed { return true }
        if blow.peak >= Rule.nearly * needed {
            misses.add(NearMiss(.tap, .tooWeak, at: now, value: blow.peak, limit: needed))
        }
        return false
    }

    /// Adds a tap to the sequence, or begins one with it.
    private mutating func take(_ blow: TapDetector.Blow, at now: Timestamp, _ misses: inout NearMisses) {
        let pause = count > 0 ? blow.onset.seconds(since: latest) : .infinity
        latest = blow.onset
        guard pause <= settings.window else {
            count = 1
            isTold = false
            strongest = blow
            return
        }
        if isTold {
            misses.add(NearMiss(.tap, .tooSoon, at: now, value: pause, limit: settings.window))
            return
        }
        count += 1
        if blow.peak > strongest.peak { strongest = blow }
    }

    /// Tells the sequence where nothing more can come of it.
    mutating func conclude(at now: Timestamp, _ misses: inout NearMisses) -> GestureEvent? {
        let isOver =
            now.seconds(since: latest) > settings.window
            && !(detector.hasCandidate && detector.candidate.onset.seconds(since: latest) <= settings.window)
        if isTold {
            if isOver { count = 0 }
            return nil
        }
        let highest = settings.counts.highest
        guard count >= highest || isOver else { return nil }
        let told = count
        // After the last of several, a pause is needed; single taps alone need none.
        isTold = highest > 1 && !isOver
        if !isTold { count = 0 }
        guard settings.counts.contains(count: told) else {
            if highest > 0 {
                misses.add(NearMiss(.tap, .tooFewTaps, at: now, value: Double(told), limit: Double(highest)))
            }
            return nil
        }
        var event = GestureEvent(.tap, .recognized, at: now)
        event.count = told
        event.side = BodySide(nearestTo: -strongest.push)
        event.strength = strongest.strength
        return event
    }
}
