internal import IMUDrivers
internal import JostleConfiguration
internal import JostleRuntime
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// Reads a sensor for some seconds and judges what it measures at rest.
enum SensorMeasurement {
    /// The length of the measurement, s, and what the sensor may take to start.
    private static let duration = 3.0
    private static let startTime = 3.0

    /// What a user can do about a sensor that answered a moment ago.
    private static let nextSteps = ["Check the wires, and power the board off and on", "jostle scan"]

    /// Runs the chip's self-test, if it has one, and measures.
    ///
    /// - Throws: status 75 if the user interrupts.
    static func findings(
        _ subject: SensorExamination.Subject, _ settings: JostleSettings, stateDirectory: String, signals: SignalWaiter
    ) throws -> [Finding] {
        var findings: [Finding] = []
        if case .chip(let choice) = subject, let finding = selfTest(choice) { findings.append(finding) }
        let device: any SensorDevice
        do {
            device = try settings.sensorSelection.open(settings.imu)
        } catch {
            let status = Failure(error).status
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
    ) throws -> [Finding] {
        let manager = MotionManager(
            sensor: settings.sensorSelection, imu: settings.imu, settings: settings.motion.withoutReference,
            updateInterval: 1)
        let inbox = Locked<[MotionSample]>([])
        manager.addSampleHandler { samples in inbox.withLock { $0 += samples } }
        try manager.start(with: device)
        defer { manager.stop() }
        let deadline = WallClock.monotonic.advanced(bySeconds: startTime + duration)
        while WallClock.monotonic < deadline, length(inbox) < duration {
            if signals.wait(seconds: 0.05) { throw Failure(.temporary, "interrupted") }
        }
        let samples = inbox.withLock { $0 }
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
    private static func length(_ inbox: Locked<[MotionSample]>) -> Double {
        inbox.withLock { samples in
            guard let first = samples.first, let last = samples.last else { return 0 }
            return last.timestamp.seconds(since: first.timestamp)
        }
    }

    // MARK: Self-test and calibration

    /// The self-test of an MPU-6050; nothing for other chips.
    private static func selfTest(_ choice: SensorScan.Choice) -> Finding? {
        do {
            let report = try SensorSelfTest.run(on: choice)
            switch report.verdict {
            case .passed: return .ok(.selfTest, "every axis responds as at the factory")
            case .failed:
                return .failed(
                    .selfTest, "an axis deviates by more than 14 % from the factory's response",
                    ["jostle scan --self-test   # shows the axis", "Replace the sensor if it fails again at rest"])
            case .noTrim:
                return .ok(.selfTest, "not possible: the chip holds no factory values, as is common in copies")
            case .disturbed:
                let movement = report.disturbance.map { ": \($0.explanation)" } ?? ""
                return .unknown(
                    .selfTest, "the board did not lie still\(movement)", "Lay it still, and run jostle doctor again")
            }
        } catch {
            switch error {
            case .anotherChip: return nil
            case .unavailable, .interrupted: return .unknown(.selfTest, "\(error)")
            }
        }
    }

    /// The chip's calibration. There need not be one.
    private static func calibration(of name: String, in directory: String) -> (StoredCalibration?, Finding) {
        do {
            guard let known = try CalibrationStore(stateDirectory: directory).load(name) else {
                return (nil, .ok(.calibration, "none; jostle calibrate makes the attitude more exact"))
            }
            return (known, .ok(.calibration, "there is one for this chip"))
        } catch {
            return (nil, .warning(.calibration, "\(error)", "jostle calibrate gyro   # makes a new one"))
        }
    }
}

/// What a board at rest measures, from its samples along the sensor's axes.
struct RestStatistics: Equatable {
    /// The least number of samples that says something.
    static let fewest = 50

    /// Samples a second, by their times.
    let rate: Double

    /// Interruptions of the stream.
    let gaps: Int

    let acceleration: Axes
    /// `nil` if the chip has no gyroscope.
    let rotation: Axes?

    /// The statistics of three axes, in the unit of the quantity.
    struct Axes: Equatable {
        var mean: Vector3
        /// The largest standard deviation of an axis: noise and movement.
        var deviation: Double
        /// The largest noise of an axis: the standard deviation without slow movement, from the differences of successive
        /// samples.
        var noise: Double
        /// The axes that always had the same value.
        var constant: [Int]
        /// The axes that were always at the end of their range.
        var clipped: [Int]

        /// The statistics of the values that `value` takes from samples, and `clipping` from their flags.
        init(
            _ samples: [MotionSample], _ value: (MotionSample) -> Vector3, _ clipping: (Int) -> MotionSample.Flags
        ) {
            let values = samples.map(value)
            let center = values.reduce(.zero, +) * (1 / Double(values.count))
            let steps = zip(values.dropFirst(), values).map { $0 - $1 }
            mean = center
            deviation = Axes.largestRMS(values.map { $0 - center })
            // The difference of two values has twice the variance of one.
            noise = Axes.largestRMS(steps) / 2.0.squareRoot()
            constant = (0..<3).filter { axis in steps.allSatisfy { $0[axis] == 0 } }
            clipped = (0..<3).filter { axis in samples.allSatisfy { $0.flags.isSuperset(of: clipping(axis)) } }
        }

        /// The root mean square along the axis that has the largest.
        private static func largestRMS(_ vectors: [Vector3]) -> Double {
            let squares = (0..<3).map { axis in vectors.reduce(0) { $0 + $1[axis] * $1[axis] } }
            return ((squares.max() ?? 0) / Double(vectors.count)).squareRoot()
        }
    }

    /// `nil` if there are too few samples.
    init?(_ samples: [MotionSample]) {
        guard samples.count >= Self.fewest, let first = samples.first, let last = samples.last,
            last.timestamp > first.timestamp
        else { return nil }
        rate = Double(samples.count - 1) / last.timestamp.seconds(since: first.timestamp)
        gaps = samples.dropFirst().count { $0.flags.contains(.afterGap) }
        acceleration = Axes(samples, \.acceleration, MotionSample.Flags.accelerationClipped(axis:))
        let hasRotation = samples.allSatisfy { $0.flags.contains(.rotationRate) }
        rotation = hasRotation ? Axes(samples, \.rotationRate, MotionSample.Flags.rotationRateClipped(axis:)) : nil
    }

    // MARK: Limits

    /// Noise in one axis from which on a sensor is suspicious: three to ten times that of the supported chips with the
    /// widest low-pass, m/s² and rad/s.
    private static let noisyAcceleration = 0.3
    private static let noisyRotation = 0.5 * radiansPerDegree

    /// The standard deviation from which on the board was moved, m/s² and rad/s.
    private static let movedAcceleration = 0.5
    private static let movedRotation = 2 * radiansPerDegree

    /// The error of gravity that a calibration mends, m/s².
    private static let offCalibration = 0.6

    // MARK: Findings

    /// Rate, noise and gravity. `nominal` is the nominal rate, Hz, of the chip that is driven as `part`, whose errors are those of
    /// `calibration`.
    func findings(
        nominal: Double, part: String, calibration: AccelerometerCalibration = AccelerometerCalibration()
    ) -> [Finding] {
        [rateFinding(nominal: nominal)] + quality(of: part, calibration)
    }

    private func rateFinding(nominal: Double) -> Finding {
        let text = "\(decimal(rate, 1)) Hz, nominally \(decimal(nominal, 1)) Hz"
        if gaps > 0 {
            return .warning(
                .rate, "\(text), with \(gaps) interruptions",
                "Check the wires: a loose contact, or wires that are too long",
                "If the board is busy, run Jostle as the service, which has a higher priority")
        }
        // An MPU-6050's oscillator is within 5 %; copies are worse.
        guard abs(rate / nominal - 1) < 0.1 else {
            return .warning(
                .rate, "\(text): the chip's clock is off by more than 10 %", "jostle scan   # a copy of another chip?")
        }
        return .ok(.rate, text)
    }

    private func quality(of part: String, _ calibration: AccelerometerCalibration) -> [Finding] {
        if let dead = deadSensor { return [dead] }
        guard acceleration.deviation <= Self.movedAcceleration, (rotation?.deviation ?? 0) <= Self.movedRotation else {
            return [
                .unknown(
                    .noise, "the board was moved during the measurement", "Lay it still, and run jostle doctor again")
            ]
        }
        let words =
            "accelerometer \(decimal(acceleration.noise, 3)) m/s²"
            + (rotation.map { ", gyroscope \(decimal($0.noise * degreesPerRadian, 3)) °/s" } ?? "")
        let isNoisy = acceleration.noise > Self.noisyAcceleration || (rotation?.noise ?? 0) > Self.noisyRotation
        let noise: Finding =
            isNoisy
            ? .warning(
                .noise, "\(words): much for a board at rest",
                "If nothing near it vibrates, check the 3V3 supply and the wires of the sensor")
            : .ok(.noise, words)
        return [noise, gravity(of: part, calibration)].compactMap { $0 }
    }

    /// A sensor that answers, but does not measure.
    private var deadSensor: Finding? {
        let step = "Power the board off and on; if that does not help, the chip is broken"
        let quantities: [(MeasurementFault.Sensor, Axes?)] = [(.accelerometer, acceleration), (.gyroscope, rotation)]
        for (sensor, axes) in quantities {
            guard let axes else { continue }
            if let axis = axes.clipped.first {
                return .failed(.noise, MeasurementFault(sensor, axis: axis, .clipped).explanation, [step])
            }
            if axes.constant.count == 3 { return .failed(.noise, "the \(sensor)'s values never change", [step]) }
            for axis in axes.constant where sensor == .accelerometer && axes.mean[axis] == 0 {
                return .failed(.noise, "the accelerometer's \(["x", "y", "z"][axis]) axis always reads 0", [step])
            }
        }
        return nil
    }

    /// Whether the specific force at rest is gravity; `nil` if it is.
    private func gravity(of part: String, _ calibration: AccelerometerCalibration) -> Finding? {
        let length = calibration.apply(acceleration.mean).length
        let text =
            "at rest the accelerometer reads \(decimal(length, 2)) m/s² instead of \(decimal(standardGravity, 2))"
        if let finding = GravityCheck.finding(driving: part, atRest: length) {
            return .failed(.noise, "\(text): \(finding.meaning.text)", [finding.meaning.step])
        }
        guard abs(length - standardGravity) > Self.offCalibration else { return nil }
        return .warning(.calibration, text, "jostle calibrate accelerometer")
    }
}
