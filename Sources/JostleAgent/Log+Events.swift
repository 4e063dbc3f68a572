internal import IMUDrivers
internal import JostleConfiguration
internal import JostleMessages
internal import MotionKit
internal import Synchronization

extension Log {
    /// Says what happened to the sensor, as often as `limiter` lets it.
    func report(_ event: IMUPoll.Event, _ limiter: SharedLineLimiter) {
        guard event != .none, let leftOut = limiter.admit() else { return }
        report(event)
        if leftOut > 0 { info("\(leftOut) messages about the sensor were left out before this one") }
    }

    private func report(_ event: IMUPoll.Event) {
        switch event {
        case .none: break
        case .streaming(let gap) where gap > 0: info("the sensor measures again, after \(gap.rounded(to: 2)) s")
        case .streaming: info("the sensor measures")
        case .gap(let seconds, let fault):
            warning("samples of \(seconds.rounded(to: 3)) s are missing: \(fault.explanation)")
        case .failed(let fault): error("the sensor is lost: \(fault.explanation); trying again")
        }
    }

    /// Says what is known of the chip's errors, or why what is kept of them cannot be used.
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

    /// Says what happened to the outbox, of losses as often as `losses` lets it: `health` counts them all.
    func report(_ note: OutboxKeeper.Note, _ losses: SharedLineLimiter) {
        switch note {
        case .setAside(let name, let reason, let saved):
            error("the outbox was damaged (\(reason)): it lies in \(name) now; \(saved) messages of it were saved")
        case .storeFailed(let reason):
            error("the outbox cannot be written: \(reason); until it can, a restart loses what is on its way")
        case .storeWorks: info("the outbox is written again")
        case .dropped(let count):
            guard losses.admit() != nil else { return }
            warning("\(count) messages were dropped: the outbox is full, or the broker refused them")
        case .expired(let count):
            guard losses.admit() != nil else { return }
            warning("\(count) messages grew too old before they could be sent")
        }
    }
}

extension Double {
    /// A number for people, with at most this many decimals.
    func rounded(to decimals: Int) -> String { NumberText.decimal(self, decimals) }
}

/// A limiter for a handler that any thread may call.
final class SharedLineLimiter: Sendable {
    private let limiter = Mutex(LineLimiter())

    /// As `LineLimiter.admit(at:)`, now.
    func admit() -> Int? { limiter.withLock { $0.admit(at: WallClock.monotonic) } }
}
