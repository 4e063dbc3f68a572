internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore
internal import MotionKit
internal import Synchronization

/// Reads the sensor while the user makes the gesture and handles the board.
final class TuningMeasurement {
    /// A short description of the sensor.
    let title: String

    /// The chip's stored calibration.
    let calibration: ChipCalibration

    private let dialogue: Dialogue
    private let manager: MotionManager
    private let inbox = Inbox()
    private let deadline: Timestamp

    private final class Inbox: Sendable {
        let samples = Mutex<[MotionSample]>([])
    }

    /// Opens the sensor and starts reading; fails `limit` seconds from now.
    init(_ settings: JostleSettings, dialogue: Dialogue, limit: Double) throws(CommandFailure) {
        self.dialogue = dialogue
        deadline = WallClock.monotonic.advanced(bySeconds: limit)
        manager = MotionManager(settings: settings.motion.withoutReference, updateInterval: 1)
        let device = try OpenSensor.open(settings, before: "tune")
        title = device.title
        calibration = TuningMeasurement.calibration(of: device.storageName, dialogue)
        let inbox = self.inbox
        manager.addSampleHandler { samples in inbox.samples.withLock { $0 += samples } }
        manager.addSensorHandler { event, _ in
            if case .failed(let fault) = event {
                dialogue.say("The sensor is lost: \(fault.explanation); trying again.")
            }
        }
        do throws(SensorError) { try manager.start(with: device) } catch { throw CommandFailure(error) }
    }

    private static func calibration(of name: String, _ dialogue: Dialogue) -> ChipCalibration {
        do throws(CalibrationStoreError) {
            let store = CalibrationStore(stateDirectory: Configuration.stateDirectory)
            return try store.load(name)?.effective ?? ChipCalibration()
        } catch {
            dialogue.say("\(error)")
            return ChipCalibration()
        }
    }

    /// Waits briefly and returns the samples since the last call.
    private func newSamples() throws(CommandFailure) -> [MotionSample] {
        try dialogue.wait(seconds: 0.05)
        guard WallClock.monotonic < deadline else {
            throw CommandFailure(.temporary, "the time is up; nothing was changed")
        }
        return inbox.samples.withLock { samples in
            defer { samples = [] }
            return samples
        }
    }

    /// Waits until the user has made `count` movements with pauses between them.
    ///
    /// All samples are kept, because recognizers need to see the quiet before each movement.
    func movements(_ count: Int, title: String) throws(CommandFailure) -> [MotionSample] {
        var samples: [MotionSample] = []
        var detector = BoutDetector()
        var done = 0
        while done < count {
            for sample in try newSamples() {
                samples.append(sample)
                guard let bout = detector.take(sample) else { continue }
                done += 1
                let seconds = decimal(bout.end.seconds(since: bout.start), 1)
                dialogue.say(
                    "\(title) \(done) of \(count): detected, \(decimal(bout.peak, 0)) m/s² at its peak, \(seconds) s")
            }
            dialogue.show(
                detector.isMoving
                    ? "\(title) \(done + 1) of \(count): …" : "\(title) \(done + 1) of \(count): now, then hold still")
        }
        return samples
    }

    /// Records for `seconds`.
    func handling(seconds: Double) throws(CommandFailure) -> [MotionSample] {
        var samples: [MotionSample] = []
        var elapsed = 0.0
        while elapsed < seconds {
            samples += try newSamples()
            if let first = samples.first, let last = samples.last {
                elapsed = last.timestamp.seconds(since: first.timestamp)
            }
            dialogue.show("Handling: \(Dialogue.bar(elapsed / seconds)) \(decimal(seconds - elapsed, 0)) s left")
        }
        return samples
    }

    /// Stops reading.
    func close() {
        manager.stop()
    }
}
