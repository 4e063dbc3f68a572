internal import IMUDrivers
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleRuntime
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// Reads the sensor while the user makes the gesture and handles the board.
final class TuningMeasurement {
    /// A short description of the sensor.
    let title: String

    /// The chip's stored calibration.
    let calibration: ChipCalibration

    private let dialogue: Dialogue
    private let manager: MotionManager
    private let inbox = Locked<[MotionSample]>([])
    private let deadline: Timestamp
    private let gesture: Gesture

    /// Opens the sensor and starts reading; fails `limit` seconds from now.
    init(
        _ gesture: Gesture, _ settings: JostleSettings, dialogue: Dialogue, limit: Double
    ) throws {
        self.gesture = gesture
        self.dialogue = dialogue
        deadline = WallClock.monotonic.advanced(bySeconds: limit)
        manager = MotionManager(settings: settings.motion.withoutReference, updateInterval: 1)
        let device = try OpenSensor.open(settings, before: "tune")
        title = device.title
        calibration = TuningMeasurement.calibration(of: device.storageName, dialogue)
        manager.addSampleHandler { [inbox] samples in inbox.withLock { $0 += samples } }
        manager.addSensorHandler { event, _ in
            if case .failed(let fault) = event {
                dialogue.say("The sensor is lost: \(fault.explanation); trying again.")
            }
        }
        try manager.start(with: device)
    }

    private static func calibration(of name: String, _ dialogue: Dialogue) -> ChipCalibration {
        do {
            let store = CalibrationStore(stateDirectory: Configuration.stateDirectory)
            return try store.load(name)?.effective ?? ChipCalibration()
        } catch {
            dialogue.say("\(error)")
            return ChipCalibration()
        }
    }

    /// The chip and its ranges; `nil` before the first sample.
    var sensor: IMUInfo? { manager.sensorInfo }

    /// Waits briefly and returns the samples since the last call.
    private func newSamples() throws -> [MotionSample] {
        try dialogue.wait(seconds: 0.05)
        guard WallClock.monotonic < deadline else {
            throw Failure(.temporary, "the time is up; nothing was changed")
        }
        let new = inbox.withLock { samples in
            defer { samples = [] }
            return samples
        }
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
        manager.stop()
    }
}
