internal import IMUDrivers
internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore
internal import MotionKit
internal import Synchronization

/// Reads a sensor for some seconds and judges what it measures at rest.
enum SensorMeasurement {
    /// The length of the measurement, s, and what the sensor may take to start.
    private static let duration = 3.0
    private static let startTime = 3.0

    /// What a user can do about a sensor that answered a moment ago.
    private static let nextSteps = ["Check the wires, and power the board off and on", "jostle scan"]

    private final class Inbox: Sendable {
        let samples = Mutex<[MotionSample]>([])
    }

    /// Runs the chip's self-test, if it has one, and measures.
    ///
    /// - Throws: status 75 if the user interrupts.
    static func findings(
        _ subject: SensorExamination.Subject, _ settings: JostleSettings, stateDirectory: String, signals: SignalWaiter
    ) throws(CommandFailure) -> [Finding] {
        var findings: [Finding] = []
        if case .chip(let choice) = subject { findings += selfTest(choice) }
        let device: any SensorDevice
        do throws(SensorError) {
            device = try settings.sensorSelection.open(settings.imu)
        } catch {
            let status = CommandFailure(error).status
            return findings + [
                .failed(
                    .rate, "the sensor cannot be read: \(error.description(in: .agent))", nextSteps, status: status)
            ]
        }
        findings += device.notes.map { .warning(.rate, $0) }
        let (known, finding) = calibration(of: device.storageName, in: stateDirectory)
        findings.append(finding)
        return findings + (try measure(device, settings, known, signals))
    }

    // MARK: The measurement

    private static func measure(
        _ device: any SensorDevice, _ settings: JostleSettings, _ calibration: StoredCalibration?,
        _ signals: SignalWaiter
    ) throws(CommandFailure) -> [Finding] {
        let manager = MotionManager(
            sensor: settings.sensorSelection, imu: settings.imu, settings: settings.motion.withoutReference,
            updateInterval: 1)
        let inbox = Inbox()
        manager.addSampleHandler { samples in inbox.samples.withLock { $0 += samples } }
        do throws(SensorError) { try manager.start(with: device) } catch { throw CommandFailure(error) }
        defer { manager.stop() }
        let deadline = WallClock.monotonic.advanced(bySeconds: startTime + duration)
        while WallClock.monotonic < deadline, length(inbox) < duration {
            if signals.wait(seconds: 0.05) { throw CommandFailure(.temporary, "interrupted") }
        }
        let samples = inbox.samples.withLock { $0 }
        guard length(inbox) >= duration, let statistics = RestStatistics(samples) else {
            let fault = manager.sensorStatus?.lastFault.map { ": \($0.explanation)" } ?? ""
            let time = decimal(startTime + duration, 0)
            return [
                .failed(
                    .rate, "the sensor gave \(samples.count) samples in \(time) s, and then none\(fault)", nextSteps)
            ]
        }
        let info = manager.sensorInfo
        return statistics.findings(
            nominal: info?.nominalRate ?? settings.imu.rate, part: info.map { "\($0.name)" } ?? "",
            calibration: calibration?.chip.accelerometer ?? AccelerometerCalibration())
    }

    /// The time between the first and the last sample, s.
    private static func length(_ inbox: Inbox) -> Double {
        inbox.samples.withLock { samples in
            guard let first = samples.first, let last = samples.last else { return 0 }
            return last.timestamp.seconds(since: first.timestamp)
        }
    }

    // MARK: Self-test and calibration

    /// The self-test of an MPU-6050; nothing for other chips.
    private static func selfTest(_ choice: SensorScan.Choice) -> [Finding] {
        do throws(SensorSelfTest.Failure) {
            let report = try SensorSelfTest.run(on: choice)
            switch report.verdict {
            case .passed: return [.ok(.selfTest, "every axis responds as at the factory")]
            case .failed:
                return [
                    .failed(
                        .selfTest, "an axis deviates by more than 14 % from the factory's response",
                        ["jostle scan --self-test   # shows the axis", "Replace the sensor if it fails again at rest"])
                ]
            case .noTrim:
                return [.ok(.selfTest, "not possible: the chip holds no factory values, as is common in copies")]
            case .disturbed:
                let movement = report.disturbance.map { ": \($0.explanation)" } ?? ""
                return [
                    .unknown(
                        .selfTest, "the board did not lie still\(movement)", "Lay it still, and run jostle doctor again"
                    )
                ]
            }
        } catch {
            switch error {
            case .anotherChip: return []
            case .unavailable, .interrupted: return [.unknown(.selfTest, "\(error)")]
            }
        }
    }

    /// The chip's calibration. There need not be one.
    private static func calibration(of name: String, in directory: String) -> (StoredCalibration?, Finding) {
        do throws(CalibrationStoreError) {
            guard let known = try CalibrationStore(stateDirectory: directory).load(name) else {
                return (nil, .ok(.calibration, "none; jostle calibrate makes the attitude more exact"))
            }
            return (known, .ok(.calibration, "there is one for this chip"))
        } catch {
            return (nil, .warning(.calibration, "\(error)", "jostle calibrate gyro   # makes a new one"))
        }
    }
}
