import BrokerTestSupport
import Foundation
import MotionCore
import MotionKit
import Testing

/// Requirement: calibrations and the reference attitude keep the form of their files: a board is calibrated once.
@Suite final class GoldenStorageTests {
    private var golden = GoldenText()
    private let directory = TemporaryDirectory.new()

    @Test("A calibration is stored in the recorded form, and read again")
    func calibrations() throws {
        let store = CalibrationStore(stateDirectory: directory.path)
        let magnetometer = MagneticCalibration(hardIron: Vector3(1, -2, 3))
        let calibrations: [(String, StoredCalibration)] = [
            ("everything", CalibrationStoreTests.example),
            ("a source", StoredCalibration(accelerometerSource: "two\nlines\nend")),
            ("a magnetometer without a place", StoredCalibration(magnetometer: magnetometer)),
            ("nothing", StoredCalibration()),
        ]
        for (name, calibration) in calibrations {
            try store.save(calibration, as: "i2c-1-0x68-MPU6050")
            let text = try String(contentsOfFile: store.path(of: "i2c-1-0x68-MPU6050"), encoding: .utf8)
            golden.add(name, text)
            try store.save(try #require(try store.load("i2c-1-0x68-MPU6050")), as: "again")
            #expect(try String(contentsOfFile: store.path(of: "again"), encoding: .utf8) == text)
        }
        golden.add("file name", URL(fileURLWithPath: store.path(of: "../a b/é")).lastPathComponent)
        expectGolden(golden, "calibrations.txt")
    }

    @Test("The reference attitude is stored in the recorded form")
    func reference() throws {
        let store = ReferenceStore(stateDirectory: directory.path)
        for attitude in [Quaternion.identity, Quaternion(0.5, -0.5, 0.5, -0.5), Quaternion(0.8, 0, -0.6, 0)] {
            try store.save(attitude)
            golden.add(
                "\(attitude.w) \(attitude.x) \(attitude.y) \(attitude.z)",
                try String(contentsOfFile: directory.path("reference-attitude"), encoding: .utf8))
        }
        expectGolden(golden, "reference-attitude.txt")
    }
}
