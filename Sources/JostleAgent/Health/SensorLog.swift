internal import IMUDrivers
internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore
internal import MotionKit

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
        let sources = [
            ("accelerometer", calibration.accelerometerSource), ("gyroscope", calibration.gyroscopeSource),
            ("magnetometer", calibration.magnetometerSource),
        ].filter { !$0.1.isEmpty }
        let learntScale = calibration.learntScaleSource
        if !learntScale.isEmpty {
            info("estimated from movement: the gyroscope's scale factors and misalignment (\(learntScale))")
        }
        info(
            sources.isEmpty
                ? "the chip is not calibrated; to calibrate it, run jostle calibrate"
                : "calibrated: " + sources.map { "\($0.0) (\($0.1))" }.joined(separator: ", "))
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
