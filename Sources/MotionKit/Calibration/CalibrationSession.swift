package import IMUDrivers
internal import LinuxSensors
internal import LinuxSystem
package import MotionCore
internal import Synchronization

/// Collects poses, and the turns between them, from a manager's sensor, for the fits of MotionCore; and the readings of its
/// magnetometer, if they are asked for.
///
/// A session receives samples from `init` until `finish` or `deinit`. One thread at a time may use it and wait in
/// `nextPose` or `readings`. Do not use it in a handler: poses arrive on the delivery thread, which the wait would block. Poses and
/// turns are along the sensor's axes and not calibrated.
package final class CalibrationSession: Sendable {
    private struct State {
        var sequence = PoseSequence()
        var progress: PoseSequence.Progress?
        /// The last pose, until `nextPose` returns it.
        var pending: RestingPose?
        /// The readings of the magnetometer.
        var magnetic: MagneticReadings?
        var failure: IMUFault?
        var isCancelled = false
    }

    private let manager: MotionManager
    private let state: Mutex<State>
    private let wake: WakeSignal
    private let tokens = Mutex<[HandlerToken]>([])

    /// Starts to collect from a running manager, also from its magnetometer if `hasField`.
    ///
    /// - Throws: `notRunning`, or `resources` if the system has no file descriptor left.
    package init(manager: MotionManager, hasField: Bool = false) throws(CalibrationError) {
        guard manager.isRunning, let known = manager.calibration else { throw CalibrationError.notRunning }
        guard let wake = WakeSignal() else { throw CalibrationError.resources }
        self.manager = manager
        self.wake = wake
        state = Mutex(State(magnetic: hasField ? MagneticReadings(known: known) : nil))
        var added = [
            manager.addSampleHandler { [weak self] in self?.take($0) },
            manager.addSensorHandler { [weak self] event, _ in self?.take(event) },
        ]
        if hasField { added.append(manager.addMagneticFieldHandler { [weak self] in self?.take($0) }) }
        let all = added
        tokens.withLock { $0 = all }
    }

    deinit {
        finish()
    }

    /// Stops collecting.
    package func finish() {
        let tokens = self.tokens.withLock { tokens in
            defer { tokens = [] }
            return tokens
        }
        for token in tokens { token.remove() }
    }

    /// Makes the present or next call of `nextPose` throw `cancelled`. Any thread may call this.
    package func cancel() {
        state.withLock { $0.isCancelled = true }
        wake.signal()
    }

    /// Discards all poses, and averages the next rests for `seconds`, by default the collector's two. The next rest is a
    /// pose even if the sensor was not moved: call this before asking for one particular pose.
    package func reset(seconds: Double? = nil) {
        state.withLock { state in
            state.sequence = PoseSequence(duration: seconds)
            state.pending = nil
            state.progress = nil
        }
    }

    /// The turn from the previous pose to the last one, without a rest in between; `nil` if there was none or its
    /// recording is unusable (see `lastDamage`).
    package var lastTurn: TurnSegment? { state.withLock { $0.sequence.lastTurn } }

    /// Why the recording of the turn to the last pose is unusable; `nil` if it is usable.
    package var lastDamage: TurnRecorder.Damage? { state.withLock { $0.sequence.lastDamage } }

    /// Waits until the sensor has been moved and lies still, and averages its readings. The first pose, and the first
    /// after `reset`, needs no movement.
    ///
    /// - Parameters:
    ///   - timeout: seconds to wait.
    ///   - progress: called on this thread when the progress changes.
    /// - Returns: the pose.
    /// - Throws: `cancelled`, `sensorFailed`, `notRunning` or `timedOut`.
    package func nextPose(
        timeout: Double = 120, progress: (PoseSequence.Progress) -> Void = { _ in }
    ) throws(CalibrationError) -> RestingPose {
        let clock = SystemClock()
        let deadline = clock.now().advanced(bySeconds: min(max(timeout, 0), 1e6))
        var reported: PoseSequence.Progress?
        while true {
            let (pose, latest, failure, isCancelled) = state.withLock { state in
                defer {
                    // The progress of this pose must not be reported to the next call.
                    if state.pending != nil { state.progress = nil }
                    state.pending = nil
                    state.failure = nil
                    state.isCancelled = false
                }
                return (state.pending, state.progress, state.failure, state.isCancelled)
            }
            if isCancelled { throw CalibrationError.cancelled }
            if let pose {
                progress(.done(pose))
                return pose
            }
            if let failure { throw CalibrationError.sensorFailed(failure) }
            guard manager.isRunning else { throw CalibrationError.notRunning }
            if let latest, latest != reported {
                reported = latest
                progress(latest)
            }
            let left = deadline.seconds(since: clock.now())
            guard left > 0 else { throw CalibrationError.timedOut(latest) }
            // Wake up regularly: a manager that is stopped meanwhile does not signal.
            wake.wait(seconds: min(left, 0.5))
        }
    }

    /// The readings of the magnetometer so far, and what the board is doing. Waits a moment for further ones.
    ///
    /// - Throws: `cancelled`, `sensorFailed`, `notRunning`.
    package func readings() throws(CalibrationError) -> (fit: MagneticFit, phase: MagneticCollector.Phase) {
        wake.wait(seconds: 0.1)
        let (collected, failure, isCancelled) = state.withLock { state in
            defer {
                state.failure = nil
                state.isCancelled = false
            }
            return (
                state.magnetic.map { (fit: $0.collector.fit, phase: $0.collector.phase) }, state.failure,
                state.isCancelled
            )
        }
        if isCancelled { throw CalibrationError.cancelled }
        if let failure { throw CalibrationError.sensorFailed(failure) }
        guard let collected, manager.isRunning else { throw CalibrationError.notRunning }
        return collected
    }

    // MARK: On the delivery thread

    private func take(_ samples: [MotionSample]) {
        state.withLock { state in
            for sample in samples {
                let progress = state.sequence.take(sample)
                if case .done(let pose) = progress { state.pending = pose }
                state.progress = progress
                state.magnetic?.take(sample)
            }
        }
        wake.signal()
    }

    private func take(_ readings: [MagneticSample]) {
        state.withLock { state in
            for reading in readings { state.magnetic?.take(reading) }
        }
    }

    private func take(_ event: SensorEvent) {
        guard case .failed(let fault) = event else { return }
        state.withLock { $0.failure = fault }
        wake.signal()
    }
}

/// Why there is no pose or turn.
package enum CalibrationError: Error, Equatable, Sendable {
    /// The manager is not running.
    case notRunning
    /// The system has no file descriptor left.
    case resources
    /// The sensor did not come to rest in time. The value is the last progress, or `nil` if no sample arrived.
    case timedOut(PoseSequence.Progress?)
    /// `cancel` was called.
    case cancelled
    /// The sensor no longer delivers samples.
    case sensorFailed(IMUFault)
}
