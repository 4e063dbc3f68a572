internal import JostleCommandLine
internal import JostleConfiguration
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// Reads the sensor for a calibration and waits until the board lies still.
final class CalibrationMeasurement {
    /// The settings for this sensor.
    var settings: JostleSettings { sensor.settings }
    let dialogue: Dialogue

    /// A short description of the sensor.
    var title: String { sensor.title }

    /// The chip's stored calibration.
    let known: StoredCalibration

    /// What keeps the result.
    let storage: CalibrationStorage

    /// The turn before the last pose; if it is unusable, `lastDamage` has the reason.
    var lastTurn: TurnSegment? { sequence.lastTurn }
    var lastDamage: TurnRecorder.Damage? { sequence.lastDamage }

    private let sensor: GuidedSensor
    /// Samples taken from the sensor but not processed yet.
    private var waiting: ArraySlice<MotionSample> = []
    private var sequence = PoseSequence()
    /// The last reason why the board did not count as still.
    private var lastUnrest = "no sample was measured"

    /// Opens the sensor, loads the chip's calibration, and starts reading.
    ///
    /// The measurement fails `limit` seconds from now.
    /// - Throws: the sensor's failure with its exit status.
    init(
        _ settings: JostleSettings, dialogue: Dialogue, limit: Double, storesWithoutAsking: Bool
    ) throws {
        self.dialogue = dialogue
        sensor = try GuidedSensor(settings, before: "calibrate", dialogue: dialogue, limit: limit)
        storage = CalibrationStorage(
            name: sensor.storageName, storesWithoutAsking: storesWithoutAsking, dialogue: dialogue)
        known = storage.load()
    }

    // MARK: Measuring

    /// Waits for the next sample.
    ///
    /// - Throws: status 75 if the user interrupts or the time limit is reached.
    private func sample() throws -> MotionSample {
        while waiting.isEmpty {
            waiting = try sensor.newSamples(lastUnrest)[...]
        }
        return waiting.removeFirst()
    }

    /// Waits until the board lies still, moved before or not, and averages its readings for `seconds`, by default the
    /// collector's two seconds. The title is shown before the progress.
    func rest(_ title: String, seconds: Double? = nil) throws -> RestingPose {
        sequence = PoseSequence(duration: seconds)
        return try nextPose(title, advice: "")
    }

    /// Waits until the board lies still after a movement, and averages its readings. The advice is shown until it is
    /// moved.
    func nextPose(_ title: String, advice: String) throws -> RestingPose {
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
                if wasAveraging { dialogue.say("\(title): \(lastUnrest); starting again") }
                wasAveraging = false
            case .settling:
                dialogue.show("\(title): settling")
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
            // Relative to the bias, as far as it is known.
            let bias = sequence.lastPose?.rate ?? known.effective.gyroscope.bias(at: sample.temperature)
            return "it moves: \(decimal((sample.rotationRate - bias).length * degreesPerRadian, 0)) °/s"
        case .force: return "it moves: it is shaken"
        case .drift: return "it moves: it tilts slowly"
        case .badSamples: return "samples are missing, or it was moved beyond the sensor's range"
        }
    }

    /// Stops the measurement.
    ///
    /// - Returns: what keeps its result.
    func stop() -> CalibrationStorage {
        sensor.stop()
        return storage
    }
}

/// Stores calibrations and reference attitudes, after asking the user.
struct CalibrationStorage {
    private let calibrations = CalibrationStore(stateDirectory: Configuration.stateDirectory)
    private let references = ReferenceStore(stateDirectory: Configuration.stateDirectory)
    /// The name under which the chip's calibration is stored.
    let name: String
    let storesWithoutAsking: Bool
    let dialogue: Dialogue

    /// The chip's stored calibration; an empty one, with a message, if the file cannot be used.
    func load() -> StoredCalibration { calibrations.load(name, or: dialogue.say) }

    /// The stored reference attitude; `nil` if there is none.
    var reference: Quaternion? { references.load() }

    /// Stores a calibration if the user agrees.
    func store(_ calibration: StoredCalibration) throws {
        guard try shouldStore() else { return }
        try Failure.with(.cannotCreate) { try calibrations.save(calibration, as: name) }
        dialogue.say("Stored in \(calibrations.path(of: name)); used from the next start.")
    }

    /// Stores a reference attitude if the user agrees.
    ///
    /// - Returns: whether it was stored.
    func store(reference: Quaternion) throws -> Bool {
        guard try shouldStore() else { return false }
        try Failure.with(.cannotCreate) { try references.save(reference) }
        dialogue.say("Stored in \(Configuration.stateDirectory); used from the next start.")
        return true
    }

    private func shouldStore() throws -> Bool {
        if storesWithoutAsking { return true }
        guard dialogue.isInteractive else {
            dialogue.say("Not stored: there is no terminal for confirmation, and --yes was not given.")
            return false
        }
        let isConfirmed = try dialogue.ask("Store this?")
        if !isConfirmed { dialogue.say("Not stored: nothing was changed.") }
        return isConfirmed
    }
}
