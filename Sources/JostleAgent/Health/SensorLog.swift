internal import IMUDrivers
internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore
internal import MotionKit

/// What is logged about the sensor, a loose wire's thousand events left out.
struct SensorLog {
    private var limiter = TokenBucket.lines

    init() {}

    /// What is to be logged about an event; `nil` for nothing.
    mutating func line(for event: SensorEvent, at now: Timestamp) -> (level: Log.Level, text: String)? {
        let line: (level: Log.Level, text: String)
        switch event {
        case .none: return nil
        case .streaming(let gap) where gap > 0:
            line = (.info, "the sensor measures again, after \(gap.rounded(to: 2)) s")
        case .streaming: line = (.info, "the sensor measures")
        case .gap(let seconds, let fault):
            line = (.warning, "samples of \(seconds.rounded(to: 3)) s are missing: \(fault.explanation)")
        case .failed(let fault): line = (.error, "the sensor is lost: \(fault.explanation); trying again")
        }
        guard let leftOut = limiter.admit(at: now) else { return nil }
        let note = leftOut > 0 ? " (\(leftOut) messages about the sensor were left out before this one)" : ""
        return (line.level, line.text + note)
    }
}

extension Log {
    /// Logs what is known of the chip's errors, or why what is stored of them cannot be used.
    func report(_ calibration: StoredCalibration?, warning problem: CalibrationStoreError?) {
        if let problem { warning("\(problem)") }
        guard let calibration else { return }
        let sources = [
            ("accelerometer", calibration.accelerometerSource), ("gyroscope", calibration.gyroscopeSource),
        ].filter { !$0.1.isEmpty }
        let learntScale = calibration.learntScaleSource
        if !learntScale.isEmpty { info("learnt in movement: the gyroscope's scale and misalignment (\(learntScale))") }
        info(
            sources.isEmpty
                ? "the chip is not calibrated; jostle calibrate does that"
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

extension Double {
    /// A number for people, with at most this many decimals.
    func rounded(to decimals: Int) -> String { NumberText.decimal(self, decimals) }
}
