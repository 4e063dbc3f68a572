import Foundation
import MotionCore
import Testing

/// Attitude against an optical reference: the trials of BROAD (Laidig et al., Data 6(7):72, 2021).
@Suite(.enabled(if: !RecordedData.files(below: "broad", suffix: ".imu").isEmpty, "no BROAD trials here"))
struct AttitudeAccuracyTests {
    /// A row of a trial: measured rate and force, the reference, and whether the row counts.
    struct Row {
        var sample: MotionSample
        var reference: Quaternion
        var counts: Bool
    }

    /// Reads a trial: 512 bytes of header, then eleven 32-bit floats a row.
    static func trial(_ file: URL) throws -> (rows: [Row], period: Double) {
        let data = try Data(contentsOf: file)
        let header = String(decoding: data.prefix(512), as: UTF8.self)
        let period = try #require(
            header.split(separator: "\n").first { $0.hasPrefix("dt_s ") }.flatMap { Double($0.dropFirst(5)) })
        var rows: [Row] = []
        data.dropFirst(512).withUnsafeBytes { bytes in
            let count = bytes.count / 44
            rows.reserveCapacity(count)
            for row in 0..<count {
                let v = (0..<11).map { Double(bytes.loadUnaligned(fromByteOffset: 44 * row + 4 * $0, as: Float.self)) }
                let sample = MotionSample(
                    timestamp: Timestamp(seconds: 1 + Double(row) * period), acceleration: Vector3(v[3], v[4], v[5]),
                    rotationRate: Vector3(v[0], v[1], v[2]))
                let reference = Quaternion(v[6], v[7], v[8], v[9])
                rows.append(Row(sample: sample, reference: reference, counts: v[10] > 0.5 && v[6].isFinite))
            }
        }
        return (rows, period)
    }

    /// The RMS error of the inclination over the rows that count, degrees.
    static func inclinationError(_ rows: [Row], bias: Vector3 = .zero) -> Double {
        var pipeline = MotionPipeline(unknownRanges: [.accelerometer, .gyroscope])
        var squares = 0.0
        var count = 0.0
        for var row in rows {
            row.sample.rotationRate += bias
            pipeline.process(row.sample) { _ in }
            guard row.counts else { continue }
            let error = pipeline.state.attitude.inclination(to: row.reference)
            squares += error * error
            count += 1
        }
        return (squares / count).squareRoot() * degreesPerRadian
    }

    /// The trials that count. Others beside them do not move the mean.
    private static let trials: Set = [
        "02_undisturbed_slow_rotation_B", "09_undisturbed_fast_rotation_with_breaks_B",
        "14_undisturbed_slow_translation_with_breaks_B", "16_undisturbed_fast_translation_B",
        "25_disturbed_tapping_B", "27_disturbed_phone_vibration_B", "31_disturbed_stationary_magnet_D",
        "36_disturbed_attached_magnet_5cm",
    ]

    /// VQF has 0.63° on the open trials; a bias like an MPU-6050's makes no difference.
    @Test func inclinationIsBetterThanBestPublishedFilter() throws {
        var native: [Double] = []
        var biased: [Double] = []
        for file in RecordedData.files(below: "broad", suffix: ".imu")
        where Self.trials.contains(file.deletingPathExtension().lastPathComponent) {
            let (rows, _) = try Self.trial(file)
            native.append(Self.inclinationError(rows))
            biased.append(Self.inclinationError(rows, bias: Vector3(5, -5, 5) * radiansPerDegree))
        }
        let mean = native.reduce(0, +) / Double(native.count)
        let meanBiased = biased.reduce(0, +) / Double(biased.count)
        try #require(!native.isEmpty)
        #expect(mean < 0.56, "\(native)")
        #expect(meanBiased < 1.03 * mean, "\(biased)")
    }
}
