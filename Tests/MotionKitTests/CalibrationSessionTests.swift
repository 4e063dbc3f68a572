import BrokerTestSupport
import Foundation
import MotionCore
import MotionKit
import Testing
import VirtualIMU

/// Requirement: MotionKit collects the poses and turns for a calibration without a terminal.
@Suite(.timeLimit(.minutes(1))) struct CalibrationSessionTests {
    private let rig = Rig()

    /// Samples of a trajectory at 200 Hz.
    private func samples(_ path: any Trajectory, _ seconds: Double, from start: Double = 100) -> [MotionSample] {
        (0..<Int(seconds * 200)).map { index in
            let time = Double(index) / 200
            let motion = path.motion(at: time)
            return MotionSample(
                timestamp: Timestamp(seconds: start + time), acceleration: motion.specificForce,
                rotationRate: motion.rotationRate, temperature: 25)
        }
    }

    /// Waits for a session's next pose on another thread, so as not to block one of the few threads of the tests.
    private func nextPose(
        _ session: CalibrationSession, timeout: Double = 20, told: Journal<PoseSequence.Progress>? = nil
    ) async -> Result<RestingPose, CalibrationError> {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                do throws(CalibrationError) {
                    let pose = try session.nextPose(timeout: timeout) { told?.append($0) }
                    continuation.resume(returning: .success(pose))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
    }

    @Test func collectsPosesAndTurns() async throws {
        let manager = rig.manager()
        let device = ScriptedDevice()
        try manager.start(with: device)
        let session = try CalibrationSession(manager: manager)
        let path = MotionSequence([Rest(3), Turn(axis: Vector3(1, 0, 0), angle: 1, duration: 1), Rest(3)])
        device.feed(samples(path, 3))
        let told = Journal<PoseSequence.Progress>()
        let first = try await nextPose(session, told: told).get()
        #expect((first.force - Vector3(0, 0, standardGravity)).length < 1e-9)
        #expect(told.entries.last == .done(first))
        #expect(session.lastTurn == nil)

        device.feed(Array(samples(path, 7).dropFirst(600)))
        let more = Journal<PoseSequence.Progress>()
        let second = try await nextPose(session, told: more).get()
        #expect(!more.entries.contains(.done(first)))
        #expect(abs(second.force.angle(to: first.force) - 1) < 1e-6)
        let turn = try #require(session.lastTurn)
        #expect((turn.measuredRotation.rotationVector - Vector3(1, 0, 0)).length < 1e-3)
        #expect(session.lastDamage == nil)
        #expect(session.nextPoseFails(within: 0))
    }

    /// After `reset`, a pose needs no movement before it.
    @Test func acceptsNextRestAfterReset() async throws {
        let manager = rig.manager()
        let device = ScriptedDevice()
        try manager.start(with: device)
        let session = try CalibrationSession(manager: manager)
        device.feed(samples(Rest(), 3))
        _ = try await nextPose(session).get()
        session.reset()
        device.feed(samples(Rest(), 3, from: 103))
        _ = try await nextPose(session).get()
        #expect(session.lastTurn == nil)
    }

    @Test func reportsWhyThereIsNoPose() async throws {
        let manager = MotionManager()
        #expect(throws: CalibrationError.notRunning) { try CalibrationSession(manager: manager) }
        let device = ScriptedDevice()
        try manager.start(with: device)
        let session = try CalibrationSession(manager: manager)
        #expect(throws: CalibrationError.timedOut(nil)) { try session.nextPose(timeout: 0) }
        session.cancel()
        #expect(throws: CalibrationError.cancelled) { try session.nextPose() }
        device.emit(.failed(.stalled))
        #expect(await nextPose(session) == .failure(.sensorFailed(.stalled)))
        manager.stop()
        #expect(throws: CalibrationError.notRunning) { try session.nextPose() }
    }

    /// A cancellation on another thread ends the wait.
    @Test func cancelsWaitFromAnotherThread() async throws {
        let manager = rig.manager()
        let device = try manager.start(feeding: samples(Rest(), 1))
        let session = try CalibrationSession(manager: manager)
        let told = Journal<PoseSequence.Progress>()
        async let outcome = nextPose(session, told: told)
        device.feed(samples(Rest(), 1, from: 101))
        #expect(await eventually { told.count > 0 })
        session.cancel()
        #expect(await outcome == .failure(.cancelled))
    }
}

extension CalibrationSession {
    /// Whether `nextPose` times out.
    fileprivate func nextPoseFails(within seconds: Double) -> Bool {
        do throws(CalibrationError) {
            _ = try nextPose(timeout: seconds)
            return false
        } catch {
            if case .timedOut = error { return true }
            return false
        }
    }
}
