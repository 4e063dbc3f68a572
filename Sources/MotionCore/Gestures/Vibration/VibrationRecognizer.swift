internal import CMotionMath

/// Recognises that a machine is running, and that it is done.
///
/// There are two rules for whether a machine vibrates. By default `MachineJudge` compares frames of ten seconds with what
/// the board has learnt of its machine. With a threshold of the user's, a window of one to two seconds counts if it
/// vibrates strongly enough and throughout, rather than in blows, while slow movement stays small: hands and feet cause
/// slow movement too, but a machine hardly does.
///
/// Enough of such windows or frames, with pauses counted against them, are a running machine. A quiet time longer than
/// its pauses is its end. In between the machine is running, pauses included: `isRunning` is true whether or not the
/// gesture may be reported.
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
        /// Seconds that count against a machine per second of pause or blows, of a frame without it, and per second in a
        /// person's hand.
        static let pause = 0.25
        static let framePause = 0.5
        static let handled = 3.0
        /// A machine that vibrates within this many seconds of the first sample was found running. So was one that began
        /// before the board knew what off is, unless it has a steady line.
        static let finding = 1.0
        static let known: Float = 180
        /// Seconds of vibration that make a near miss.
        static let notable = 2.0
        /// Each step of sensitivity divides the threshold by this.
        static let sensitivityStep = 1.25
        /// With the learnt rule: the least evidence for a machine, s, and the frames of which one more than half must go on.
        static let evidence = 25.0
        static let line = 1.5
        static let remembered: UInt8 = 0b111
        /// A machine that has been quiet for this long pauses, s.
        static let paused = 30.0
        /// The seconds for which a frame counts about which somebody says that the machine runs.
        static let confirmed = 120.0
        /// The cosine of the angle by which a board may turn and keep what it has learnt of its octaves: 2°.
        static let sameMounting: Float = 0.99939
    }

    /// The settings. A running machine stays running if they change.
    var settings: VibrationSettings {
        didSet {
            if settings.common.isEnabled, !oldValue.common.isEnabled { beginning = .found }
            threshold = VibrationRecognizer.threshold(of: settings)
            if settings.isLearned != oldValue.isLearned { judge.reset() }
        }
    }

    /// Whether a machine is running: from `began` to `ended`, pauses included.
    private(set) var isRunning = false

    /// RMS of the vibration in the last window, over all axes, m/s²; 0 before the first, and if nothing vibrates.
    private(set) var level = 0.0

    /// What is learnt about the machine.
    var memory = MachineMemory()

    private var window = VibrationWindow()
    private var judge = MachineJudge()
    private var health = MachineHealth()
    private var course = MachineCourse()
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
    /// Which of the last frames showed that the machine goes on.
    private var goesOn: UInt8 = 0
    private var lastFrame = MachineJudge.Frame()
    private var lastReading = VibrationWindow.Reading()
    /// Seconds for which the machine was known to be off when the vibration began.
    private var offBefore: Float = 0
    private var phase = MachinePhase.off
    private var measurement: MachineMeasurement?
    private var report: MachineReport?

    init(settings: VibrationSettings) {
        self.settings = settings
        threshold = VibrationRecognizer.threshold(of: settings)
    }

    private static func threshold(of settings: VibrationSettings) -> Double {
        (settings.threshold ?? VibrationSettings.usualThreshold)
            / settings.common.gain(step: Rule.sensitivityStep)
    }

    /// The sensor's noise, m/s²/√Hz per axis; `nil` if it is not known.
    var noiseDensity: Double? {
        get { judge.noiseDensity }
        set { judge.noiseDensity = newValue }
    }

    /// Seconds without vibration until a running machine is done.
    private var wait: Double {
        guard settings.isLearned else { return settings.doneAfter ?? VibrationSettings.usualDoneAfter }
        return settings.profile.wait(after: course, memory.runs)
    }

    /// Call when samples are missing. A running machine stays running until the next ones show whether it does.
    mutating func interrupt() {
        window.reset()
        judge.reset()
        health.interrupt()
        goesOn = 0
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
        course = MachineCourse()
    }

    /// The present deviation from earlier runs.
    var deviation: MachineDeviation? { health.deviation }

    /// Takes up a deviation that an earlier run of the program has reported.
    mutating func resume(_ deviation: MachineDeviation?) { health.resume(deviation) }

    /// Passes over the seconds of missing samples.
    mutating func skip(_ interval: Double) { time += interval }

    /// Processes a sample; returns the resulting event, if any.
    // Inlined because almost every sample is only stored: the call and an empty event would cost more than that.
    @inline(__always)
    mutating func update(_ sample: GestureSample, _ misses: inout NearMisses) -> GestureEvent? {
        time += sample.interval
        guard window.add(sample.acceleration, interval: sample.interval) else { return nil }
        return read(sample.timestamp, &misses)
    }

    /// Evaluates a complete window.
    private mutating func read(_ timestamp: Timestamp, _ misses: inout NearMisses) -> GestureEvent? {
        let isLearned = settings.isLearned
        let limit = isLearned ? 0 : isRunning ? Rule.hysteresis * threshold : threshold
        let rate = window.rate
        let reading = window.read(limit: limit, lowest: lowest, measures: isRunning)
        level = isLearned ? 0 : reading.level
        if firstSample == nil {
            firstSample = time - reading.seconds
            lastVibration = time
        }
        lastReading = reading
        let isStill = isStill(reading)
        if isRunning { health.add(reading) }
        let wasLearning = judge.isLearning
        // The board also learns while a threshold decides.
        let frame = judge.add(
            reading, isStill: isStill, rate: rate, sensitivity: settings.common.sensitivity, memory: &memory,
            isRunning: isRunning)
        if let frame { take(frame, at: timestamp) }
        if isLearned, wasLearning, !judge.isLearning, isRunning, beginning == .found, frame?.goesOn == false {
            // It was only taken for a machine because the board did not know better.
            isRunning = false
            followPhase(at: timestamp)
            return nil
        }
        let observation: Observation
        if isLearned {
            if judge.isRising || isRunning { level = reading.level }
            if judge.isRising { window.keep() }
            guard let frame else { return nil }
            observation = self.observation(of: frame)
        } else {
            observation = self.observation(of: reading, isStill: isStill, limit: limit)
        }
        defer { followPhase(at: timestamp) }
        return isRunning ? follow(observation, at: timestamp) : weigh(observation, at: timestamp, &misses)
    }

    private var lowest: Double { settings.minimumFrequency ?? VibrationSettings.usualMinimumFrequency }
}

/// What a window or a frame shows of a machine.
private struct Observation {
    var seconds: Double
    /// Seconds from its beginning to the vibration.
    var quietStart = 0.0
    /// RMS of the vibration, m/s², and the share of the time for which it lasts.
    var level: Double
    var share = 1.0
    /// How much a second counts: a steady line is no hand's work.
    var weight = 1.0
    /// Whether it is strong enough for a machine, whether almost, and whether the board is still.
    var isStrong: Bool
    var isWeak: Bool
    var isStill: Bool
    /// Whether a machine runs, and whether one that runs goes on.
    var isMachine: Bool
    var goesOn: Bool
}

extension VibrationRecognizer {
    /// What a window shows by the user's threshold.
    private func observation(of reading: VibrationWindow.Reading, isStill: Bool, limit: Double) -> Observation {
        let isStrong = reading.level >= threshold
        let lasts = reading.share >= Rule.lasting
        return Observation(
            seconds: reading.seconds, level: reading.level, share: reading.share, isStrong: isStrong,
            isWeak: reading.level > 0 && !isStrong, isStill: isStill, isMachine: isStrong && lasts && isStill,
            goesOn: reading.level >= limit && isStill)
    }

    /// What a frame shows by what was learnt.
    private func observation(of frame: MachineJudge.Frame) -> Observation {
        let isStrong = frame.rise >= frame.limit
        return Observation(
            seconds: frame.seconds, quietStart: frame.quietStart, level: frame.vibration,
            weight: frame.hasLine ? Rule.line : 1, isStrong: isStrong,
            isWeak: !isStrong && frame.rise >= 0.5 * frame.limit, isStill: !frame.isHandled, isMachine: frame.isOn,
            goesOn: frame.goesOn)
    }

    /// No machine is running yet: weighs what was seen as evidence for or against one.
    private mutating func weigh(_ observation: Observation, at timestamp: Timestamp, _ misses: inout NearMisses)
        -> GestureEvent?
    {
        noteMiss(observation, at: timestamp, &misses)
        if observation.isMachine {
            if evidence <= 0 {
                beginCourse(at: time - observation.seconds + observation.quietStart, offBefore: memory.secondsOff)
                window.forgetKept()
            }
            count(observation)
            evidence += (observation.seconds - observation.quietStart) * observation.share * observation.weight
        } else {
            let pause = settings.isLearned ? Rule.framePause : Rule.pause
            evidence -= observation.seconds * (observation.isStill ? pause : Rule.handled)
        }
        mostEvidence = max(mostEvidence, evidence)
        let needed = settings.isLearned ? max(Rule.evidence, settings.runTime) : settings.runTime
        if evidence <= 0 {
            if settings.common.isEnabled, mostEvidence >= min(Rule.notable, 0.5 * needed) {
                misses.add(.vibration, .tooShort, at: timestamp, value: mostEvidence, limit: needed)
            }
            evidence = 0
            mostEvidence = 0
        }
        guard evidence > 0, evidence >= needed else { return nil }
        return begin(at: timestamp)
    }

    private mutating func beginCourse(at onset: Double, offBefore: Float) {
        self.onset = onset
        self.offBefore = offBefore
        energy = 0
        vibrated = 0
        course = MachineCourse()
    }

    private mutating func begin(at timestamp: Timestamp) -> GestureEvent? {
        isRunning = true
        lastVibration = time
        evidence = 0
        mostEvidence = 0
        goesOn = Rule.remembered
        health.beginRun()
        window.beginSpectrum()
        let isFound = onset - (firstSample ?? 0) <= Rule.finding
        let isUnknown = settings.isLearned && offBefore < Rule.known && !lastFrame.hasLine
        beginning = isFound || isUnknown ? .found : .reported
        return beginning == .found ? nil : event(.began, at: timestamp, until: time)
    }

    /// A machine is running: checks whether it still is.
    private mutating func follow(_ observation: Observation, at timestamp: Timestamp) -> GestureEvent? {
        if settings.isLearned {
            // A single frame is a door, or a step: two of three.
            goesOn = (goesOn << 1 | (observation.goesOn ? 1 : 0)) & Rule.remembered
            if observation.goesOn, goesOn.nonzeroBitCount >= 2 { resume(observation) }
        } else if observation.goesOn, observation.share >= Rule.lasting {
            resume(observation)
        }
        // A window in which vibration resumes must not end it; the next one decides.
        guard !observation.goesOn, time - lastVibration >= wait else { return nil }
        return end(at: timestamp)
    }

    /// The machine still vibrates.
    private mutating func resume(_ observation: Observation) {
        course.endPause(seconds: time - observation.seconds - lastVibration)
        lastVibration = time
        isUnconfirmed = false
        count(observation)
    }

    private mutating func end(at timestamp: Timestamp) -> GestureEvent {
        isRunning = false
        var last = event(isUnconfirmed ? .cancelled : .ended, at: timestamp, until: lastVibration)
        last.beginning = beginning
        if isUnconfirmed { last.reason = .restarted }
        if !isUnconfirmed, beginning != .found {
            memory.runs.add(
                duration: Float(last.duration ?? 0), pause: Float(course.longestPause), peak: Float(course.peak))
        }
        last.longestPause = course.longestPause
        last.peak = course.peak
        last.hasSpun = course.hasSpun
        health.endRun(&memory.runs)
        return last
    }

    private mutating func count(_ observation: Observation) {
        energy += observation.level * observation.level * observation.seconds
        vibrated += observation.seconds * observation.share
        if !settings.isLearned { window.keep() }
    }

    /// Whether the body moves no more than a machine would move it.
    private func isStill(_ reading: VibrationWindow.Reading) -> Bool {
        reading.slow <= VibrationRecognizer.slowLimit(at: reading.level)
            && reading.shift <= VibrationRecognizer.shiftLimit(at: reading.level)
    }

    private static func slowLimit(at level: Double) -> Double { Rule.slow + Rule.slowPerLevel * level }

    private static func shiftLimit(at level: Double) -> Double { Rule.shift + Rule.shiftPerLevel * level }

    private func event(_ phase: GesturePhase, at timestamp: Timestamp, until end: Double) -> GestureEvent {
        var event = GestureEvent(.vibration, phase, at: timestamp)
        event.level = vibrated > 0 ? (energy / vibrated).squareRoot() : 0
        event.frequency = window.frequency(lowest: lowest)
        event.duration = end - onset
        return event
    }

    /// Records a near miss, once for each occasion, for a vibration that is not a machine.
    private mutating func noteMiss(_ observation: Observation, at timestamp: Timestamp, _ misses: inout NearMisses) {
        guard settings.common.isEnabled else { return }
        let wasWeakFor = weakFor
        let wasHandledFor = handledFor
        weakFor = observation.isWeak ? weakFor + observation.seconds : 0
        handledFor =
            observation.isStrong && !observation.isStill
            ? handledFor + observation.seconds : observation.isStrong || observation.isStill ? 0 : handledFor
        if weakFor >= settings.runTime, wasWeakFor < settings.runTime {
            let limit =
                settings.isLearned
                ? observation.level * MachineJudge.factor(lastFrame.limit - lastFrame.rise) : threshold
            misses.add(.vibration, .tooWeak, at: timestamp, value: observation.level, limit: limit)
        }
        if handledFor >= settings.runTime, wasHandledFor < settings.runTime {
            let slow = VibrationRecognizer.slowLimit(at: lastReading.level)
            let isSlow = lastReading.slow > slow
            misses.add(
                .vibration, .notStill, at: timestamp, value: isSlow ? lastReading.slow : lastReading.shift,
                limit: isSlow ? slow : VibrationRecognizer.shiftLimit(at: lastReading.level))
        }
    }
}

// MARK: - What is reported of the machine

extension VibrationRecognizer {
    /// Takes up a frame, whichever rule decides: learns what running is, and measures the machine once a minute.
    private mutating func take(_ frame: MachineJudge.Frame, at timestamp: Timestamp) {
        lastFrame = frame
        if isRunning, frame.goesOn {
            memory.runs.add(frame.levels, seconds: Float(frame.seconds))
            course.add(level: frame.level, rise: frame.rise, after: time - onset, known: memory.runs)
            if health.add(frame) {
                measurement = health.report(
                    at: timestamp, rate: window.rate, density: judge.density, lines: window.lines(), memory.runs)
                measurement?.speed = settings.speed.flatMap { window.line(near: $0) }
                window.beginSpectrum()
                makeReport(at: timestamp)
            }
        } else if !isRunning, !frame.isHandled, !frame.isOn {
            compareMounting()
        }
    }

    /// What was learnt of the octaves belongs to how the board is mounted: after it was turned, they are learnt again.
    private mutating func compareMounting() {
        let force = window.meanForce
        let length = (force * force).sum().squareRoot()
        guard length > 0 else { return }
        let direction = force / length
        if memory.runs.gravity == .zero {
            memory.runs.gravity = direction
        } else if (direction * memory.runs.gravity).sum() < Rule.sameMounting {
            memory.runs.gravity = direction
            memory.runs.speeds = MachineSpeeds()
        }
    }

    /// Reports the machine if its phase has changed.
    private mutating func followPhase(at timestamp: Timestamp) {
        let now: MachinePhase = !isRunning ? .off : time - lastVibration > Rule.paused ? .paused : .running
        guard now != phase || health.hasChanged else { return }
        if now == .off { measurement = nil }
        phase = now
        makeReport(at: timestamp)
    }

    private mutating func makeReport(at timestamp: Timestamp) {
        report = presentReport(at: timestamp)
        health.reported()
    }

    /// How the machine is now.
    func presentReport(at timestamp: Timestamp) -> MachineReport {
        var report = MachineReport(timestamp: timestamp, phase: phase)
        report.isLearning = judge.isLearning || !memory.runs.knowsRunning
        report.runs = memory.runs.count
        if isRunning {
            report.duration = time - onset
            report.quietFor = phase == .paused ? time - lastVibration : 0
        }
        report.measurement = measurement
        report.deviation = health.deviation
        return report
    }

    /// Removes and returns the last report.
    mutating func takeReport() -> MachineReport? {
        guard let report else { return nil }
        self.report = nil
        return report
    }

    /// Somebody says how the machine is now. Returns the resulting event, if any.
    mutating func learn(_ now: MachineStatement, at timestamp: Timestamp) -> GestureEvent? {
        defer { followPhase(at: timestamp) }
        switch now {
        case .off:
            judge.learnOff(&memory, lastFrame)
            evidence = 0
            return isRunning ? end(at: timestamp) : nil
        case .running:
            if lastFrame.seconds > 0 { memory.runs.add(lastFrame.levels, seconds: Float(Rule.confirmed)) }
            memory.runs.isConfirmed = true
            guard !isRunning else { return nil }
            beginCourse(at: time, offBefore: .infinity)
            return begin(at: timestamp)
        case .fine:
            health.acknowledge(&memory.runs)
            return nil
        }
    }
}

/// How a running machine is recognised.
public struct VibrationSettings: Equatable, Sendable, BitwiseCopyable {
    /// Common settings; each step of sensitivity divides `threshold` by 1.25. The default cooldown is 0 s.
    public var common = RecognizerSettings(cooldown: 0)

    /// RMS of the vibration from which a machine counts as running, over all three axes and without the sensor's own
    /// noise, m/s²; once it runs, 0.7 times this is enough. Default: `nil`, the board learns it. A slowly turning drum
    /// gives its housing 0.15 to 0.25, spinning 0.4 and more, and an MPU-6050's noise stays below 0.11. Smaller finds
    /// quieter machines, but also footsteps and the machine beside it; larger misses slow phases of a cycle.
    ///
    /// A threshold, `doneAfter` or `minimumFrequency` of one's own turns the learnt rule off; the others of the three then
    /// have their usual values: 0.12 m/s², 180 s and 2.5 Hz.
    public var threshold: Double?

    /// Time of vibration until `began`, s; during pauses it counts backwards at a quarter of the speed. Default 10; the
    /// learnt rule needs 25 at least. Smaller reports a machine sooner, but takes longer knocks, a ringing phone or work on
    /// the table for one; larger misses drums that turn for a few seconds between long pauses, until they spin.
    public var runTime = 10.0

    /// Time without vibration until `ended`, s: the longest pause within one cycle. Default: `nil`, that of `profile`.
    /// Smaller reports sooner that a machine is done, but splits a cycle with longer pauses in two; larger does the
    /// opposite. A fan or a pump needs no more than 10.
    public var doneAfter: Double?

    /// The lowest frequency of vibration, Hz; slower movement does not count, however strong. Default: `nil`, the learnt
    /// rule judges octaves from 2.8 Hz. Smaller includes slow rocking; larger includes only faster machines: 8 excludes
    /// people altogether, and at 20 samples a second almost everything, since half the sample rate is the highest
    /// frequency there is.
    public var minimumFrequency: Double?

    /// What kind of machine it is, which decides how long it may pause. Default `auto`.
    public var profile = MachineProfile.auto

    /// The running speed, Hz, within a fifth: the strongest line near it is measured. Default: `nil`, none is.
    public var speed: Double?

    /// The class of the machine, which says how its velocity is judged. Default `none`.
    public var machineClass = MachineClass.none

    /// Whether the board decides by what it has learnt.
    package var isLearned: Bool { threshold == nil && doneAfter == nil && minimumFrequency == nil }

    /// The settings with a threshold, for a movement that is over before the board could learn of it.
    package var withThreshold: VibrationSettings {
        var settings = self
        settings.threshold = threshold ?? VibrationSettings.usualThreshold
        return settings
    }

    /// What is used for the others if one of the three is set.
    package static let usualThreshold = 0.12
    package static let usualDoneAfter = 180.0
    package static let usualMinimumFrequency = 2.5

    /// Creates the default settings.
    public init() {}
}
