import BrokerTestSupport
import Foundation
import LinuxSystem
import MotionCore
import StateStorage
import Testing

@testable import MotionKit

/// Requirement: a chip's calibration is loaded at the start, can be changed while it runs, and is updated at rest.
@Suite(.timeLimit(.minutes(1))) struct MotionManagerCalibrationTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.absent()

    /// A board that lies flat, whose accelerometer reads 1 m/s² too much along y.
    private static let skewed = Vector3(0, 1, standardGravity)

    private static var straight: StoredCalibration {
        var calibration = StoredCalibration(accelerometerSource: "a test")
        calibration.chip.accelerometer.offset = Vector3(0, 1, 0)
        return calibration
    }

    private func rest(_ seconds: Double, from start: Double = 100, bias: Vector3 = .zero) -> [MotionSample] {
        (0..<Int(seconds * 50)).map { index in
            MotionSample(
                timestamp: Timestamp(seconds: start + Double(index) / 50), acceleration: Self.skewed,
                rotationRate: bias,
                temperature: 31)
        }
    }

    private func isLevel(_ manager: MotionManager) -> Bool {
        manager.state.map { abs($0.attitude.eulerAngles.roll) < 0.001 } ?? false
    }

    @Test func usesStoredCalibrationFromStart() async throws {
        try CalibrationStore(stateDirectory: directory.path).save(Self.straight, as: "scripted")
        let manager = rig.manager(stateDirectory: directory.path)
        #expect(manager.calibration == nil)
        try manager.start(with: ScriptedDevice([.samples(rest(1))]))
        #expect(await eventually { isLevel(manager) })
        #expect(manager.calibration == Self.straight)
        #expect(manager.calibrationWarning == nil)
    }

    @Test func appliesAndSavesNewCalibration() async throws {
        let manager = rig.manager(stateDirectory: directory.path)
        #expect(throws: CalibrationStoreError.notRunning) { try manager.setCalibration(Self.straight) }
        let device = try manager.start(feeding: rest(1))
        #expect(await eventually { device.isExhausted && manager.state != nil })
        #expect(!isLevel(manager))
        try manager.setCalibration(Self.straight)
        device.feed(rest(1, from: 101))
        #expect(await eventually { isLevel(manager) })
        #expect(try CalibrationStore(stateDirectory: directory.path).load("scripted") == Self.straight)

        try manager.clearCalibration()
        device.feed(rest(1, from: 102))
        #expect(await eventually { device.isExhausted && !isLevel(manager) })
        #expect(directory.calibrations == [])
        #expect(manager.calibration?.isEmpty == true)
    }

    /// A file that cannot be used causes a warning, but does not prevent the start.
    @Test func ignoresDamagedCalibration() async throws {
        try directory.writeCalibration(Data("jostle calibration 1\ngyro".utf8), of: "scripted")
        let manager = rig.manager(stateDirectory: directory.path)
        let device = try manager.start(feeding: rest(1))
        #expect(await eventually { device.isExhausted && manager.state != nil })
        let path = CalibrationStore(stateDirectory: directory.path).path(of: "scripted")
        #expect(manager.calibrationWarning == .damaged(path: path))
        #expect(manager.calibration?.isEmpty == true)
    }

    /// A calibration is used even if there is no directory or it cannot be written.
    @Test func usesCalibrationThatCannotBeSaved() async throws {
        let manager = rig.manager(stateDirectory: "/dev/null/state")
        let device = try manager.start(feeding: rest(1))
        let path = CalibrationStore(stateDirectory: "/dev/null/state").path(of: "scripted")
        #expect(throws: CalibrationStoreError.notWritten(path: path, SystemFailure(code: ENOTDIR))) {
            try manager.setCalibration(Self.straight)
        }
        device.feed(rest(1, from: 101))
        #expect(await eventually { isLevel(manager) })
    }

    /// After a minute of rest, the bias is learnt. It is saved at the stop and used from the first sample of the next run.
    @Test func learnsBiasAtRest() async throws {
        let bias = Vector3(0.05, -0.02, 0.03)
        do {
            let manager = MotionManager(stateDirectory: directory.path)
            let device = try manager.start(feeding: rest(60, bias: bias))
            #expect(await eventually { manager.calibration?.biasLine.hasBias == true && device.isExhausted })
            #expect(directory.calibrations == [])
            manager.stop()
        }
        #expect(await eventually { directory.calibrations == ["scripted.txt"] })
        let kept = try #require(try CalibrationStore(stateDirectory: directory.path).load("scripted"))
        #expect((kept.biasLine.bias - bias).length < 0.002)
        #expect(kept.biasLine.referenceTemperature == 31)

        let manager = MotionManager(stateDirectory: directory.path)
        let device = try manager.start(feeding: rest(0.5, bias: bias))
        defer { manager.stop() }
        #expect(await eventually { device.isExhausted && manager.state != nil })
        #expect((manager.state?.rotationRate.length ?? 1) < 0.002)
    }

    /// Hours at the same temperature cause one write, not one every ten minutes.
    @Test func doesNotRewriteUnchangedEstimates() async throws {
        let store = CalibrationStore(stateDirectory: directory.path)
        let writer = StateWriter()
        let saver = CalibrationSaver(store: store, name: "chip", writer: writer)
        func learn(_ minutes: ClosedRange<Int>, bias: Double) {
            for minute in minutes {
                saver.learn(
                    from: RestReport(
                        bias: Vector3(bias, 0, 0), temperature: 30, time: Timestamp(seconds: 60 * Double(minute))))
            }
        }
        learn(0...9, bias: 0.05)
        #expect(writer.flush(within: 30) && directory.calibrations == [])
        learn(10...10, bias: 0.05)
        #expect(writer.flush(within: 30) && directory.calibrations == ["chip.txt"])
        try store.remove("chip")
        learn(11...60, bias: 0.05)
        saver.saveIfChanged()
        #expect(writer.flush(within: 30) && directory.calibrations == [])
        learn(61...200, bias: 0.06)
        #expect(writer.flush(within: 30) && directory.calibrations == ["chip.txt"])
    }

    @Test func namesChipsForStorage() throws {
        #expect(
            SensorSelection.storageName(bus: "/dev/i2c-1", address: 0x68, part: "MPU6050") == "i2c-1-0x68-MPU6050")
        #expect(try SensorSelection.virtual("rest").open(.init()).storageName == "virtual")
    }
}
