import Foundation
import MotionCore
import MotionKit
import Testing

/// Machines in public recordings: a washing machine is recognised and is done; people and cars are not machines.
@Suite(
    .enabled(if: !RecordedData.files(below: "gestures", suffix: ".labels.csv").isEmpty, "no gesture recordings here"))
struct VibrationRecordingTests {
    /// The vibration events in a recording.
    private static func vibrations(in recording: String) throws -> [GestureEvent] {
        var reader = try RecordingReader(path: recording)
        var pipeline = MotionPipeline(unknownRanges: reader.unknownRanges)
        var events: [GestureEvent] = []
        while let sample = try reader.next() { pipeline.process(sample) { events.append($0) } }
        pipeline.cancelGestures(.stopped) { events.append($0) }
        return events.filter { $0.gesture == .vibration }
    }

    @Test func washingMachineIsDoneThreeMinutesAfterStop() throws {
        let files = RecordedData.files(below: "gestures/washing_rpi_mpu6050", suffix: "0.csv")
        for file in files where file.lastPathComponent == "2018-10-16-0.csv" {
            let events = try Self.vibrations(in: file.path)
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

    @Test func doesNotTakePeopleAndCarsForMachines() throws {
        for set in ["svet200", "st_mlc", "microbit", "geotec", "car", "uphony", "motionsense_esp"] {
            for file in RecordedData.files(below: "gestures/\(set)", suffix: ".labels.csv") {
                let recording = file.path.replacingOccurrences(of: ".labels.csv", with: ".csv")
                let events = try Self.vibrations(in: recording)
                #expect(events.isEmpty, "\(set)/\(file.lastPathComponent)")
            }
        }
    }
}
