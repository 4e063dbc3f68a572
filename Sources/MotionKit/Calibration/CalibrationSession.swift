package import IMUDrivers
internal import LinuxSensors
internal import LinuxSystem
package import MotionCore
internal import Synchronization

/// Collects poses and the turns between them from a manager's sensor, for the fits of MotionCore.
///
/// It listens from `init` to `finish` or its end of life and is used by one thread at a time, which waits in `nextPose`;
/// not by a handler, since poses come over the delivery thread. What it hands out is along the sensor's axes and not
/// calibrated.
package final class CalibrationSession: Sendable {
    private struct State {
        var sequence: PoseSequence
        var progress: PoseSequence.Progress?
        /// A pose that nobody has asked for yet, and the turn to it.
        var pending: RestingPose?
        var failure: IMUFault?
        var isCancelled = false
    }

    private let manager: MotionManager
    private let state: Mutex<State>
    private let wake: WakeSignal
    private let tokens = Mutex<[HandlerToken]>([])

    /// Begins to listen to a manager that runs.
    ///
    /// - Throws: `notRunning`, or `resources` where the system has no descriptor left.
    package init(
        manager: MotionManager, parameters: PoseCollector.Parameters = PoseCollector.Parameters()
    ) throws(CalibrationError) {
        guard manager.isRunning else { throw CalibrationError.notRunning }
        guard let wake = WakeSignal() else { throw CalibrationError.resources }
        self.manager = manager
        self.wake = wake
        state = Mutex(State(sequence: PoseSequence(parameters: parameters)))
        let samples = manager.addSampleHandler { [weak self] in self?.take($0) }
        let sensor = manager.addSensorHandler { [weak self] event, _ in self?.take(event) }
        tokens.withLock { $0 = [samples, sensor] }
    }

    deinit {
        finish()
    }

    /// Ends listening.
    package func finish() {
        let tokens = self.tokens.withLock { tokens in
            defer { tokens = [] }
            return tokens
        }
        for token in tokens { token.remove() }
    }

    /// Makes `nextPose` end with `cancelled`, also one that is under way; for any thread.
    package func cancel() {
        state.withLock { $0.isCancelled = true }
        wake.signal()
    }

    /// Forgets all poses: the next rest counts, whether the sensor was moved or not. For a pose that was asked for by
    /// name.
    package func reset() {
        state.withLock { state in
            state.sequence.reset()
            state.pending = nil
            state.progress = nil
        }
    }

    /// The turn that led to the last pose: from the pose before, without a rest in between; `nil` where there was none
    /// or its recording is useless, see `lastDamage`.
    package var lastTurn: TurnSegment? { state.withLock { $0.sequence.lastTurn } }

    /// What made the recording of the turn to the last pose useless; `nil` where nothing did.
    package var lastDamage: TurnRecorder.Damage? { state.withLock { $0.sequence.lastDamage } }

    /// Waits until the sensor was moved and lies still, and averages what it reads there. The first pose, and the first
    /// after `reset`, needs no movement.
    ///
    /// - Parameters:
    ///   - timeout: seconds after which it gives up.
    ///   - progress: called on this thread whenever there is news of how far it has got.
    /// - Returns: the pose.
    /// - Throws: why there is none.
    package func nextPose(
        timeout: Double = 120, progress: (PoseSequence.Progress) -> Void = { _ in }
    ) throws(CalibrationError) -> RestingPose {
        let clock = SystemClock()
        let deadline = clock.now().advanced(bySeconds: min(max(timeout, 0), 1e6))
        var told: PoseSequence.Progress?
        while true {
            let (pose, latest, failure, isCancelled) = state.withLock { state in
                defer {
                    // What came of the last pose is no news for whoever asks for the next.
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
            if let latest, latest != told {
                told = latest
                progress(latest)
            }
            let left = deadline.seconds(since: clock.now())
            guard left > 0 else { throw CalibrationError.timedOut(latest) }
            // A manager that is stopped meanwhile rings nobody.
            wake.wait(seconds: min(left, 0.5))
        }
    }

    /// Waits for the next pose, and for the turn that leads to it.
    ///
    /// - Parameters:
    ///   - fullTurns: how many times the sensor is to be turned all the way round the vertical, either way; 0 for a turn
    ///     from one pose to another.
    ///   - timeout: seconds after which it gives up.
    ///   - progress: called on this thread whenever there is news of how far it has got.
    /// - Returns: the turn.
    /// - Throws: why there is none; `noStart` where no pose was collected to begin it.
    package func nextTurn(
        fullTurns: Int = 0, timeout: Double = 120, progress: (PoseSequence.Progress) -> Void = { _ in }
    ) throws(CalibrationError) -> TurnSegment {
        guard state.withLock({ $0.sequence.lastPose != nil }) else { throw CalibrationError.noStart }
        _ = try nextPose(timeout: timeout, progress: progress)
        let (turn, damage) = state.withLock { ($0.sequence.lastTurn, $0.sequence.lastDamage) }
        if let damage { throw CalibrationError.damagedTurn(damage) }
        guard var turn else { throw CalibrationError.noStart }
        turn.fullTurns = abs(fullTurns)
        return turn
    }

    // MARK: On the delivery thread

    private func take(_ samples: [MotionSample]) {
        state.withLock { state in
            for sample in samples {
                let progress = state.sequence.take(sample)
                if case .done(let pose) = progress { state.pending = pose }
                state.progress = progress
            }
        }
        wake.signal()
    }

    private func take(_ event: SensorEvent) {
        guard case .failed(let fault) = event else { return }
        state.withLock { $0.failure = fault }
        wake.signal()
    }
}

/// Why there is no pose or turn.
package enum CalibrationError: Error, Equatable, Sendable {
    /// The manager does not run, or was stopped.
    case notRunning
    /// The system has no file descriptor left.
    case resources
    /// The sensor did not come to rest in time: what it was doing last; `nil` where no sample came.
    case timedOut(PoseSequence.Progress?)
    /// Somebody called `cancel`.
    case cancelled
    /// No samples come any more.
    case sensorFailed(IMUFault)
    /// A turn was asked for before there was a pose that it begins with.
    case noStart
    /// What the gyroscope read during the turn is useless.
    case damagedTurn(TurnRecorder.Damage)
}
