import Foundation
import MotionCore
import MotionKit
import Testing

/// Machines in public recordings: a washing machine is recognised and is done; people and cars are not machines.
@Suite(
    .enabled(if: !RecordedData.files(below: "gestures", suffix: ".labels.csv").isEmpty, "no gesture recordings here"))
struct VibrationRecordingTests {
    /// The vibration events in a recording.
    private static func vibrations(in recording: String, threshold: Double? = nil) throws -> [GestureEvent] {
        var reader = try RecordingReader(path: recording)
        var settings = MotionSettings()
        settings.gestures.vibration.threshold = threshold
        var pipeline = MotionPipeline(settings: settings, unknownRanges: reader.unknownRanges)
        var events: [GestureEvent] = []
        while let sample = try reader.next() { pipeline.process(sample) { events.append($0) } }
        pipeline.cancelGestures(.stopped) { events.append($0) }
        return events.filter { $0.gesture == .vibration }
    }

    @Test func washingMachineIsDoneThreeMinutesAfterStop() throws {
        let files = RecordedData.files(below: "gestures/washing_rpi_mpu6050", suffix: "0.csv")
        for file in files where file.lastPathComponent == "2018-10-16-0.csv" {
            let events = try Self.vibrations(in: file.path, threshold: 0.12)
            // It runs at the first sample. It stands still for twelve minutes after the first two; no pause setting should
            // bridge that.
            #expect(events.map(\.phase) == [.ended, .began, .ended])
            #expect(events.map(\.isAdopted) == [true, false, false])
            let last = try #require(events.last)
            #expect(abs(last.timestamp.seconds - (2165 + 180)) < 20)
            #expect((last.duration ?? 0) > 1300)
            #expect((last.level ?? 0) > 0.2 && (last.level ?? 0) < 0.5)
        }
    }

    /// Two whole washes between hours of the same machine standing still, and a fan: the learnt rule.
    @Test(
        .enabled(if: !RecordedData.files(below: "machines", suffix: ".labels.csv").isEmpty, "no machines here"),
        arguments: [
            ("washer_a_programme_1", 1200.0, 3365.0, 70.0, 330.0), ("washer_a_programme_3", 1200, 3335, 70, 330),
            ("ceiling_fan_low", 289, 689, 45, nil), ("motor_misalignment_trial1", 20, 140, 45, nil),
            ("motor_imbalance_trial1", 20, 140, 45, nil), ("motor_healthy_trial1", 20, 140, 45, nil),
        ] as [(String, Double, Double, Double, Double?)])
    func machineRunsOnce(name: String, start: Double, end: Double, lateness: Double, wait: Double?) throws {
        let file = try #require(RecordedData.files(below: "machines", suffix: "\(name).csv").first)
        let events = try Self.vibrations(in: file.path)
        let began = try #require(events.first)
        #expect(events.count == 2 && began.phase == .began, "\(events.map(\.phase))")
        #expect(began.timestamp.seconds > start && began.timestamp.seconds < start + lateness)
        guard let wait, let ended = events.last else { return }
        #expect(ended.phase == .ended)
        #expect(ended.timestamp.seconds > end && ended.timestamp.seconds < end + wait)
    }

    @Test func doesNotTakePeopleAndCarsForMachines() throws {
        for set in ["svet200", "st_mlc", "microbit", "geotec", "car", "uphony", "motionsense_esp"] {
            for file in RecordedData.files(below: "gestures/\(set)", suffix: ".labels.csv") {
                let recording = file.path.replacingOccurrences(of: ".labels.csv", with: ".csv")
                // An engine is a machine: with the learnt rule, a car may be one.
                for threshold in set == "car" ? [0.12] : [nil, 0.12] {
                    let events = try Self.vibrations(in: recording, threshold: threshold)
                    #expect(
                        events.isEmpty, "\(set)/\(file.lastPathComponent), \(threshold.map { "\($0)" } ?? "learnt")")
                }
            }
        }
    }
}
