internal import CMotionMath

/// Recognises a machine that runs, and that it is done.
///
/// A window of one to two seconds counts as vibration where it vibrates with enough strength, all the time rather than in
/// blows, while what is slow stays as it is: hands and feet move that too, a machine moves what is stuck to it hardly at
/// all. Enough of such windows, pauses counted against them, are a machine; a quiet time that is longer than
/// its pauses is its end. From one to the other it runs, pauses included: `isRunning` says so whether or not the
/// gesture may be told.
struct VibrationRecognizer: ~Copyable {
    /// What tells machines from people.
    private enum Rule {
        /// The share of the threshold that is enough for a machine that runs already.
        static let hysteresis = 0.7
        /// RMS of slow movement, m/s², that is allowed, and how much more of it per level: a drum rocks its housing.
        static let slow = 0.3
        static let slowPerLevel = 0.25
        /// Change of the mean acceleration from window to window, m/s², that is allowed, and how much more per level.
        static let shift = 0.12
        static let shiftPerLevel = 0.05
        /// The share of a window that has to vibrate for it to count: that is not so where a door is slammed.
        static let lasting = 0.5
        /// Seconds that count against a machine per second of pause or blows, and per second in somebody's hand.
        static let pause = 0.25
        static let handled = 3.0
        /// Seconds of vibration that are worth being called too short.
        static let notable = 2.0
        /// Each step of sensitivity divides the threshold by this.
        static let sensitivityStep = 1.25
    }

    /// How machines are recognised; see `apply(_:)`.
    private(set) var settings: VibrationSettings

    /// Whether a machine runs: from `began` to `ended`, pauses included.
    private(set) var isRunning = false

    /// RMS of the vibration in the last window, over all axes, m/s²; 0 before the first.
    private(set) var level = 0.0

    private var window = VibrationWindow()
    private var threshold: Double
    /// Seconds since the start.
    private var time = 0.0
    /// Seconds of vibration less what speaks against it, and the most that there were of it.
    private var evidence = 0.0
    private var mostEvidence = 0.0
    /// When it began, and until when it vibrated.
    private var onset = 0.0
    private var lastVibration = 0.0
    /// Since the onset: the sum of squared levels times seconds, and the seconds that it vibrated.
    private var energy = 0.0
    private var vibrated = 0.0
    /// Seconds that it has almost been strong enough, and that it has been strong in somebody's hand.
    private var weakFor = 0.0
    private var handledFor = 0.0
    /// Whether `began` has to be proposed for a machine that runs already.
    private var isUntold = false

    /// Makes a recognizer that has seen nothing.
    init(settings: VibrationSettings) {
        self.settings = settings
        threshold = VibrationRecognizer.threshold(of: settings)
    }

    private static func threshold(of settings: VibrationSettings) -> Double {
        settings.threshold / pow(Rule.sensitivityStep, Double(settings.common.sensitivity - 5))
    }

    /// Takes over new settings. A machine that runs goes on running; where the gesture has been switched on, it is told.
    mutating func apply(_ new: VibrationSettings) {
        if new.common.isEnabled, !settings.common.isEnabled { isUntold = isRunning }
        settings = new
        threshold = VibrationRecognizer.threshold(of: new)
    }

    /// Forgets everything. A machine that ran does so no more: whoever forgets tells so.
    mutating func reset() {
        window.reset()
        isRunning = false
        level = 0
        isUntold = false
        evidence = 0
        mostEvidence = 0
        weakFor = 0
        handledFor = 0
    }

    /// Takes a sample and tells what it brings about.
    // Almost every sample is only stored: the call and an empty event would cost more than that.
    @inline(__always)
    mutating func update(_ sample: GestureSample, _ misses: inout NearMisses) -> GestureEvent? {
        time += sample.interval
        guard window.add(sample.acceleration, interval: sample.interval) else { return nil }
        return read(sample, &misses)
    }

    /// Judges the window that is complete.
    private mutating func read(_ sample: GestureSample, _ misses: inout NearMisses) -> GestureEvent? {
        let limit = isRunning ? Rule.hysteresis * threshold : threshold
        let reading = window.read(limit: limit, lowest: settings.minimumFrequency)
        level = reading.level
        return isRunning
            ? follow(reading, limit: limit, at: sample.timestamp)
            : judge(reading, at: sample.timestamp, &misses)
    }
}

extension VibrationRecognizer {
    /// Nothing runs yet: does the window speak for a machine?
    private mutating func judge(
        _ reading: VibrationWindow.Reading, at timestamp: Timestamp, _ misses: inout NearMisses
    ) -> GestureEvent? {
        let isStill = isStill(reading)
        explain(reading, isStill: isStill, at: timestamp, &misses)
        if reading.level >= threshold, reading.share >= Rule.lasting, isStill {
            if evidence <= 0 {
                onset = time - reading.seconds
                energy = 0
                vibrated = 0
                window.forgetKept()
            }
            count(reading)
            evidence += reading.seconds * reading.share
        } else {
            evidence -= reading.seconds * (isStill ? Rule.pause : Rule.handled)
        }
        mostEvidence = max(mostEvidence, evidence)
        if evidence <= 0 {
            if settings.common.isEnabled, mostEvidence >= min(Rule.notable, 0.5 * settings.runTime) {
                misses.add(
                    NearMiss(.vibration, .tooShort, at: timestamp, value: mostEvidence, limit: settings.runTime))
            }
            evidence = 0
            mostEvidence = 0
        }
        guard evidence > 0, evidence >= settings.runTime else { return nil }
        isRunning = true
        lastVibration = time
        evidence = 0
        mostEvidence = 0
        return event(.began, at: timestamp, until: time)
    }

    /// A machine runs: does it still?
    private mutating func follow(
        _ reading: VibrationWindow.Reading, limit: Double, at timestamp: Timestamp
    ) -> GestureEvent? {
        let vibrates = reading.level >= limit && isStill(reading)
        if vibrates, reading.share >= Rule.lasting {
            lastVibration = time
            count(reading)
        }
        // A window that begins to vibrate is not one to end with: the next tells.
        if !vibrates, time - lastVibration >= settings.doneAfter {
            isRunning = false
            isUntold = false
            return event(.ended, at: timestamp, until: lastVibration)
        }
        guard isUntold else { return nil }
        isUntold = false
        return event(.began, at: timestamp, until: time)
    }

    private mutating func count(_ reading: VibrationWindow.Reading) {
        energy += reading.level * reading.level * reading.seconds
        vibrated += reading.seconds * reading.share
        window.keep()
    }

    /// Whether it is moved no more than a machine moves it.
    private func isStill(_ reading: VibrationWindow.Reading) -> Bool {
        reading.slow <= VibrationRecognizer.slowLimit(at: reading.level)
            && reading.shift <= VibrationRecognizer.shiftLimit(at: reading.level)
    }

    private static func slowLimit(at level: Double) -> Double { Rule.slow + Rule.slowPerLevel * level }

    private static func shiftLimit(at level: Double) -> Double { Rule.shift + Rule.shiftPerLevel * level }

    /// Notes, once for each time, why something that vibrates is no machine.
    private mutating func explain(
        _ reading: VibrationWindow.Reading, isStill: Bool, at timestamp: Timestamp, _ misses: inout NearMisses
    ) {
        guard settings.common.isEnabled else { return }
        let isStrong = reading.level >= threshold
        let wasWeakFor = weakFor
        let wasHandledFor = handledFor
        weakFor = reading.level > 0 && !isStrong ? weakFor + reading.seconds : 0
        handledFor = isStrong && !isStill ? handledFor + reading.seconds : isStrong || isStill ? 0 : handledFor
        if weakFor >= settings.runTime, wasWeakFor < settings.runTime {
            misses.add(NearMiss(.vibration, .tooWeak, at: timestamp, value: reading.level, limit: threshold))
        }
        if handledFor >= settings.runTime, wasHandledFor < settings.runTime {
            let slow = VibrationRecognizer.slowLimit(at: reading.level)
            let isSlow = reading.slow > slow
            misses.add(
                NearMiss(
                    .vibration, .notStill, at: timestamp, value: isSlow ? reading.slow : reading.shift,
                    limit: isSlow ? slow : VibrationRecognizer.shiftLimit(at: reading.level)))
        }
    }

    private func event(_ phase: GesturePhase, at timestamp: Timestamp, until end: Double) -> GestureEvent {
        var event = GestureEvent(.vibration, phase, at: timestamp)
        event.level = vibrated > 0 ? (energy / vibrated).squareRoot() : 0
        event.frequency = window.frequency(lowest: settings.minimumFrequency)
        event.duration = end - onset
        return event
    }
}
