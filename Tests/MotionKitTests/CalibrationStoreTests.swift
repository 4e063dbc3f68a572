import Foundation
import Testing

@testable import MotionCore
@testable import MotionKit

extension TemporaryDirectory {
    /// The calibrations that are kept in it, hidden files too.
    var calibrations: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path + "/calibration"))?.sorted() ?? []
    }

    /// Puts a file in the place of a chip's calibration.
    func writeCalibration(_ content: Data, of name: String) throws {
        try FileManager.default.createDirectory(atPath: path + "/calibration", withIntermediateDirectories: true)
        try content.write(to: URL(fileURLWithPath: path + "/calibration/\(name).txt"))
    }
}

/// Requirement: calibrations are kept per chip, versioned, whole or not at all, and readable for people.
@Suite struct CalibrationStoreTests {
    static let example: StoredCalibration = {
        var line = BiasTemperatureLine()
        for index in 0..<20 {
            line.learn(
                bias: Vector3(0.09 + 0.001 * Double(index % 3), -0.02, 0.1), temperature: 21.5 + Double(index) / 3)
        }
        return StoredCalibration(
            chip: ChipCalibration(
                accelerometer: AccelerometerCalibration(
                    offset: Vector3(0.98, -0.49, 0.1),
                    matrix: Matrix3(Vector3(0.95, 0.026, -0.01), Vector3(0.026, 1.05, 0.03), Vector3(-0.01, 0.03, 1))),
                gyroscope: GyroscopeCalibration(
                    bias: Vector3(0.087, -0.02, 0.1), biasSlope: Vector3(1e-4, -2e-4, 3e-5),
                    referenceTemperature: 27.25,
                    matrix: Matrix3(Vector3(0.97, 0.01, 0.02), Vector3(-0.01, 1.03, 0), Vector3(0.005, 0, 1.01)))),
            biasLine: line, accelerometerSource: "poses: 8, residual: 1.2 mg",
            gyroscopeSource: "turns: 6, residual: 0.2 degrees")
    }()

    private func text(_ store: CalibrationStore, _ name: String) throws -> String {
        try String(contentsOfFile: store.path(of: name), encoding: .utf8)
    }

    @Test func everyNumberSurvives() throws {
        let directory = TemporaryDirectory()
        let store = CalibrationStore(stateDirectory: directory.path)
        #expect(try store.load("i2c-1-0x68-MPU6050") == nil)
        try store.save(Self.example, as: "i2c-1-0x68-MPU6050")
        try store.save(StoredCalibration(accelerometerSource: "another chip"), as: "i2c-1-0x69-MPU6050")
        #expect(directory.calibrations == ["i2c-1-0x68-MPU6050.txt", "i2c-1-0x69-MPU6050.txt"])
        #expect(try store.load("i2c-1-0x68-MPU6050") == Self.example)
        #expect(try store.load("i2c-1-0x69-MPU6050")?.biasLine.hasBias == false)
        let text = try text(store, "i2c-1-0x68-MPU6050")
        #expect(text.hasPrefix("jostle calibration 1\n"))
        #expect(text.contains("accelerometer-source poses: 8, residual: 1.2 mg\n"))
        #expect(text.contains("gyroscope-bias 0.087 -0.02 0.1\n"))
        try store.remove("i2c-1-0x68-MPU6050")
        try store.remove("i2c-1-0x68-MPU6050")
        #expect(try store.load("i2c-1-0x68-MPU6050") == nil)
        #expect(directory.calibrations == ["i2c-1-0x69-MPU6050.txt"])
    }

    /// What rests taught of the bias is fresher than what a calibration found; everything else is the calibration's.
    @Test func theLearntBiasIsTheOneInForce() {
        let example = Self.example
        let effective = example.effective
        #expect(effective.accelerometer == example.chip.accelerometer)
        #expect(effective.gyroscope.matrix == example.chip.gyroscope.matrix)
        #expect(example.biasLine.hasSlope && example.biasLine.calibratedSlope != .zero)
        for temperature in [15.0, 25, 40] {
            let bias = effective.gyroscope.bias(at: temperature)
            #expect((bias - example.biasLine.bias(at: temperature)).length < 1e-12)
            #expect((bias - example.chip.gyroscope.bias(at: temperature)).length > 1e-4)
        }
        var untaught = example
        untaught.biasLine = BiasTemperatureLine()
        #expect(untaught.effective == example.chip)
        #expect(!untaught.isEmpty && StoredCalibration().isEmpty)
    }

    @Test func solutionsAreTakenOverWithTheirSource() {
        var calibration = StoredCalibration()
        calibration.take(
            AccelerometerFit.Solution(
                calibration: Self.example.chip.accelerometer, residual: 0.0012 * standardGravity, largestResidual: 0.02,
                worstPose: 3, poses: 8, uncertainty: 0.0034 * standardGravity, weakestDirection: Vector3(0, 0, 1)))
        calibration.take(
            GyroscopeFit.Solution(
                calibration: Self.example.chip.gyroscope, residual: 0.25 * radiansPerDegree, largestResidual: 0.01,
                turns: 9, uncertainty: 0.004, weakestAxis: 1))
        #expect(calibration.chip == Self.example.chip)
        #expect(calibration.accelerometerSource == "poses: 8, residual: 1.20 mg, uncertainty: 3.4 mg")
        #expect(calibration.gyroscopeSource == "turns: 9, residual: 0.25 degrees, uncertainty: 0.40 %")
        #expect(calibration.biasLine.bias == Self.example.chip.gyroscope.bias)
        #expect(calibration.biasLine.referenceTemperature == 27.25)
    }

    @Test func namesAndSourcesCannotEscape() throws {
        let directory = TemporaryDirectory()
        let store = CalibrationStore(stateDirectory: directory.path)
        var calibration = Self.example
        calibration.accelerometerSource = "two\nlines\nend"
        try store.save(calibration, as: "../../etc/passwd")
        #expect(directory.calibrations == ["------etc-passwd.txt"])
        #expect(try store.load("../../etc/passwd")?.accelerometerSource == "two lines end")
        #expect(try store.load("../../etc/passwd")?.chip == calibration.chip)
    }

    /// Torn anywhere, it is no calibration; nor is it with a line twice, missing, or with numbers that are none.
    @Test func whatIsTornIsIgnoredAndSaid() throws {
        let directory = TemporaryDirectory()
        let store = CalibrationStore(stateDirectory: directory.path)
        try store.save(Self.example, as: "chip")
        let whole = try text(store, "chip")
        let path = store.path(of: "chip")
        var broken = stride(from: 0, to: whole.utf8.count - 1, by: 7).map { String(whole.prefix($0)) }
        broken.append(String(whole.dropLast()))
        broken.append(whole + "more\n")
        for (old, new) in [
            ("0.087", "nan"), ("0.087", "inf"), ("0.087", "0.087 1"), ("0.087 -0.02", "0.087"), ("0.087", "x"),
            ("gyroscope-matrix 0.97", "gyroscope-matrix 0.0097"), ("gyroscope-bias ", "gyroscope-bia "),
            ("end\n", "gyroscope-bias 0 0 0\nend\n"), ("learnt-range", "learnt-rang"),
            ("learnt-variances ", "learnt-variances -"),
        ] {
            let changed = whole.replacingOccurrences(of: old, with: new)
            #expect(changed != whole)
            broken.append(changed)
        }
        for content in broken {
            try directory.writeCalibration(Data(content.utf8), of: "chip")
            #expect(throws: CalibrationStoreError.damaged(path: path)) { try store.load("chip") }
        }
        try directory.writeCalibration(Data((0..<5000).map { UInt8(255 - $0 % 256) }), of: "chip")
        #expect(throws: CalibrationStoreError.damaged(path: path)) { try store.load("chip") }
    }

    @Test func anotherVersionIsIgnoredAndSaid() throws {
        let directory = TemporaryDirectory()
        let store = CalibrationStore(stateDirectory: directory.path)
        try directory.writeCalibration(Data("jostle calibration 2\nanything\n".utf8), of: "chip")
        #expect(throws: CalibrationStoreError.unknownVersion(path: store.path(of: "chip"), found: "2")) {
            try store.load("chip")
        }
    }

    @Test func aFailureToWriteIsToldAndTheOldFileStays() throws {
        let directory = TemporaryDirectory()
        let store = CalibrationStore(stateDirectory: directory.path)
        try store.save(Self.example, as: "chip")
        try FileManager.default.createDirectory(
            atPath: directory.path + "/calibration/.chip.txt.new", withIntermediateDirectories: false)
        #expect(throws: CalibrationStoreError.notWritten(path: store.path(of: "chip"), code: EISDIR)) {
            try store.save(StoredCalibration(), as: "chip")
        }
        #expect(try store.load("chip") == Self.example)
        try FileManager.default.createDirectory(
            atPath: directory.path + "/calibration/folder.txt", withIntermediateDirectories: false)
        #expect(throws: CalibrationStoreError.unreadable(path: store.path(of: "folder"), code: EISDIR)) {
            try store.load("folder")
        }
    }
}
