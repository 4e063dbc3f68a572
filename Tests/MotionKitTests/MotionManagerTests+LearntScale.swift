import BrokerTestSupport
import Foundation
import MotionCore
import StateStorage
import Testing

@testable import MotionKit

/// Requirement: the learnt scale of the gyroscope survives restarts and belongs to the chip, not to its mounting.
@Suite(.timeLimit(.minutes(1))) struct LearntScaleTests {
    private let directory = TemporaryDirectory.absent()

    private static let rate = 40.0

    /// A board that stands upright and measures 3 % too little about its z axis, which is the body's -x.
    private static let mount = Matrix3(Vector3(0, 0, -1), Vector3(0, 1, 0), Vector3(1, 0, 0))

    /// Samples of a movement, along the sensor's axes, from a chip that measures only `share` of each rate about its z axis.
    private func samples(
        _ seconds: Double, from start: Double = 100, share: Double = 0.97, rate: (Double) -> Vector3
    ) -> [MotionSample] {
        var attitude = Quaternion.identity
        return (0..<Int(seconds * Self.rate)).map { index in
            let time = Double(index) / Self.rate
            let rate = rate(time)
            let half = Quaternion(rotationVector: rate * (0.5 / Self.rate))
            let middle = attitude * half
            attitude = middle * half
            return MotionSample(
                timestamp: Timestamp(seconds: start + time),
                acceleration: middle.unrotate(Vector3(0, 0, standardGravity)),
                rotationRate: Vector3(rate.x, rate.y, share * rate.z), temperature: 31)
        }
    }

    /// Rotation about all axes, after two seconds of rest.
    private func tumbling(_ seconds: Double) -> [MotionSample] {
        samples(seconds) { time in
            let part = min(1, max(0, time - 2))
            return Vector3(1.9 * sin(1.7 * time), 1.7 * sin(2.3 * time + 1), 2.1 * sin(1.3 * time + 2)) * part
        }
    }

    /// One full turn about the sensor's z axis, after three seconds of rest.
    private func turn(from start: Double) -> [MotionSample] {
        samples(8, from: start) { time in time < 3 || time >= 7 ? .zero : Vector3(0, 0, 0.5 * .pi) }
    }

    private func manager(mount: Matrix3 = .identity) -> MotionManager {
        var settings = MotionSettings()
        settings.mount = mount
        return MotionManager(settings: settings, stateDirectory: directory.path)
    }

    /// The error of a full turn, degrees, in a run that starts with the files of the directory.
    private func turnError(mount: Matrix3 = .identity) async throws -> Double {
        let manager = manager(mount: mount)
        let device = try manager.start(feeding: samples(3, from: 100) { _ in .zero })
        defer { manager.stop() }
        #expect(await eventually { device.isExhausted && manager.state != nil })
        let before = try #require(manager.state?.attitude)
        let last = turn(from: 110)
        device.feed(last)
        #expect(await eventually { manager.state?.timestamp == last.last?.timestamp })
        return try #require(manager.state?.attitude).angle(to: before) * degreesPerRadian
    }

    @Test func usesLearntScaleAfterRestartInAnyMounting() async throws {
        let before = try await turnError()
        #expect(before > 9)
        for _ in 0..<2 {
            let manager = manager(mount: Self.mount)
            let device = try manager.start(feeding: tumbling(600))
            #expect(await eventually { device.isExhausted })
            manager.stop()
        }
        let store = CalibrationStore(stateDirectory: directory.path)
        #expect(await eventually { (try? store.load("scripted"))??.learntScale != nil })
        let learnt = try #require(try store.load("scripted")?.learntScale)
        #expect(abs(learnt.scale.row2.z - (1 / 0.97 - 1)) < 0.003 && learnt.deviation.row2.z < 0.001)
        #expect(abs(learnt.scale.row0.x) < 0.002 && abs(learnt.scale.row1.y) < 0.002)
        let text = try String(contentsOfFile: store.path(of: "scripted"), encoding: .utf8)
        #expect(text.contains("\nlearnt-scale "))
        for mount in [Matrix3.identity, Self.mount] {
            let after = try await turnError(mount: mount)
            #expect(after < 1)
        }
        // Rests and one turn do not change the estimate, nor the file.
        #expect(try String(contentsOfFile: store.path(of: "scripted"), encoding: .utf8) == text)
    }

    /// A new calibration of the chip clears the scale that was learnt with the old one, in use and in the file.
    @Test func clearsLearntScaleOnNewCalibration() async throws {
        let store = CalibrationStore(stateDirectory: directory.path)
        let zero = Matrix3(.zero, .zero, .zero)
        var scale = zero
        scale.row2.z = 1 / 0.97 - 1
        let row = Vector3(0.0004, 0.0004, 0.0004)
        var known = StoredCalibration(learntScale: ScaleEstimate(scale: scale, deviation: Matrix3(row, row, row)))
        try store.save(known, as: "scripted")
        let after = try await turnError()
        #expect(after < 0.5)
        let manager = manager()
        let device = try manager.start(feeding: samples(1, from: 90) { _ in .zero })
        defer { manager.stop() }
        #expect(await eventually { device.isExhausted && manager.state != nil })
        #expect(manager.calibration == known)
        known.chip.gyroscope.matrix.row2.z = 1 / 0.97
        try manager.setCalibration(known)
        #expect(try store.load("scripted")?.learntScale == nil)
        #expect(manager.calibration?.learntScale == nil)
        device.feed(samples(3) { _ in .zero })
        #expect(await eventually { manager.state.map { $0.timestamp.seconds > 102.9 } ?? false })
        let before = try #require(manager.state?.attitude)
        let last = turn(from: 110)
        device.feed(last)
        #expect(await eventually { manager.state?.timestamp == last.last?.timestamp })
        // Both together would read 371°.
        let error = try #require(manager.state?.attitude).angle(to: before) * degreesPerRadian
        #expect(error < 0.5)
    }

    // MARK: CalibrationSaver

    private func report(_ minute: Double, _ element: Double, deviation: Double, revision: Int = 0) -> ScaleReport {
        func matrix(_ element: Double) -> Matrix3 {
            let row = Vector3(element, element, element)
            return Matrix3(row, row, row)
        }
        return ScaleReport(
            estimate: ScaleEstimate(scale: matrix(element), deviation: matrix(deviation)), revision: revision,
            time: Timestamp(seconds: 60 * minute))
    }

    /// The scale is written every ten minutes at most, only after a noticeable change, and together with the bias.
    @Test func limitsWritesOfLearntScale() throws {
        let store = CalibrationStore(stateDirectory: directory.path)
        let writer = StateWriter()
        let saver = CalibrationSaver(store: store, name: "chip", writer: writer)
        for minute in 0...9 { saver.learn(from: report(Double(minute), 0.01, deviation: 0.0009)) }
        #expect(writer.flush(within: 30) && directory.calibrations == [])
        #expect(saver.calibration.learntScale?.scale.row1.z == 0.01)
        saver.learn(from: report(10, 0.01, deviation: 0.0009))
        #expect(writer.flush(within: 30) && directory.calibrations == ["chip.txt"])
        try store.remove("chip")
        // Nothing is written before ten minutes are over, and small changes are never written.
        saver.learn(
            from: RestReport(bias: Vector3(0.1, 0, 0), temperature: 30, time: Timestamp(seconds: 60 * 15)))
        saver.learn(from: report(19, 0.011, deviation: 0.0006))
        #expect(writer.flush(within: 30) && directory.calibrations == [])
        saver.learn(from: report(20, 0.011, deviation: 0.00059))
        #expect(writer.flush(within: 30) && directory.calibrations == ["chip.txt"])
        #expect(try store.load("chip")?.biasLine.hasBias == true)
        try store.remove("chip")
        saver.learn(from: report(40, 0.01101, deviation: 0.00058))
        saver.saveIfChanged()
        #expect(writer.flush(within: 30) && directory.calibrations == [])
        saver.learn(from: report(41, 0.012, deviation: 0.0005))
        saver.saveIfChanged()
        #expect(writer.flush(within: 30))
        #expect(try store.load("chip")?.learntScale?.scale.row0.y == 0.012)
    }

    /// A report for the previous calibration may arrive after a new one was set.
    @Test func ignoresReportOfPreviousCalibration() throws {
        let saver = CalibrationSaver(store: nil, name: "chip", writer: StateWriter())
        saver.learn(from: report(0, 0.01, deviation: 0.0009))
        var calibration = saver.calibration
        calibration.chip.gyroscope.matrix.row0.y = 0.01
        let order = saver.set(calibration)
        #expect(order.learntScale == nil && order.chip == calibration.chip)
        saver.learn(from: report(1, 0.02, deviation: 0.0008))
        #expect(saver.calibration.learntScale == nil)
        saver.learn(from: report(2, 0.003, deviation: 0.0008, revision: order.revision))
        #expect(saver.calibration.learntScale?.scale.row0.x == 0.003)
    }
}
