internal import LinuxSensors
internal import LinuxSystem
package import MotionCore
internal import Synchronization

/// Calibrates a running manager's sensor, and reports after each step what to do with the board.
///
/// It runs on its own thread and calls `onStep` there. Nothing changes before the last step, `done`. After that, the
/// calibration is in use and saved, and attitude and reference start again.
package final class GuidedCalibration: Sendable {
    /// The sensor to calibrate.
    package enum Subject: Equatable, Sendable {
        /// The gyroscope's bias. The board has to lie still for `biasSeconds`, and two more seconds for the check.
        case gyroscope
        /// The accelerometer's offset, scale and cross-axis sensitivity, from this number of rests on different sides.
        case accelerometer(poses: Int)
        /// The magnetometer's hard iron and soft iron. The board lies still for three seconds, and is then turned in all
        /// directions.
        case magnetometer
    }

    /// The allowed numbers of poses.
    package static let poses = 6...20

    /// How long a rest is averaged for a bias, seconds. With an MPU-6050's noise, the bias is then accurate to 0.002 °/s.
    package static let biasSeconds = 10.0

    /// A step of the calibration.
    package enum Step: Equatable, Sendable {
        /// The number of accepted poses, the number needed, and the side that should face up next.
        case pose(Int, of: Int, next: String)
        /// Why the last pose was not accepted. The board has to lie differently.
        case refused(String)
        /// The part of all directions of the board that have pointed up, and what to do next.
        case turning(coverage: Double, advice: String)
        /// The calibration is in use. The errors that remained before and after it, rad/s (gyroscope), m/s²
        /// (accelerometer) or µT (the hard iron of the magnetometer).
        case done(before: Double, after: Double)
        /// Why the calibration ended without a change.
        case failed(String)
    }

    private let thread: Mutex<WorkerThread?>
    private let session: CalibrationSession

    /// Starts to calibrate, and gives up after `limit` seconds.
    ///
    /// - Throws: `notRunning`, or `resources` if the system has no file descriptor or thread left.
    package init(
        _ subject: Subject, of manager: MotionManager, limit: Double, onStep: @escaping @Sendable (Step) -> Void
    ) throws(CalibrationError) {
        let session = try CalibrationSession(manager: manager, hasField: subject == .magnetometer)
        let deadline = SystemClock().now().advanced(bySeconds: limit)
        let thread = WorkerThread(name: "jostle-calibrat") {
            do {
                switch subject {
                case .gyroscope: onStep(try Self.gyroscope(manager, session, until: deadline))
                case .accelerometer(let poses):
                    onStep(try Self.accelerometer(manager, session, poses: poses, until: deadline, onStep))
                case .magnetometer: onStep(try Self.magnetometer(manager, session, until: deadline, onStep))
                }
            } catch {
                onStep(.failed("\(error)"))
            }
        }
        guard let thread else { throw CalibrationError.resources }
        self.session = session
        self.thread = Mutex(thread)
    }

    deinit {
        cancel()
    }

    /// Cancels the calibration. If it is not done yet, nothing changes. Waits for the thread, and so for the last call of
    /// `onStep`, for a second at most.
    package func cancel() {
        session.cancel()
        thread.withLock { $0.take() }?.join(within: 1)
    }

    // MARK: On its thread

    private static func pose(
        _ session: CalibrationSession, until deadline: Timestamp
    ) throws(CalibrationError) -> RestingPose {
        try session.nextPose(timeout: deadline.seconds(since: SystemClock().now()))
    }

    private static func gyroscope(
        _ manager: MotionManager, _ session: CalibrationSession, until deadline: Timestamp
    ) throws -> Step {
        let before = manager.calibration
        session.reset(seconds: biasSeconds)
        let rest = try pose(session, until: deadline)
        // The reported errors come from a second rest, because the bias always fits the rest that it was measured in.
        session.reset()
        let check = try pose(session, until: deadline)
        guard let known = manager.calibration, manager.state?.hasRotationRate == true else {
            throw Failure(.unavailable, "the sensor has no gyroscope, or is not read any more")
        }
        var calibration = known
        calibration.take(bias: rest, seconds: biasSeconds)
        try manager.setCalibration(calibration)
        return .done(before: (before ?? known).remainingRate(of: check), after: calibration.remainingRate(of: check))
    }

    private static func accelerometer(
        _ manager: MotionManager, _ session: CalibrationSession, poses wanted: Int, until deadline: Timestamp,
        _ onStep: (Step) -> Void
    ) throws -> Step {
        var fit = AccelerometerFit()
        while true {
            switch try fit.take(try pose(session, until: deadline), after: session.lastTurn, of: wanted) {
            case .refused(let error): onStep(.refused("\(error)"))
            case .needsMore(let up):
                onStep(.pose(fit.poses.count, of: max(wanted, fit.poses.count + 1), next: side(up)))
            case .solved(let solution): return try finish(solution, fit, manager)
            }
        }
    }

    /// Seconds between two steps that say how far the turning is.
    private static let stepInterval = 2.0

    private static func magnetometer(
        _ manager: MotionManager, _ session: CalibrationSession, until deadline: Timestamp, _ onStep: (Step) -> Void
    ) throws -> Step {
        let clock = SystemClock()
        var attempts = MagneticAttempts()
        var advice = "it did not lie still"
        var last: Step?
        var nextStep: Timestamp?
        while true {
            let (fit, phase) = try session.readings()
            let now = clock.now()
            guard now < deadline else { throw Failure(.temporary, "the time is up, and \(advice)") }
            if case .resting = phase { continue }
            switch attempts.attempt(fit) {
            case .solved(let solution): return try finish(solution, manager)
            case .refused(let error): throw Failure(.badData, "\(error)")
            case .notYet(.tooFewReadings): advice = "turn it on, best with \(side(fit.missingSide.direction)) up"
            case .notYet(let error): advice = "\(error)"
            case nil: break
            }
            if nextStep == nil {
                advice =
                    "now turn it slowly, a quarter turn a second at most, all the way round, onto each side and upside down"
            }
            let step = Step.turning(
                coverage: fit.coverage, advice: phase == .tooFast ? "turn it more slowly" : advice)
            if step != last, nextStep.map({ now >= $0 }) ?? true {
                onStep(step)
                (last, nextStep) = (step, now.advanced(bySeconds: stepInterval))
            }
        }
    }

    private static func finish(_ solution: MagneticFit.Solution, _ manager: MotionManager) throws -> Step {
        guard let known = manager.calibration else { throw CalibrationError.notRunning }
        var calibration = known
        calibration.take(solution)
        try manager.setCalibration(calibration)
        let before = solution.calibration.hardIron - (known.magnetometer?.hardIron ?? .zero)
        return .done(before: before.length, after: solution.deviation)
    }

    private static func finish(
        _ solution: AccelerometerFit.Solution, _ fit: AccelerometerFit, _ manager: MotionManager
    ) throws -> Step {
        guard let known = manager.calibration else { throw CalibrationError.notRunning }
        var calibration = known
        calibration.take(solution)
        try manager.setCalibration(calibration)
        return .done(
            before: fit.largestError(of: known.chip.accelerometer), after: fit.largestError(of: solution.calibration))
    }
}

extension AccelerometerFit {
    /// What a pose of a guided calibration leads to.
    package enum Progress {
        /// It is not used, and why.
        case refused(AccelerometerFitError)
        /// It is used. The direction that helps most if it is up in the next one.
        case needsMore(up: Vector3)
        case solved(Solution)
    }

    /// Takes a pose, and the turn that led to it; `wanted` poses are needed.
    ///
    /// - Throws: why the poses give no plausible calibration.
    package mutating func take(
        _ pose: RestingPose, after turn: TurnSegment?, of wanted: Int
    ) throws(AccelerometerFitError) -> Progress {
        // Even if the fit refuses the pose, the turn to it is useful.
        if let turn { add(turn) }
        do {
            try add(pose)
        } catch {
            return .refused(error)
        }
        guard poses.count >= wanted else { return .needsMore(up: mostUsefulDirection) }
        do {
            return .solved(try solve())
        } catch {
            // A few more poses may cover the missing direction.
            if case .notSpread(let missing) = error, poses.count < wanted + 4 { return .needsMore(up: missing) }
            throw error
        }
    }

    /// The largest error in the magnitude of gravity over all poses, m/s².
    package func largestError(of calibration: AccelerometerCalibration) -> Double {
        poses.map { abs(calibration.apply($0.force).length - standardGravity) }.max() ?? 0
    }
}

extension StoredCalibration {
    /// If the learnt bias differs from a deliberately measured one by more than this (rad/s), it is discarded.
    private static let largestContradiction = 0.1 * radiansPerDegree

    /// The rotation rate that remains in a rest after calibration, rad/s.
    package func remainingRate(of rest: RestingPose) -> Double {
        effective.gyroscope.apply(rest.rate, temperature: rest.temperature).length
    }

    /// Applies the bias measured in a rest of this many seconds, and adds it to the learnt bias.
    package mutating func take(bias rest: RestingPose, seconds: Double) {
        chip.gyroscope.bias = rest.rate
        if rest.temperature.isFinite { chip.gyroscope.referenceTemperature = rest.temperature }
        biasLine.learn(bias: rest.rate, temperature: rest.temperature)
        let error = (effective.gyroscope.bias(at: rest.temperature) - rest.rate).length
        if error > StoredCalibration.largestContradiction {
            biasLine = BiasTemperatureLine()
            biasLine.learn(bias: rest.rate, temperature: rest.temperature)
        }
        if gyroscopeSource.isEmpty { gyroscopeSource = "rest: \(fixed(seconds, decimals: 0)) s" }
    }
}
