/// Recognises that a machine is running, and that it is done.
///
/// A window of one to two seconds counts as vibration if it vibrates strongly enough and throughout, rather than in
/// blows, while slow movement stays small: hands and feet cause slow movement too, but a machine hardly does. Enough of
/// such windows, with pauses counted against them, are a running machine. A quiet time longer than its pauses is its
/// end. In between the machine is running, pauses included: `isRunning` is true whether or not the gesture may be
/// reported.
///
/// A machine that is found running, because it ran before the first sample or before the gesture was turned on, has no
/// beginning. A machine that runs on after missing samples is the same run.
struct VibrationRecognizer: ~Copyable {
    /// Distinguishes machines from people.
    private enum Rule {
        /// The share of the threshold that is enough for a machine already running.
        static let hysteresis = 0.7
        /// Allowed RMS of slow movement, m/s², and how much more is allowed per level: a drum rocks its housing.
        static let slow = 0.3
        static let slowPerLevel = 0.25
        /// Allowed change of the mean acceleration from window to window, m/s², and how much more is allowed per level.
        static let shift = 0.12
        static let shiftPerLevel = 0.05
        /// The share of a window that must vibrate; a slammed door does not reach it.
        static let lasting = 0.5
        /// Seconds that count against a machine per second of pause or blows, and per second in a person's hand.
        static let pause = 0.25
        static let handled = 3.0
        /// A machine that vibrates within this many seconds of the first sample was found running.
        static let finding = 1.0
        /// Seconds of vibration that make a near miss.
        static let notable = 2.0
        /// Each step of sensitivity divides the threshold by this.
        static let sensitivityStep = 1.25
    }

    /// The settings. A running machine stays running if they change.
    var settings: VibrationSettings {
        didSet {
            if settings.common.isEnabled, !oldValue.common.isEnabled { beginning = .found }
            threshold = VibrationRecognizer.threshold(of: settings)
        }
    }

    /// Whether a machine is running: from `began` to `ended`, pauses included.
    private(set) var isRunning = false

    /// RMS of the vibration in the last window, over all axes, m/s²; 0 before the first.
    private(set) var level = 0.0

    private var window = VibrationWindow()
    private var threshold: Double
    /// Seconds since the start.
    private var time = 0.0
    /// Seconds of vibration minus the evidence against it, and the largest value so far.
    private var evidence = 0.0
    private var mostEvidence = 0.0
    /// When the vibration began, and when it was last seen.
    private var onset = 0.0
    private var lastVibration = 0.0
    /// Since the onset: the sum of squared levels times seconds, and the seconds of vibration.
    private var energy = 0.0
    private var vibrated = 0.0
    /// Seconds for which the vibration was almost strong enough, and for which it was strong but in a person's hand.
    private var weakFor = 0.0
    private var handledFor = 0.0
    /// The time of the first sample since samples were missing; `nil` until a window is complete.
    private var firstSample: Double?
    /// How the running machine began, and whether it has not vibrated since samples were missing.
    private var beginning = GestureEvent.Beginning.reported
    private var isUnconfirmed = false

    init(settings: VibrationSettings) {
        self.settings = settings
        threshold = VibrationRecognizer.threshold(of: settings)
    }

    private static func threshold(of settings: VibrationSettings) -> Double {
        settings.threshold / settings.common.gain(step: Rule.sensitivityStep)
    }

    /// Call when samples are missing. A running machine stays running until the next ones show whether it does.
    mutating func interrupt() {
        window.reset()
        level = 0
        firstSample = nil
        isUnconfirmed = isRunning
        evidence = 0
        mostEvidence = 0
        weakFor = 0
        handledFor = 0
    }

    /// Takes up the run of a machine that began so many seconds ago, before the first sample.
    mutating func resume(after seconds: Double) {
        isRunning = true
        isUnconfirmed = true
        onset = time - seconds
        beginning = .reportedEarlier
    }

    /// Passes over the seconds of missing samples.
    mutating func skip(_ interval: Double) { time += interval }

    /// Processes a sample; returns the resulting event, if any.
    // Inlined because almost every sample is only stored: the call and an empty event would cost more than that.
    @inline(__always)
    mutating func update(_ sample: GestureSample, _ misses: inout NearMisses) -> GestureEvent? {
        time += sample.interval
        guard window.add(sample.acceleration, interval: sample.interval) else { return nil }
        return read(sample, &misses)
    }

    /// Evaluates a complete window.
    private mutating func read(_ sample: GestureSample, _ misses: inout NearMisses) -> GestureEvent? {
        let limit = isRunning ? Rule.hysteresis * threshold : threshold
        let reading = window.read(limit: limit, lowest: settings.minimumFrequency)
        level = reading.level
        if firstSample == nil {
            firstSample = time - reading.seconds
            lastVibration = time
        }
        return isRunning
            ? follow(reading, limit: limit, at: sample.timestamp)
            : judge(reading, at: sample.timestamp, &misses)
    }
}

extension VibrationRecognizer {
    /// No machine is running yet: weighs the window as evidence for or against one.
    private mutating func judge(
        _ reading: VibrationWindow.Reading, at timestamp: Timestamp, _ misses: inout NearMisses
    ) -> GestureEvent? {
        let isStill = isStill(reading)
        noteMiss(reading, isStill: isStill, at: timestamp, &misses)
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
                misses.add(.vibration, .tooShort, at: timestamp, value: mostEvidence, limit: settings.runTime)
            }
            evidence = 0
            mostEvidence = 0
        }
        guard evidence > 0, evidence >= settings.runTime else { return nil }
        isRunning = true
        lastVibration = time
        evidence = 0
        mostEvidence = 0
        beginning = onset - (firstSample ?? 0) <= Rule.finding ? .found : .reported
        return beginning == .found ? nil : event(.began, at: timestamp, until: time)
    }

    /// A machine is running: checks whether it still is.
    private mutating func follow(
        _ reading: VibrationWindow.Reading, limit: Double, at timestamp: Timestamp
    ) -> GestureEvent? {
        let vibrates = reading.level >= limit && isStill(reading)
        if vibrates, reading.share >= Rule.lasting {
            lastVibration = time
            isUnconfirmed = false
            count(reading)
        }
        // A window in which vibration resumes must not end it; the next one decides.
        guard !vibrates, time - lastVibration >= settings.doneAfter else { return nil }
        isRunning = false
        var last = event(isUnconfirmed ? .cancelled : .ended, at: timestamp, until: lastVibration)
        last.beginning = beginning
        if isUnconfirmed { last.reason = .restarted }
        return last
    }

    private mutating func count(_ reading: VibrationWindow.Reading) {
        energy += reading.level * reading.level * reading.seconds
        vibrated += reading.seconds * reading.share
        window.keep()
    }

    /// Whether the body moves no more than a machine would move it.
    private func isStill(_ reading: VibrationWindow.Reading) -> Bool {
        reading.slow <= VibrationRecognizer.slowLimit(at: reading.level)
            && reading.shift <= VibrationRecognizer.shiftLimit(at: reading.level)
    }

    private static func slowLimit(at level: Double) -> Double { Rule.slow + Rule.slowPerLevel * level }

    private static func shiftLimit(at level: Double) -> Double { Rule.shift + Rule.shiftPerLevel * level }

    /// Records a near miss, once for each occasion, for a vibration that is not a machine.
    private mutating func noteMiss(
        _ reading: VibrationWindow.Reading, isStill: Bool, at timestamp: Timestamp, _ misses: inout NearMisses
    ) {
        guard settings.common.isEnabled else { return }
        let isStrong = reading.level >= threshold
        let wasWeakFor = weakFor
        let wasHandledFor = handledFor
        weakFor = reading.level > 0 && !isStrong ? weakFor + reading.seconds : 0
        handledFor = isStrong && !isStill ? handledFor + reading.seconds : isStrong || isStill ? 0 : handledFor
        if weakFor >= settings.runTime, wasWeakFor < settings.runTime {
            misses.add(.vibration, .tooWeak, at: timestamp, value: reading.level, limit: threshold)
        }
        if handledFor >= settings.runTime, wasHandledFor < settings.runTime {
            let slow = VibrationRecognizer.slowLimit(at: reading.level)
            let isSlow = reading.slow > slow
            misses.add(
                .vibration, .notStill, at: timestamp, value: isSlow ? reading.slow : reading.shift,
                limit: isSlow ? slow : VibrationRecognizer.shiftLimit(at: reading.level))
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

/// How a running machine is recognised.
public struct VibrationSettings: Equatable, Sendable, BitwiseCopyable {
    /// Common settings; each step of sensitivity divides `threshold` by 1.25. The default cooldown is 0 s.
    public var common = RecognizerSettings(cooldown: 0)

    /// RMS of the vibration from which a machine counts as running, over all three axes and without the sensor's own
    /// noise, m/s²; once it runs, 0.7 times this is enough. Default 0.12: a slowly turning drum gives the housing 0.15
    /// to 0.25, spinning 0.4 and more, and an MPU-6050's noise stays below 0.11. Smaller finds quieter machines, but
    /// also footsteps and the machine beside it; larger misses slow phases of a cycle.
    public var threshold = 0.12

    /// Time of vibration until `began`, s; during pauses it counts backwards at a quarter of the speed. Default 10.
    /// Smaller reports a machine sooner, but takes longer knocks, a ringing phone or work on the table for one; larger
    /// misses drums that turn for a few seconds between long pauses, until they spin.
    public var runTime = 10.0

    /// Time without vibration until `ended`, s: the longest pause within one cycle. Default 180. A washing machine
    /// stops for seconds when it reverses its drum, and for up to two minutes when it lets water in or soaks. Smaller
    /// reports sooner that a machine is done, but splits a cycle with longer pauses in two; larger does the opposite. A
    /// fan or a pump needs no more than 10.
    public var doneAfter = 180.0

    /// The lowest frequency of vibration, Hz; slower movement does not count, however strong. Default 2.5. Smaller
    /// includes slow rocking; larger includes only faster machines: 8 excludes people altogether, and at 20 samples a
    /// second almost everything, since half the sample rate is the highest frequency there is.
    public var minimumFrequency = 2.5

    /// Creates the default settings.
    public init() {}
}
