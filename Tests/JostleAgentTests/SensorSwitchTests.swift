import BrokerTestSupport
import Foundation
import MotionKit
import Testing

@testable import JostleAgent

/// Requirement: a sensor to which settings cannot be applied runs with the old ones, as soon as it answers.
@Suite struct SensorSwitchTests {
    private let directory = TemporaryDirectory.new()
    private let recording = "t_s,ax,ay,az,gx,gy,gz\n5,0,0,9.8,0,0,0\n6,0,0,9.8,0,0,0\n"
    /// The virtual sensor's movement, without which it cannot be opened.
    private let path: String
    private let imu = IMUSettings()
    private let manager: MotionManager
    private let sensor: SensorSwitch

    init() throws {
        path = try directory.write(recording, to: "still.csv")
        let selection = SensorSelection.virtual(path)
        manager = MotionManager(sensor: selection)
        sensor = SensorSwitch(manager: manager, selection: selection, imu: imu, device: try selection.open(imu))
    }

    @Test func readsOnWhenTheSensorAnswersAgain() throws {
        defer { _ = sensor.stop() }
        #expect(try sensor.start() && manager.isRunning)
        #expect(!sensor.resume(), "it is open")

        // The virtual sensor is gone.
        try FileManager.default.removeItem(atPath: path)
        var faster = imu
        faster.rate = 100
        #expect(throws: SensorError.self) { try sensor.configure(faster) }
        #expect(!manager.isRunning && !sensor.isStopped && !sensor.resume())

        try directory.write(recording, to: "still.csv")
        #expect(sensor.resume() && manager.isRunning)
        try sensor.configure(faster)
        #expect(manager.isRunning && manager.imu.rate == 100)
    }

    @Test func settingsThatTheChipRefusesInterruptNothing() throws {
        defer { _ = sensor.stop() }
        #expect(try sensor.start())

        // Whoever closes the sensor cannot open it again.
        try FileManager.default.removeItem(atPath: path)
        var tooFast = imu
        tooFast.rate = 2000
        for _ in 1...2 {
            do throws(SensorError) {
                try sensor.configure(tooFast)
                Issue.record("2000 Hz were accepted")
            } catch {
                guard case .rate = error else { throw Unexpected(error) }
            }
            #expect(manager.isRunning && sensor.imu == imu && manager.imu == imu)
        }

        // What has to restart does so with the settings in force.
        try directory.write(recording, to: "still.csv")
        #expect(throws: SensorError.self) { try sensor.configure(tooFast, restarts: true) }
        #expect(manager.isRunning && sensor.imu == imu && manager.imu == imu)
    }
}
