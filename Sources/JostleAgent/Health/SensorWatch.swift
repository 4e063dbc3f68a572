internal import IMUDrivers
internal import JostleRuntime
internal import MotionCore
internal import MotionKit

/// Checks the sensor periodically for problems that a reader of the log can solve: clipped readings, a data-ready line
/// that cannot be used, and an accelerometer that does not measure gravity at rest.
struct SensorWatch {
    /// Seconds between checks.
    static let interval = 5.0

    /// The minimum time between remarks about clipping, s.
    private static let clippingInterval = 60.0

    /// A message for the log.
    struct Remark: Equatable {
        var isWarning = true
        var text: String
    }

    /// What is wrong with the scale of the accelerometer; `nil` if nothing is.
    private(set) var gravity: GravityCheck.Finding?

    /// Whether the magnetometer measured at the last check; `nil` before the first.
    private var hasField: Bool?
    private var lastReported = IMUStatus()
    private var nextClipping = Timestamp(nanoseconds: .min)

    /// Compares the counters with those at the last call, and returns the remarks to log.
    mutating func remarks(on status: IMUStatus, _ info: IMUInfo?, at now: Timestamp) -> [Remark] {
        var remarks: [Remark] = []
        if now >= nextClipping {
            let found = clipping(status, info)
            if !found.isEmpty { nextClipping = now.advanced(bySeconds: SensorWatch.clippingInterval) }
            remarks += found
        }
        if let remark = dataReady(status.dataReady) { remarks.append(remark) }
        return remarks
    }

    /// Judges the mean force of a long rest, m/s², and returns the remark to log when the result changes.
    mutating func remark(onRest length: Double?, _ info: IMUInfo?) -> Remark? {
        guard let length, let info else { return nil }
        let found = GravityCheck.finding(driving: "\(info.name)", atRest: length)
        let isNew = (found == nil) != (gravity == nil) || found?.likely != gravity?.likely
        gravity = found
        guard isNew else { return nil }
        let measured = "at rest the accelerometer reads \(length.rounded(to: 2)) m/s²"
        guard let found else { return Remark(isWarning: false, text: "\(measured), as a \(info.name) should") }
        return Remark(text: "\(measured), \(found.factor.rounded(to: 2)) times gravity: \(found.advice)")
    }

    /// The remark to log when a magnetometer does not measure, or measures again.
    mutating func remark(onMagnetometer name: String?, _ status: MagnetometerStatus?) -> Remark? {
        guard let name, let status else { return nil }
        guard status.state == .measuring || status.state == .recovering else { return nil }
        let measures = status.state == .measuring
        defer { hasField = measures }
        guard measures != hasField ?? true else { return nil }
        guard !measures else { return Remark(isWarning: false, text: "the magnetometer \(name) measures again") }
        let fault = status.lastFault.map { ": \($0.explanation)" } ?? ""
        return Remark(text: "the magnetometer \(name) does not measure\(fault); the heading drifts, trying again")
    }

    private mutating func clipping(_ status: IMUStatus, _ info: IMUInfo?) -> [Remark] {
        guard let info else { return [] }
        var remarks: [Remark] = []
        let accelerations = status.clippedAccelerations &- lastReported.clippedAccelerations
        if accelerations > 0 {
            let advice = SensorWatch.advice(
                "sensor.accelerometer_range", info.accelerometerRange / standardGravity, [2, 4, 8, 16], "g")
            remarks.append(Remark(text: "\(accelerations) samples of the accelerometer were clipped: \(advice)"))
        }
        let rotations = status.clippedRotationRates &- lastReported.clippedRotationRates
        if rotations > 0 {
            let advice = SensorWatch.advice(
                "sensor.gyroscope_range", info.gyroscopeRange * degreesPerRadian, [250, 500, 1000, 2000], "°/s")
            remarks.append(Remark(text: "\(rotations) samples of the gyroscope were clipped: \(advice)"))
        }
        lastReported.clippedAccelerations = status.clippedAccelerations
        lastReported.clippedRotationRates = status.clippedRotationRates
        return remarks
    }

    /// Suggests the next larger of the selectable `ranges`.
    static func advice(_ key: String, _ range: Double, _ ranges: [Double], _ unit: String) -> String {
        // A chip's range may differ from its nominal value by a rounding error.
        guard let next = ranges.first(where: { $0 > range * 1.001 }) else {
            return "±\(range.rounded(to: 0)) \(unit) is already the largest range"
        }
        return "set \(key): \(next.rounded(to: 0)) \(unit)"
    }

    private mutating func dataReady(_ status: DataReadyStatus) -> Remark? {
        defer { lastReported.dataReady = status }
        let was = lastReported.dataReady
        if status.state == .used, was.state != .used {
            return Remark(isWarning: false, text: "the data-ready line is used to time the samples")
        }
        // A retry that fails again is not reported again.
        guard status.failures > was.failures, was.failures == 0 || was.state == .used else { return nil }
        switch status.lastFault {
        case .silent:
            let fault = "no edges on the data-ready line: check sensor.interrupt and the wire to the INT pin; "
            return Remark(text: fault + "until then sample times are estimated from the FIFO's fill level")
        case .mismatched:
            let fault =
                "the data-ready line's edges do not match the samples, whose times are estimated from the FIFO's fill level; "
            return Remark(text: fault + "if this lasts, check sensor.interrupt and the wire")
        case .unsupported:
            let fault =
                "this chip's pin does not pulse with each sample, so sample times are estimated from the FIFO's fill level; "
            return Remark(text: fault + "remove sensor.interrupt from the configuration")
        case nil:
            return nil
        }
    }
}

/// Chooses what to log about the sensor, so that a loose wire does not fill the log.
struct SensorLog {
    private var limiter = TokenBucket.lines

    init() {}

    /// The line to log for an event; `nil` for none.
    mutating func line(for event: SensorEvent, at now: Timestamp) -> (level: Log.Level, text: String)? {
        let line: (level: Log.Level, text: String)
        switch event {
        case .none: return nil
        case .streaming(let gap) where gap > 0:
            line = (.info, "the sensor is measuring again, after a gap of \(gap.rounded(to: 2)) s")
        case .streaming: line = (.info, "the sensor is measuring")
        case .gap(let seconds, let fault):
            line = (.warning, "\(seconds.rounded(to: 3)) s of samples are missing: \(fault.explanation)")
        case .failed(.measurement(let fault)):
            line = (.error, "the sensor's samples are not used: \(fault.explanation)")
        case .failed(let fault): line = (.error, "the sensor is lost: \(fault.explanation); trying again")
        }
        guard let leftOut = limiter.admit(at: now) else { return nil }
        let note = leftOut > 0 ? " (\(leftOut) earlier messages about the sensor were suppressed)" : ""
        return (line.level, line.text + note)
    }
}

extension Log {
    /// Logs the source of the chip's calibration, or why a stored calibration cannot be used.
    func report(_ calibration: StoredCalibration?, warning problem: CalibrationStoreError?) {
        if let problem { warning("\(problem)") }
        guard let calibration else { return }
        let sources = calibration.sources.filter { !$0.source.isEmpty }
        let learntScale = calibration.learntScaleSource
        if !learntScale.isEmpty {
            info("estimated from movement: the gyroscope's scale factors and misalignment (\(learntScale))")
        }
        info(
            sources.isEmpty
                ? "the chip is not calibrated; to calibrate it, run jostle calibrate"
                : "calibrated: " + sources.map { "\($0.name) (\($0.source))" }.joined(separator: ", "))
    }
}

extension Log {
    /// Logs that the reference attitude was taken by the policy `start`.
    func report(_ change: ReferenceChange) {
        switch change.origin {
        case .rest: info("the reference attitude was taken at rest: the attitude reads zero here")
        case .deadline:
            warning(
                "the board has not been at rest for 30 s: the reference attitude was taken in motion and may be off by "
                    + "some degrees; send the command tare when it lies still")
        case .none, .request: break
        }
    }
}

// The values in payloads are the names of the cases.
extension DataReadyStatus.State {
    var word: String { "\(self)" }
}

extension DataReadyFault {
    var word: String { "\(self)" }
}

extension IMUState {
    var word: String { "\(self)" }
}

extension MagnetometerState {
    var word: String { "\(self)" }
}

extension StoredCalibration {
    /// The source of each sensor's calibration; an empty text for one that is not calibrated.
    var sources: [(name: String, source: String)] {
        [("accelerometer", accelerometerSource), ("gyroscope", gyroscopeSource), ("magnetometer", magnetometerSource)]
    }
}
