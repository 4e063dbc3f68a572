internal import LinuxSensors
internal import LinuxSystem
package import MotionCore
internal import Synchronization

/// A calibration of a manager's sensor while it runs, which tells step by step what to do with the board.
///
/// It has a thread of its own, on which `tell` is called; nothing is changed before the last step, `done`. Afterwards the
/// calibration is in force and kept, and attitude and reference begin anew.
package final class GuidedCalibration: Sendable {
    /// What is calibrated.
    package enum Subject: Equatable, Sendable {
        /// The gyroscope's bias: the board lies still for `biasSeconds`, and two seconds more for the check.
        case gyroscope
        /// The accelerometer's offset, scale and cross-axis sensitivity, from so many rests on different sides.
        case accelerometer(poses: Int)
    }

    /// Numbers of poses that can be asked for.
    package static let poses = 6...20

    /// How long a rest is averaged for a bias, seconds: with an MPU-6050's noise it is good to 0.002 °/s then.
    package static let biasSeconds = 10.0

    /// How far it has got.
    package enum Step: Equatable, Sendable {
        /// So many poses of so many are good; best the board lies with this side up next.
        case pose(Int, of: Int, next: String)
        /// The last pose is not used, and why: the board is to be laid otherwise.
        case refused(String)
        /// The calibration is in force: what was left before and after it, rad/s (gyroscope) or m/s² (accelerometer).
        case done(before: Double, after: Double)
        /// Nothing was changed, and why.
        case failed(String)
    }

    /// Why it ended early.
    private struct Failure: Error {
        let reason: String
    }

    private let thread: Mutex<WorkerThread?>
    private let control: Control

    private final class Control: Sendable {
        let session = Mutex<CalibrationSession?>(nil)
        let isCancelled = Atomic<Bool>(false)
    }

    /// Begins to calibrate, for `limit` seconds at most.
    ///
    /// - Throws: `notRunning`, or `resources` where the system has no descriptor or thread left.
    package init(
        _ subject: Subject, of manager: MotionManager, limit: Double, tell: @escaping @Sendable (Step) -> Void
    ) throws(CalibrationError) {
        guard manager.isRunning else { throw CalibrationError.notRunning }
        let control = Control()
        let deadline = SystemClock().now().advanced(bySeconds: limit)
        let thread = WorkerThread(name: "jostle-calibrat") {
            let step: Step
            do throws(Failure) {
                switch subject {
                case .gyroscope: step = try Self.gyroscope(manager, control, until: deadline)
                case .accelerometer(let poses):
                    step = try Self.accelerometer(manager, control, poses: poses, until: deadline, tell)
                }
            } catch {
                step = .failed(error.reason)
            }
            tell(step)
        }
        guard let thread else { throw CalibrationError.resources }
        self.control = control
        self.thread = Mutex(thread)
    }

    deinit {
        cancel()
    }

    /// Ends it, without a change where it is not done; the last step has been told when it returns.
    package func cancel() {
        control.isCancelled.store(true, ordering: .releasing)
        control.session.withLock { $0 }?.cancel()
        thread.withLock { $0.take() }?.join(within: 1)
    }

    // MARK: On its thread

    /// The next rest, or why there is none.
    private static func pose(
        _ session: CalibrationSession, _ control: Control, until deadline: Timestamp
    ) throws(Failure) -> RestingPose {
        do throws(CalibrationError) {
            if control.isCancelled.load(ordering: .acquiring) { throw CalibrationError.cancelled }
            return try session.nextPose(timeout: deadline.seconds(since: SystemClock().now()))
        } catch {
            throw Failure(reason: "\(error)")
        }
    }

    private static func session(
        _ manager: MotionManager, _ control: Control, seconds: Double? = nil
    ) throws(Failure) -> CalibrationSession {
        var parameters = PoseCollector.Parameters()
        if let seconds { parameters.duration = seconds }
        do throws(CalibrationError) {
            let session = try CalibrationSession(manager: manager, parameters: parameters)
            control.session.withLock { $0 = session }
            return session
        } catch {
            throw Failure(reason: "\(error)")
        }
    }

    private static func gyroscope(
        _ manager: MotionManager, _ control: Control, until deadline: Timestamp
    ) throws(Failure) -> Step {
        let before = manager.calibration
        let rest = try pose(try session(manager, control, seconds: biasSeconds), control, until: deadline)
        // The figures are those of a second rest: the first would always fit itself.
        let check = try pose(try session(manager, control), control, until: deadline)
        guard let known = manager.calibration, manager.state?.hasRotationRate == true else {
            throw Failure(reason: "the sensor has no gyroscope, or is not read any more")
        }
        var calibration = known
        calibration.take(bias: rest, seconds: biasSeconds)
        try put(calibration, in: manager)
        return .done(before: remainder(of: check, before ?? known), after: remainder(of: check, calibration))
    }

    /// What a calibration leaves of the rate that is read in a rest, rad/s.
    private static func remainder(of rest: RestingPose, _ calibration: StoredCalibration) -> Double {
        calibration.effective.gyroscope.apply(rest.rate, temperature: rest.temperature).length
    }

    private static func accelerometer(
        _ manager: MotionManager, _ control: Control, poses wanted: Int, until deadline: Timestamp,
        _ tell: (Step) -> Void
    ) throws(Failure) -> Step {
        let session = try session(manager, control)
        var fit = AccelerometerFit()
        while true {
            let pose = try pose(session, control, until: deadline)
            // Also where the pose is refused: the turn from it to the next one counts, too.
            if let turn = session.lastTurn { fit.add(turn) }
            do throws(AccelerometerFitError) {
                try fit.add(pose)
            } catch {
                tell(.refused("\(error)"))
                continue
            }
            var missing = fit.mostUsefulDirection
            if fit.poses.count >= wanted {
                switch solution(of: fit) {
                case .success(let solution): return try finish(solution, fit, manager)
                // A few more poses may bring what these leave out.
                case .failure(.notSpread(let direction)) where fit.poses.count < wanted + 4: missing = direction
                case .failure(let error): throw Failure(reason: "\(error)")
                }
            }
            tell(.pose(fit.poses.count, of: max(wanted, fit.poses.count + 1), next: side(missing)))
        }
    }

    private static func solution(
        of fit: AccelerometerFit
    ) -> Result<AccelerometerFit.Solution, AccelerometerFitError> {
        do throws(AccelerometerFitError) { return .success(try fit.solve()) } catch { return .failure(error) }
    }

    private static func finish(
        _ solution: AccelerometerFit.Solution, _ fit: AccelerometerFit, _ manager: MotionManager
    ) throws(Failure) -> Step {
        guard let known = manager.calibration else { throw Failure(reason: "\(CalibrationError.notRunning)") }
        var calibration = known
        calibration.take(solution)
        try put(calibration, in: manager)
        return .done(
            before: largestError(of: known.chip.accelerometer, fit.poses),
            after: largestError(of: solution.calibration, fit.poses))
    }

    /// By how much gravity comes out wrong in the worst of the poses, m/s².
    private static func largestError(of calibration: AccelerometerCalibration, _ poses: [RestingPose]) -> Double {
        poses.map { abs(calibration.apply($0.force).length - standardGravity) }.max() ?? 0
    }

    private static func put(_ calibration: StoredCalibration, in manager: MotionManager) throws(Failure) {
        do throws(CalibrationStoreError) {
            try manager.setCalibration(calibration)
        } catch {
            throw Failure(reason: "\(error)")
        }
    }
}

extension StoredCalibration {
    /// What rests taught is forgotten where it is further than this (rad/s) from a bias that was measured on purpose.
    private static let largestContradiction = 0.1 * radiansPerDegree

    /// Takes over the bias that was measured in a rest of so many seconds, also in what rests taught.
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
