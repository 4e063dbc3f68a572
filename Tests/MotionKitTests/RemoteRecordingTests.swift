import BrokerTestSupport
import Foundation
import MotionCore
import Testing

@testable import MotionKit

/// Requirement: remotely requested recordings are limited in time and size, and report how they ended.
@Suite(.timeLimit(.minutes(1))) struct RemoteRecordingTests {
    private let rig = Rig()
    private let directory = NSTemporaryDirectory() + "jostle-shelf-" + UUID().uuidString

    /// Records a device's samples, and returns the outcome.
    private func record(
        _ samples: [MotionSample], seconds: Double, bytes: Int = 1 << 20, stops: Bool = false
    ) async throws -> (outcome: SampleRecorder.Outcome, path: String) {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let path = directory + "/file.csv"
        let manager = rig.manager()
        let device = ScriptedDevice()
        try manager.start(with: device)
        #expect(await eventually { manager.sensorInfo != nil })
        let outcomes = Journal<SampleRecorder.Outcome>()
        let limits = SampleRecorder.Limits(seconds: seconds, bytes: bytes)
        let recorder = try SampleRecorder(manager, path: path, limits: limits) { outcomes.append($0) }
        device.feed(samples)
        if stops {
            #expect(await eventually { manager.sensorStatus?.samples == UInt64(samples.count) })
            manager.stop()
            recorder.stop()
        }
        #expect(await eventually { outcomes.count == 1 })
        recorder.stop()
        #expect(outcomes.count == 1)
        return (try #require(outcomes.entries.first), path)
    }

    @Test func endsInTimeAndCanBeRead() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (outcome, path) = try await record(Movement.rest(3), seconds: 1)
        #expect(outcome.end == .time && outcome.samples == 200 && abs(outcome.seconds - 0.995) < 1e-6)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.size] as? Int == outcome.bytes)
        var reader = try RecordingReader(path: path)
        var count = 0
        while try reader.next() != nil { count += 1 }
        #expect(count == 200)
    }

    @Test func staysBelowMaximumSize() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (outcome, path) = try await record(Movement.rest(3), seconds: 600, bytes: 5000)
        #expect(outcome.end == .size && outcome.bytes <= 5000 && outcome.bytes > 4800)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int == outcome.bytes)
    }

    @Test func stopKeepsSamplesSoFar() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (outcome, _) = try await record(Movement.rest(0.5), seconds: 600, stops: true)
        #expect(outcome.end == .stopped && outcome.samples == 100 && outcome.lost == 0)
    }
}
