internal import IMUDrivers
internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore
internal import MotionKit
internal import Synchronization

/// The board under somebody's hands: its samples, until it lies still.
///
/// Samples come on the delivery thread and are looked at on the main one, which also hears of signals. The manager is
/// given no state directory: nothing is kept but what is stored here, in the end.
final class CalibrationBench {
    let settings: JostleSettings
    let dialogue: Dialogue

    /// The sensor, in a few words.
    let title: String

    /// What is known of the chip before.
    let known: StoredCalibration

    /// The turn that led to the last pose, and what made it useless where there is none.
    var lastTurn: TurnSegment? { sequence.lastTurn }
    var lastDamage: TurnRecorder.Damage? { sequence.lastDamage }

    private let manager: MotionManager
    private let storage: CalibrationStorage
    private let inbox = Inbox()
    private let deadline: Timestamp
    /// Samples that were taken out of the inbox and not looked at yet.
    private var waiting: ArraySlice<MotionSample> = []
    private var sequence = PoseSequence()
    /// Why the board did not count as still, the last time it did not.
    private var lastUnrest = "it measured nothing"

    private final class Inbox: Sendable {
        let samples = Mutex<[MotionSample]>([])
    }

    /// Opens the sensor, looks up what is known of the chip, and begins to read.
    ///
    /// It gives up after `limit` seconds, whatever the board does.
    /// - Throws: the sensor's failure with its exit status.
    init(
        _ settings: JostleSettings, dialogue: Dialogue, limit: Double, storesWithoutAsking: Bool
    ) throws(CommandFailure) {
        self.dialogue = dialogue
        deadline = WallClock.monotonic.advanced(bySeconds: limit)
        manager = MotionManager(settings: settings.motion.withoutReference, updateInterval: 1)
        let device = try OpenSensor.open(settings, before: "calibrate")
        var effective = settings
        effective.motion = device.effective(settings.motion)
        self.settings = effective
        title = device.title
        storage = CalibrationStorage(
            stateDirectory: Configuration.stateDirectory, name: device.storageName,
            storesWithoutAsking: storesWithoutAsking, dialogue: dialogue)
        known = storage.load()
        let inbox = self.inbox
        manager.addSampleHandler { samples in inbox.samples.withLock { $0 += samples } }
        manager.addSensorHandler { event, _ in
            switch event {
            case .failed(let fault): dialogue.say("The sensor is lost: \(fault.explanation); trying again.")
            case .gap(let lost, let fault):
                dialogue.say("Samples of \(decimal(lost, 3)) s are missing: \(fault.explanation).")
            case .none, .streaming: break
            }
        }
        do throws(SensorError) { try manager.start(with: device) } catch { throw CommandFailure(error) }
    }

    // MARK: What the board does

    /// The next sample, waited for.
    ///
    /// - Throws: status 75 where somebody interrupts, or the time is over.
    private func sample() throws(CommandFailure) -> MotionSample {
        while waiting.isEmpty {
            try dialogue.wait(seconds: 0.05)
            guard WallClock.monotonic < deadline else {
                throw CommandFailure(.temporary, "the time is over, and \(lastUnrest); nothing was changed")
            }
            waiting = inbox.samples.withLock { samples in
                defer { samples = [] }
                return samples[...]
            }
        }
        return waiting.removeFirst()
    }

    /// Waits until the board lies still, moved before or not, and for as long as it takes to average what it reads: by
    /// default the collector's two seconds. The title stands before the progress.
    func rest(_ title: String, seconds: Double? = nil) throws(CommandFailure) -> RestingPose {
        var parameters = PoseCollector.Parameters()
        if let seconds { parameters.duration = seconds }
        sequence = PoseSequence(parameters: parameters)
        return try nextPose(title, advice: "")
    }

    /// Waits until the board lies still after it was moved, and for as long as it takes to average what it reads.
    /// The advice is shown while nobody moves it.
    func nextPose(_ title: String, advice: String) throws(CommandFailure) -> RestingPose {
        var wasAveraging = false
        while true {
            let sample = try sample()
            switch sequence.take(sample) {
            case .unmoved:
                lastUnrest = "it was not moved"
                dialogue.show("\(title): \(advice)")
            case .moving(let unrest):
                lastUnrest = words(for: unrest, in: sample)
                dialogue.show("\(title): \(lastUnrest)")
                if wasAveraging { dialogue.say("\(title): \(lastUnrest); from the beginning") }
                wasAveraging = false
            case .settling:
                dialogue.show("\(title): comes to rest")
            case .averaging(let part):
                wasAveraging = true
                dialogue.show("\(title): \(Dialogue.bar(part)) keep it still")
            case .done(let pose):
                return pose
            }
        }
    }

    private func words(for unrest: PoseCollector.Disturbance, in sample: MotionSample) -> String {
        switch unrest {
        case .rotation:
            // Beyond the bias, as far as it is known.
            let bias = sequence.lastPose?.rate ?? known.effective.gyroscope.bias(at: sample.temperature)
            return "it moves: \(decimal((sample.rotationRate - bias).length * degreesPerRadian, 0)) °/s"
        case .force: return "it moves: it is shaken"
        case .drift: return "it moves: it tips over slowly"
        case .badSamples: return "samples are missing, or it was moved beyond the sensor's range"
        }
    }

    // MARK: What comes of it

    /// Ends the measurement, and stores a calibration where that is wanted.
    func store(_ calibration: StoredCalibration) throws(CommandFailure) {
        manager.stop()
        try storage.store(calibration)
    }

    /// Ends the measurement, and stores a reference attitude where that is wanted.
    ///
    /// - Returns: whether it was.
    func store(reference: Quaternion) throws(CommandFailure) -> Bool {
        manager.stop()
        return try storage.store(reference: reference)
    }

    /// The reference attitude that is stored, where there is one.
    var storedReference: Quaternion? { storage.reference }
}
