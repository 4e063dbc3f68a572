import BrokerTestSupport
import Foundation
import LinuxSystem
import MotionCore
import StateStorage
import Testing

@testable import MotionKit

/// Requirement: a thread of its own writes what a manager saves for the next run, and retries until it is on the disk.
@Suite(.timeLimit(.minutes(2))) struct MotionManagerStorageTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.absent()
    private let writer = StateWriter()

    private var manager: MotionManager {
        var settings = MotionSettings()
        settings.reference = .stored
        return rig.manager(settings: settings, stateDirectory: directory.path, writer: writer)
    }

    private func rest(rolledBy degrees: Double) -> [MotionSample] {
        Movement.rest(4, rolledBy: degrees)
    }

    /// A stuck disk delays no handler, and the next start uses what is not written yet.
    @Test func stuckDiskDelaysNeitherHandlersNorNextStart() async throws {
        let gate = Gate()
        defer { gate.open() }
        writer.perform { gate.pass() }
        let manager = self.manager
        let states = Counter()
        manager.updateInterval = 0
        manager.addMotionHandler { _ in states.countUp() }
        var movement = Movement(rolledBy: 30)
        let device = try manager.start(feeding: movement.rest(4))
        #expect(await eventually { device.isExhausted && manager.state != nil })
        try manager.takeReference()
        device.feed(movement.rest(0.1))
        #expect(await eventually { manager.state?.hasReference == true })
        // The writer has the job by now, but the disk does not respond.
        let before = states.value
        device.feed(movement.rest(0.1))
        #expect(await eventually { states.value > before })
        manager.stop()
        #expect(directory.names == [])

        let next = try manager.start(feeding: rest(rolledBy: 30))
        #expect(await eventually { next.isExhausted && manager.state?.hasReference == true })
        #expect(abs(manager.attitude?.eulerAngles.roll ?? 1) < 0.01)
        manager.stop()
        gate.open()
        #expect(writer.finish(within: 30))
        let kept = try #require(ReferenceStore(stateDirectory: directory.path).load())
        #expect(abs(kept.eulerAngles.roll * degreesPerRadian - 30) < 0.1)
    }

    /// If a calibration cannot be written, the caller gets an error, the manager has a fault, and the write is retried.
    @Test func retriesCalibrationThatCannotBeWritten() async throws {
        // A file in place of the directory.
        try directory.write("", to: "calibration")
        let manager = self.manager
        try manager.start(feeding: rest(rolledBy: 0))
        var calibration = StoredCalibration(accelerometerSource: "a test")
        calibration.chip.accelerometer.offset = Vector3(0, 1, -0.5)
        let store = CalibrationStore(stateDirectory: directory.path)
        let path = store.path(of: "scripted")
        #expect(throws: CalibrationStoreError.notWritten(path: path, SystemFailure(code: ENOTDIR))) {
            try manager.setCalibration(calibration)
        }
        #expect(writer.faults.map(\.path) == [path])
        try FileManager.default.removeItem(atPath: directory.path + "/calibration")
        #expect(writer.flush(within: 60))
        #expect(try store.load("scripted") == calibration)
        #expect(writer.faults.isEmpty)
    }

    /// When stop returns, everything is on the disk.
    @Test func stopWaitsForDisk() async throws {
        var settings = MotionSettings()
        settings.reference = .stored
        let manager = MotionManager(settings: settings, stateDirectory: directory.path)
        let device = try manager.start(feeding: rest(rolledBy: 20))
        #expect(await eventually { device.isExhausted && manager.state != nil })
        try manager.takeReference()
        manager.stop()
        #expect(directory.names == ["reference-attitude"])
    }
}
