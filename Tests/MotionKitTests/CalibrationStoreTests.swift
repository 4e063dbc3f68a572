import BrokerTestSupport
import Foundation
import LinuxSystem
import Testing

@testable import MotionCore
@testable import MotionKit

extension TemporaryDirectory {
    /// The files in its calibration directory, including hidden ones.
    var calibrations: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path + "/calibration"))?.sorted() ?? []
    }

    /// Writes a chip's calibration file.
    func writeCalibration(_ content: Data, of name: String) throws {
        try FileManager.default.createDirectory(atPath: path + "/calibration", withIntermediateDirectories: true)
        try content.write(to: URL(fileURLWithPath: path + "/calibration/\(name).txt"))
    }
}

/// Requirement: calibrations are stored per chip, with a version, atomically, and as readable text.
@Suite struct CalibrationStoreTests {
    private let directory = TemporaryDirectory.absent()
    private var store: CalibrationStore { CalibrationStore(stateDirectory: directory.path) }

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
            biasLine: line,
            learntScale: ScaleEstimate(
                scale: Matrix3(
                    Vector3(0.0298, 0.001, -0.005), Vector3(-0.008, -0.0123, 0.006), Vector3(0, 0.0007, 0.025)),
                deviation: Matrix3(
                    Vector3(0.0004, 0.0006, 0.00071), Vector3(0.0009, 0.0005, 0.0008), Vector3(0.002, 0.0007, 0.0003))),
            magnetometer: MagneticCalibration(
                hardIron: Vector3(-31.5, 12.25, 210),
                softIron: Matrix3(Vector3(1.04, -0.02, 0.01), Vector3(-0.03, 0.96, 0), Vector3(0.01, 0.005, 1.1)),
                place: MagneticFieldFigures(strength: 48.75, dip: -1.125)),
            accelerometerSource: "poses: 8, residual: 1.2 mg",
            gyroscopeSource: "turns: 6, residual: 0.2 degrees",
            magnetometerSource: "readings: 312, residual: 0.45 uT, heading: 0.8 degrees")
    }()

    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: store.path(of: name), encoding: .utf8)
    }

    @Test func restoresEveryNumber() throws {
        #expect(try store.load("i2c-1-0x68-MPU6050") == nil)
        try store.save(Self.example, as: "i2c-1-0x68-MPU6050")
        try store.save(StoredCalibration(accelerometerSource: "another chip"), as: "i2c-1-0x69-MPU6050")
        #expect(directory.calibrations == ["i2c-1-0x68-MPU6050.txt", "i2c-1-0x69-MPU6050.txt"])
        #expect(try store.load("i2c-1-0x68-MPU6050") == Self.example)
        #expect(try store.load("i2c-1-0x69-MPU6050")?.biasLine.hasBias == false)
        let text = try text("i2c-1-0x68-MPU6050")
        #expect(text.hasPrefix("jostle calibration 1\n"))
        #expect(text.contains("accelerometer-source poses: 8, residual: 1.2 mg\n"))
        #expect(text.contains("gyroscope-bias 0.087 -0.02 0.1\n"))
        #expect(text.contains("magnetometer-source readings: 312, residual: 0.45 uT, heading: 0.8 degrees\n"))
        #expect(text.contains("magnetometer-hard-iron -31.5 12.25 210.0\n"))
        #expect(text.contains("learnt-scale 0.0298 0.001 -0.005 -0.008 -0.0123 0.006 0.0 0.0007 0.025\n"))
        try store.remove("i2c-1-0x68-MPU6050")
        try store.remove("i2c-1-0x68-MPU6050")
        #expect(try store.load("i2c-1-0x68-MPU6050") == nil)
        #expect(directory.calibrations == ["i2c-1-0x69-MPU6050.txt"])
    }

    /// The learnt bias replaces the older one of the calibration, and nothing else.
    @Test func usesLearntBias() {
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

    /// The place of calibration need not be known.
    @Test func restoresMagnetometerWithoutPlace() throws {
        let calibration = StoredCalibration(magnetometer: MagneticCalibration(hardIron: Vector3(1, -2, 3)))
        #expect(!calibration.isEmpty)
        try store.save(calibration, as: "chip")
        #expect(try store.load("chip") == calibration)
        #expect(try !text("chip").contains("magnetometer-dip"))
    }

    /// Earlier programs, which stored neither the scale nor the magnetometer, wrote the same version.
    @Test func readsFileWithoutLearntScale() throws {
        let text = """
            jostle calibration 1
            # SI units along the sensor's axes; matrices row after row. true = matrix * (measured - offset)
            accelerometer-source poses: 8, residual: 1.2 mg
            accelerometer-offset 0.1 -0.2 0.3
            accelerometer-matrix 1.0 0.0 0.0 0.0 1.01 0.0 0.0 0.0 1.0
            gyroscope-source\u{20}
            gyroscope-bias 0.0 0.0 0.0
            gyroscope-bias-slope 0.0 0.0 0.0
            gyroscope-temperature 25.0
            gyroscope-matrix 1.0 0.0 0.0 0.0 1.0 0.0 0.0 0.0 1.0
            # The gyroscope's bias as estimated at rest
            learnt-temperature 31.0
            learnt-range 31.0 31.5
            learnt-bias 0.05 -0.02 0.03
            learnt-slope 0.0 0.0 0.0
            learnt-variances 0.5 1000.0 0.0
            end

            """
        try directory.writeCalibration(Data(text.utf8), of: "chip")
        let loaded = try #require(try store.load("chip"))
        #expect(loaded.learntScale == nil && loaded.learntScaleSource == "")
        #expect(loaded.magnetometer == nil && loaded.magnetometerSource == "")
        #expect(loaded.biasLine.bias == Vector3(0.05, -0.02, 0.03))
        #expect(loaded.chip.accelerometer.offset == Vector3(0.1, -0.2, 0.3))
    }

    /// The learnt scale applies only to the matrices that it was learnt with.
    @Test func clearsLearntScaleWhenMatricesChange() {
        let learnt = Self.example.learntScale
        var calibration = Self.example
        calibration.chip.gyroscope.bias = Vector3(1, 2, 3)
        calibration.chip.accelerometer.offset = Vector3(1, 2, 3)
        #expect(calibration.learntScale == learnt)
        calibration.chip.gyroscope.matrix.row1.z = 0.001
        #expect(calibration.learntScale == nil)
        calibration = Self.example
        calibration.chip.accelerometer.matrix = .identity
        #expect(calibration.learntScale == nil)
        calibration = Self.example
        calibration.chip = ChipCalibration()
        #expect(calibration.learntScale == nil)
    }

    @Test func summarisesLearntScale() {
        #expect(Self.example.learntScaleSource == "elements: 8 of 9, largest: 2.98 %, uncertainty: 0.09 %")
        #expect(StoredCalibration().learntScaleSource == "")
    }

    @Test func appliesFitsWithTheirSource() throws {
        var calibration = StoredCalibration()
        calibration.take(
            AccelerometerFit.Solution(
                calibration: Self.example.chip.accelerometer, residual: 0.0012 * standardGravity, poses: 8,
                uncertainty: 0.0034 * standardGravity, weakestDirection: Vector3(0, 0, 1)))
        calibration.take(
            GyroscopeFit.Solution(
                calibration: Self.example.chip.gyroscope, residual: 0.25 * radiansPerDegree, turns: 9,
                uncertainty: 0.004, weakestAxis: 1))
        let magnetometer = try #require(Self.example.magnetometer)
        calibration.take(
            MagneticFit.Solution(
                calibration: magnetometer, residual: 0.452, deviation: 0.1, headingDeviation: 0.014, readings: 337,
                readingsLeftOut: 25))
        #expect(calibration.magnetometer == magnetometer)
        #expect(
            calibration.magnetometerSource == "readings: 312, residual: 0.45 uT, heading: 0.8 degrees")
        #expect(calibration.chip == Self.example.chip)
        #expect(calibration.accelerometerSource == "poses: 8, residual: 1.20 mg, uncertainty: 3.4 mg")
        #expect(calibration.gyroscopeSource == "turns: 9, residual: 0.25 degrees, uncertainty: 0.40 %")
        #expect(calibration.biasLine.bias == Self.example.chip.gyroscope.bias)
        #expect(calibration.biasLine.referenceTemperature == 27.25)
    }

    @Test func sanitisesNamesAndSources() throws {
        var calibration = Self.example
        calibration.accelerometerSource = "two\nlines\nend"
        try store.save(calibration, as: "../../etc/passwd")
        #expect(directory.calibrations == ["------etc-passwd.txt"])
        #expect(try store.load("../../etc/passwd")?.accelerometerSource == "two lines end")
        #expect(try store.load("../../etc/passwd")?.chip == calibration.chip)
    }

    /// A file that is cut anywhere is damaged; so is one with a repeated or missing line or an invalid number.
    @Test func reportsDamagedFiles() throws {
        try store.save(Self.example, as: "chip")
        let whole = try text("chip")
        let path = store.path(of: "chip")
        var broken = stride(from: 0, to: whole.utf8.count - 1, by: 7).map { String(whole.prefix($0)) }
        broken.append(String(whole.dropLast()))
        broken.append(whole + "more\n")
        for (old, new) in [
            ("0.087", "nan"), ("0.087", "inf"), ("0.087", "0.087 1"), ("0.087 -0.02", "0.087"), ("0.087", "x"),
            ("gyroscope-matrix 0.97", "gyroscope-matrix 0.0097"), ("gyroscope-bias ", "gyroscope-bia "),
            ("end\n", "gyroscope-bias 0 0 0\nend\n"), ("learnt-range", "learnt-rang"),
            ("learnt-variances ", "learnt-variances -"), ("learnt-scale ", "learnt-scal "),
            ("learnt-scale-deviation ", "learnt-scale-deviatio "), ("learnt-scale 0.0298", "learnt-scale 0.298"),
            ("learnt-scale 0.0298", "learnt-scale"), ("learnt-scale 0.0298", "learnt-scale nan"),
            ("learnt-scale-deviation 0.0004", "learnt-scale-deviation 0"),
            ("learnt-scale-deviation 0.0004", "learnt-scale-deviation -0.0004"),
            ("magnetometer-source ", "magnetometer-sourc "), ("magnetometer-hard-iron ", "magnetometer-hard "),
            ("-31.5 12.25", "-31.5"), ("-31.5 12.25", "-31.5 nan"), ("-31.5 12.25", "-31.5 5001"),
            ("magnetometer-matrix 1.04", "magnetometer-matrix 0.0104"), ("magnetometer-matrix ", "magnetometer-matri "),
            ("magnetometer-strength ", "magnetometer-strengt "),
            ("magnetometer-strength 48", "magnetometer-strength -48"),
            ("magnetometer-strength 48", "magnetometer-strength 4800"), ("magnetometer-dip ", "magnetometer-di "),
            ("magnetometer-dip -1.125", "magnetometer-dip -1.6"), ("magnetometer-dip -1.125", "magnetometer-dip -inf"),
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

    @Test func reportsUnknownVersion() throws {
        try directory.writeCalibration(Data("jostle calibration 2\nanything\n".utf8), of: "chip")
        #expect(throws: CalibrationStoreError.unknownVersion(path: store.path(of: "chip"), found: "2")) {
            try store.load("chip")
        }
    }

    @Test func keepsOldFileWhenWriteFails() throws {
        try store.save(Self.example, as: "chip")
        try FileManager.default.createDirectory(
            atPath: directory.path + "/calibration/.chip.txt.new", withIntermediateDirectories: false)
        #expect(throws: CalibrationStoreError.notWritten(path: store.path(of: "chip"), SystemFailure(code: EISDIR))) {
            try store.save(StoredCalibration(), as: "chip")
        }
        #expect(try store.load("chip") == Self.example)
        try FileManager.default.createDirectory(
            atPath: directory.path + "/calibration/folder.txt", withIntermediateDirectories: false)
        #expect(throws: CalibrationStoreError.unreadable(path: store.path(of: "folder"), SystemFailure(code: EISDIR))) {
            try store.load("folder")
        }
    }
}
