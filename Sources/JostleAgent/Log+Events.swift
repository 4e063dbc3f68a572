internal import IMUDrivers
internal import MosquittoClient
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

    /// Says what happened to the outbox.
    func report(_ note: OutboxKeeper.Note) {
        switch note {
        case .setAside(let name, let reason, let saved):
            error("the outbox was damaged (\(reason)): it lies in \(name) now; \(saved) messages of it were saved")
        case .storeFailed(let reason):
            error("the outbox cannot be written: \(reason); until it can, a restart loses what is on its way")
        case .storeWorks: info("the outbox is written again")
        case .dropped(let count):
            warning("\(count) messages were dropped: the outbox is full, or the broker refused them")
        case .expired(let count): warning("\(count) messages grew too old before they could be sent")
        }
    }

    /// Says what happened to the connection.
    func report(_ event: MQTTEvent) {
        switch event {
        case .connected(let connection): info("connected to \(connection.broker) with MQTT \(connection.version)")
        case .refused(let end), .disconnected(let end):
            let advice = end.failure.advice.map { "; \($0)" } ?? ""
            let retry = end.retryAfter.map { "; trying again in \($0.seconds.rounded(to: 1)) s" } ?? ""
            if end.retryAfter == nil {
                debug("disconnected from \(end.broker)")
            } else {
                warning("\(end.broker): \(end.failure)\(advice)\(retry)")
            }
        case .subscriptionRefused(let filter, let reason): warning("may not subscribe to \(filter): \(reason)")
        case .rejected(_, let failure): warning("the broker rejects a message: \(failure)")
        case .connecting(let broker, let version): debug("connecting to \(broker) with MQTT \(version)")
        case .subscribed, .message, .acknowledged, .stopped: break
        }
    }
}

extension Duration {
    /// The duration in seconds.
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}

extension Double {
    /// A number for people, with at most this many decimals.
    func rounded(to decimals: Int) -> String { JSONObject.number(self, decimals: decimals) }
}

/// A limiter for a handler that any thread may call.
final class SharedLineLimiter: Sendable {
    private let limiter = Mutex(LineLimiter())

    /// As `LineLimiter.admit(at:)`, now.
    func admit() -> Int? { limiter.withLock { $0.admit(at: WallClock.monotonic) } }
}
