internal import IMUDrivers
internal import JostleConfiguration
internal import JostleRuntime
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// Reads the sensor for a command that guides the user.
///
/// Samples arrive on the delivery thread and are processed on the main thread, which also handles signals. The manager gets no
/// state directory, so that nothing is stored but what the command stores at its end.
final class GuidedSensor {
    /// A short description of the sensor, and the name under which its calibration is stored.
    let title: String
    let storageName: String
    /// The settings for this sensor.
    let settings: JostleSettings

    private let dialogue: Dialogue
    private let manager: MotionManager
    private let inbox = Locked<[MotionSample]>([])
    private let deadline: Timestamp

    /// Opens the sensor and starts reading. Reading fails `limit` seconds from now.
    ///
    /// - Throws: the sensor's failure with its exit status.
    init(_ settings: JostleSettings, before purpose: String, dialogue: Dialogue, limit: Double) throws {
        self.dialogue = dialogue
        deadline = WallClock.monotonic.advanced(bySeconds: limit)
        manager = MotionManager(settings: settings.motion.withoutReference, updateInterval: 1)
        let device = try OpenSensor.open(settings, before: purpose)
        var effective = settings
        effective.motion = device.effective(settings.motion)
        self.settings = effective
        title = device.title
        storageName = device.storageName
        manager.addSampleHandler { [inbox] samples in inbox.withLock { $0 += samples } }
        manager.addSensorHandler { event, _ in
            switch event {
            case .failed(.measurement(let fault)): dialogue.say("This cannot be right: \(fault.explanation).")
            case .failed(let fault): dialogue.say("The sensor is lost: \(fault.explanation); trying again.")
            case .gap(let lost, let fault):
                dialogue.say("\(decimal(lost, 3)) s of samples are missing: \(fault.explanation).")
            case .none, .streaming: break
            }
        }
        try manager.start(with: device)
    }

    /// The chip and its ranges; `nil` before the first sample.
    var info: IMUInfo? { manager.sensorInfo }

    /// Waits briefly.
    ///
    /// - Parameter missing: what was missing if the time is up.
    /// - Returns: the samples since the last call.
    /// - Throws: status 75 if the user interrupts or the time limit is reached.
    func newSamples(_ missing: @autoclosure () -> String = "") throws -> [MotionSample] {
        try dialogue.wait(seconds: 0.05)
        guard WallClock.monotonic < deadline else {
            let missing = missing()
            throw Failure(
                .temporary, "the time is up\(missing.isEmpty ? "" : ", and \(missing)"); nothing was changed")
        }
        return inbox.withLock { samples in
            defer { samples = [] }
            return samples
        }
    }

    /// Stops reading.
    func stop() { manager.stop() }
}
