internal import IMUDrivers
internal import JostleCommandLine
internal import JostleConfiguration
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// The samples of a gesture and of ordinary handling, and what measured them.
struct TuningMovements {
    var shown: [MotionSample]
    /// The times of the gesture in `shown`.
    var bouts: [BoutDetector.Bout]
    var ordinary: [MotionSample]
    var calibration = ChipCalibration()
    var unknownRanges: UnknownRanges = []
    /// The part's name; `nil` if a recording was read.
    var chip: String?
    /// Full scale, ±m/s² and ±rad/s; infinite if unknown.
    var accelerometerRange = Double.infinity
    var gyroscopeRange = Double.infinity

    var hasGyroscope: Bool { shown.contains { $0.flags.contains(.rotationRate) } }

    /// Refuses samples without rates of rotation for a gesture that needs them.
    ///
    /// - Throws: status 69.
    static func checkGyroscope(_ samples: [MotionSample], for gesture: Gesture) throws {
        guard Gesture.needingGyroscope.contains(gesture), !samples.isEmpty,
            !samples.contains(where: { $0.flags.contains(.rotationRate) })
        else { return }
        throw Failure(
            .unavailable, "\(gesture.word) needs a gyroscope, and these samples have no rates of rotation")
    }

    /// Samples a second.
    var rate: Double? {
        guard let first = shown.first, let last = shown.last, shown.count > 1 else { return nil }
        return Double(shown.count - 1) / last.timestamp.seconds(since: first.timestamp)
    }
}

// MARK: From recordings

extension TuningMovements {
    /// The most samples of a recording: 80 minutes at 200 Hz, 72 bytes each.
    private static let maximumSamples = 1_000_000

    /// The movements from the recordings; `nil` if none are given.
    static func read(_ gesture: Gesture, _ arguments: Arguments) throws -> TuningMovements? {
        switch (arguments.value("shown"), arguments.value("ordinary")) {
        case (nil, nil): return nil
        case (let shown?, let ordinary?):
            for option in ["times", "handling", "for"] where arguments.value(option) != nil {
                throw Failure(.usage, "--\(option) is for a sensor, not for recordings")
            }
            var movements = try read(shown)
            movements.ordinary = try read(ordinary).shown
            try checkGyroscope(movements.shown, for: gesture)
            movements.bouts = bouts(of: gesture, in: movements.shown)
            return movements
        default: throw Failure(.usage, "--shown and --ordinary must be given together")
        }
    }

    private static func read(_ path: String) throws -> TuningMovements {
        var reader = try RecordingReader(path: path, maximumSamples: maximumSamples)
        let samples = try reader.remainingSamples()
        return TuningMovements(
            shown: samples, bouts: [], ordinary: [], unknownRanges: reader.unknownRanges,
            accelerometerRange: reader.accelerometerRange ?? .infinity,
            gyroscopeRange: reader.gyroscopeRange ?? .infinity)
    }

    /// When the gesture was made. A machine runs all the time.
    private static func bouts(of gesture: Gesture, in samples: [MotionSample]) -> [BoutDetector.Bout] {
        guard gesture == .vibration else {
            return BoutDetector.bouts(in: samples, TuningTrial.limits(of: gesture))
        }
        guard let first = samples.first, let last = samples.last else { return [] }
        return [BoutDetector.Bout(start: first.timestamp, end: last.timestamp)]
    }
}

// MARK: From the sensor

extension TuningMovements {
    /// Seconds beyond the time after which a machine counts as running.
    private static let runMargin = 20.0

    /// Guides the user through making the movements, and records them.
    static func collect(
        _ gesture: Gesture, _ arguments: Arguments, _ settings: JostleSettings, _ dialogue: Dialogue
    ) throws -> TuningMovements {
        let guide = gesture.facts.tuning
        let isMachine = gesture == .vibration
        if isMachine, arguments.value("times") != nil {
            throw Failure(.usage, "--times is not for vibration: the machine runs once")
        }
        let times = try arguments.count("times", within: 2...20) ?? 5
        let seconds = try arguments.seconds("handling") ?? 60
        let measurement = try TuningMeasurement(
            gesture, settings, dialogue: dialogue, limit: try arguments.seconds("for") ?? 900)
        defer { measurement.close() }
        dialogue.say("Sensor: \(measurement.title)")
        let shown: [MotionSample]
        if isMachine {
            shown = try run(measurement, settings, dialogue)
        } else {
            dialogue.say("\(guide.title) \(times) times, \(guide.manner)")
            shown = try measurement.movements(times, title: guide.title, TuningTrial.limits(of: gesture))
        }
        dialogue.say("Good. \(guide.handling.replacing("%s", with: "\(decimal(seconds, 0)) s"))")
        let ordinary = try measurement.record(seconds: seconds, title: "Handling")
        let sensor = measurement.sensor
        return TuningMovements(
            shown: shown, bouts: bouts(of: gesture, in: shown), ordinary: ordinary,
            calibration: measurement.calibration, chip: sensor.map { "\($0.name)" },
            accelerometerRange: sensor?.accelerometerRange ?? .infinity,
            gyroscopeRange: sensor?.gyroscopeRange ?? .infinity)
    }

    /// Records a machine while it runs.
    private static func run(
        _ measurement: TuningMeasurement, _ settings: JostleSettings, _ dialogue: Dialogue
    ) throws -> [MotionSample] {
        let seconds = settings.motion.gestures.vibration.runTime + runMargin
        dialogue.say("Let the machine run for \(decimal(seconds, 0)) s as weakly as it usually does.")
        try wait(for: "Does it run now?", dialogue)
        let samples = try measurement.record(seconds: seconds, title: "The machine runs")
        dialogue.say("Switch it off now.")
        try wait(for: "Is it off?", dialogue)
        return samples
    }

    /// Asks until the answer is yes. Without a terminal, it goes on at once.
    private static func wait(for question: String, _ dialogue: Dialogue) throws {
        guard dialogue.isInteractive else { return }
        guard try dialogue.ask(question) else {
            throw Failure(.temporary, "the machine was not ready: nothing was changed")
        }
    }
}

/// Reads the sensor while the user makes the gesture and handles the board.
private final class TuningMeasurement {
    /// A short description of the sensor.
    var title: String { source.title }

    /// The chip's stored calibration.
    let calibration: ChipCalibration

    private let dialogue: Dialogue
    private let source: GuidedSensor
    private let gesture: Gesture

    /// Opens the sensor and starts reading; fails `limit` seconds from now.
    init(
        _ gesture: Gesture, _ settings: JostleSettings, dialogue: Dialogue, limit: Double
    ) throws {
        self.gesture = gesture
        self.dialogue = dialogue
        source = try GuidedSensor(settings, before: "tune", dialogue: dialogue, limit: limit)
        calibration =
            CalibrationStore(stateDirectory: Configuration.stateDirectory)
            .load(source.storageName, or: dialogue.say).effective
    }

    /// The chip and its ranges; `nil` before the first sample.
    var sensor: IMUInfo? { source.info }

    /// Waits briefly and returns the samples since the last call.
    private func newSamples() throws -> [MotionSample] {
        let new = try source.newSamples()
        try TuningMovements.checkGyroscope(new, for: gesture)
        return new
    }

    /// Waits until the user has made `count` movements with pauses between them.
    ///
    /// All samples are kept, because recognizers need to see the quiet before each movement.
    func movements(
        _ count: Int, title: String, _ limits: BoutDetector.Limits
    ) throws -> [MotionSample] {
        var samples: [MotionSample] = []
        var detector = BoutDetector(limits)
        var done = 0
        while done < count {
            for sample in try newSamples() {
                samples.append(sample)
                guard let bout = detector.take(sample) else { continue }
                done += 1
                dialogue.say("\(title) \(done) of \(count): detected, \(words(bout, limits))")
            }
            dialogue.show(
                detector.isMoving
                    ? "\(title) \(done + 1) of \(count): …" : "\(title) \(done + 1) of \(count): now, then hold still")
        }
        return samples
    }

    /// How strong or fast a movement was, and how long it took.
    private func words(_ bout: BoutDetector.Bout, _ limits: BoutDetector.Limits) -> String {
        let turns = limits.rate.isFinite && bout.peakRate > limits.rate
        let peak =
            turns ? "\(decimal(bout.peakRate * degreesPerRadian, 0)) °/s" : "\(decimal(bout.peak, 0)) m/s²"
        return "\(peak) at its peak, \(decimal(bout.end.seconds(since: bout.start), 1)) s"
    }

    /// Records for `seconds`; `title` says what.
    func record(seconds: Double, title: String) throws -> [MotionSample] {
        // What was measured while a question was answered belongs to nothing.
        _ = try newSamples()
        var samples: [MotionSample] = []
        var elapsed = 0.0
        while elapsed < seconds {
            samples += try newSamples()
            if let first = samples.first, let last = samples.last {
                elapsed = last.timestamp.seconds(since: first.timestamp)
            }
            dialogue.show("\(title): \(Dialogue.bar(elapsed / seconds)) \(decimal(seconds - elapsed, 0)) s left")
        }
        return samples
    }

    /// Stops reading.
    func close() {
        source.stop()
    }
}
