import Foundation
import LinuxSystem
import MotionCore
import StateStorage
import SystemTestSupport
import Testing

@testable import MotionKit

/// Requirement: what a manager keeps for the next run waits for the disk on a thread of its own, and is tried until it is
/// there.
@Suite(.timeLimit(.minutes(2))) struct MotionManagerStorageTests {
    private let directory = TemporaryDirectory()
    private let writer = StateWriter()

    private var manager: MotionManager {
        var settings = MotionSettings()
        settings.reference = .stored
        return MotionManager(settings: settings, stateDirectory: directory.path, writer: writer)
    }

    private func rest(rolledBy degrees: Double) -> [MotionSample] {
        var movement = Movement()
        movement.gravity = gravity(rolledBy: degrees)
        return movement.rest(4)
    }

    /// A disk that is stuck delays no handler, and the next start knows what is not on it yet.
    @Test func aDiskThatIsStuckHoldsUpNeitherHandlersNorTheNextStart() async throws {
        let gate = Gate()
        defer { gate.open() }
        writer.perform { gate.pass() }
        let manager = self.manager
        let states = Counter()
        manager.updateInterval = 0
        manager.addMotionHandler { _ in states.countUp() }
        var movement = Movement()
        movement.gravity = gravity(rolledBy: 30)
        let device = ScriptedDevice([.samples(movement.rest(4))])
        try manager.start(with: device)
        #expect(await eventually { device.isExhausted && manager.state != nil })
        try manager.takeReference()
        device.feed(movement.rest(0.1))
        #expect(await eventually { manager.state?.hasReference == true })
        // Handed to the writer by now, and the disk does not answer.
        let before = states.value
        device.feed(movement.rest(0.1))
        #expect(await eventually { states.value > before })
        manager.stop()
        #expect(directory.names == [])

        let next = ScriptedDevice([.samples(rest(rolledBy: 30))])
        try manager.start(with: next)
        #expect(await eventually { next.isExhausted && manager.state?.hasReference == true })
        #expect(abs(manager.attitude?.eulerAngles.roll ?? 1) < 0.01)
        manager.stop()
        gate.open()
        #expect(writer.finish(within: 30))
        let kept = try #require(ReferenceStore(stateDirectory: directory.path).load())
        #expect(abs(kept.eulerAngles.roll * degreesPerRadian - 30) < 0.1)
    }

    /// A calibration that cannot be written is said to its caller, is a fault, and is written once that is possible.
    @Test func aCalibrationThatCannotBeWrittenIsTriedAgain() async throws {
        // A file where the directory is to be.
        try directory.write("", to: directory.path + "/calibration")
        let manager = self.manager
        let device = ScriptedDevice([.samples(rest(rolledBy: 0))])
        try manager.start(with: device)
        defer { manager.stop() }
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

    /// A manager of its own, as a command has, is done only with everything on the disk.
    @Test func whatIsKeptIsOnTheDiskAtTheStop() async throws {
        var settings = MotionSettings()
        settings.reference = .stored
        let manager = MotionManager(settings: settings, stateDirectory: directory.path)
        let device = ScriptedDevice([.samples(rest(rolledBy: 20))])
        try manager.start(with: device)
        #expect(await eventually { device.isExhausted && manager.state != nil })
        try manager.takeReference()
        manager.stop()
        #expect(directory.names == ["reference-attitude"])
    }
}
