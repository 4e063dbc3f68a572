import BrokerTestSupport
import Foundation
import IMUDrivers
import LinuxSystem
import MotionCore
import Testing

@testable import MotionKit

/// Requirement: the recordings of a board are bounded in number and size, have safe names that sort by time, and can be
/// labelled, read in parts and deleted; no other file can.
@Suite struct RecordingDirectoryTests {
    private let state = TemporaryDirectory.new()
    private let limits = RecordingDirectory.Limits(files: 8, bytes: 1 << 20)

    private var directory: RecordingDirectory { RecordingDirectory(stateDirectory: state.path) }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: state.path("recordings")).sorted()
    }

    private func samples(_ seconds: Double) -> RecentSamples {
        RecentSamples(
            samples: Movement.rest(seconds), fields: [], accelerometerRange: 78.5, gyroscopeRange: .infinity,
            sensor: "MPU-6050")
    }

    // MARK: Names

    @Test(
        arguments: [
            ("recording-1.csv", 1, nil), ("recording-000001-fall.csv", 1, "fall"),
            ("recording-1234567-a-b_2.csv", 1_234_567, "a-b_2"),
        ] as [(String, Int, String?)])
    func readsNames(text: String, number: Int, occasion: String?) {
        #expect(RecordingName(text) == RecordingName(number: number, occasion: occasion))
        #expect(RecordingName(number: number, occasion: occasion).text == text)
    }

    private static let tooLongName = "recording-000001-" + String(repeating: "a", count: 128) + ".csv"

    @Test(arguments: [
        "", "recording-.csv", "recording-1", "recording-01.csv", "recording-0.csv", "recording--1.csv",
        "recording-1-fall.csv", "recording-000001-.csv", "recording-000001-Fall.csv", "recording-000001-a.b.csv",
        "recording-000001-fall.labels.csv", "recording-000001-a/b.csv", "../recording-1.csv", "recording-1.csv/..",
        "recording-000001-\u{0}.csv", "recording-9223372036854775807.csv", ".new-recording-1.csv",
        tooLongName,
    ])
    func refusesOtherNames(text: String) {
        #expect(RecordingName(text) == nil)
        for action in [{ try directory.delete(text) }, { try directory.setLabel("shake", of: text) }] {
            #expect(throws: RecordingError.system(path: text, SystemFailure(code: ENOENT))) { try action() }
        }
        #expect(throws: RecordingError.self) { try directory.chunk(of: text, from: 0, count: 10) }
    }

    /// Numbers grow with time, whatever the clock says, and over a restart.
    @Test func namesSortByTime() throws {
        let first = directory
        var names: [String] = []
        for _ in 1...12 {
            names.append(first.newName(for: "fall"))
            _ = try first.write(
                samples(0.1), to: names[names.count - 1], label: nil, within: .init(files: 99, bytes: 1 << 20))
        }
        let second = directory
        for left in ["recording-000013-keep.labels.csv", ".new-recording-000013-keep.csv", "mine.labels.csv"] {
            #expect(FileManager.default.createFile(atPath: state.path("recordings/\(left)"), contents: nil))
        }
        second.prepare()
        // What a power cut left is gone, so that it cannot become that of another recording.
        #expect(try self.names().filter { !$0.hasSuffix("-fall.csv") } == ["mine.labels.csv"])
        names.append(second.newName(for: "keep"))
        #expect(names == names.sorted() && names.last == "recording-000013-keep.csv")
        #expect(second.newName(for: nil) == "recording-14.csv")
    }

    // MARK: Bounds

    private static func entry(_ number: Int, _ bytes: Int, _ labels: String...) -> RecordingDirectory.Entry {
        .init(name: RecordingName(number: number, occasion: "fall"), bytes: bytes, labels: labels)
    }

    @Test(
        arguments: [
            // Everything fits.
            (10, 4, [], []), (40, 4, [], []),
            // Bytes: the oldest without a label, then the oldest.
            (41, 4, [], [2]), (60, 4, [], [2]), (61, 4, [], [2, 1]), (85, 4, [], [2, 1]), (86, 4, [], [2, 1, 3]),
            (1000, 4, [], [2, 1, 3]),
            // Files.
            (0, 3, [], [2]), (0, 2, [], [2, 1]), (0, 1, [], [2, 1, 3]),
            // What is being written counts and stays.
            (41, 4, [2], [1]), (0, 1, [2], [1, 3]),
        ] as [(Int, Int, [Int], [Int])])
    func makesRoomForTheNewest(bytes: Int, files: Int, open: [Int], deleted: [Int]) {
        let entries = [Self.entry(1, 25, "shake"), Self.entry(2, 20), Self.entry(3, 15, "not shake", "everyday")]
        let surplus = RecordingDirectory.surplus(
            entries, besides: Set(open.map { RecordingName(number: $0, occasion: "fall").text }), for: bytes,
            within: .init(files: files, bytes: 100))
        #expect(surplus.map(\.name.number) == deleted)
    }

    @Test func removesOldestRecordingOnly() throws {
        let shelf = directory
        for number in 1...11 {
            let file = try shelf.next(bytes: 1, within: limits)
            #expect(file.name == "recording-\(number).csv" && file.path == state.path("recordings/\(file.name)"))
            #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
            shelf.close(file)
        }
        let mine = "\(shelf.path)/recording-mine.csv"
        #expect(FileManager.default.createFile(atPath: mine, contents: nil))
        #expect(Set(try names()) == Set((4...11).map { "recording-\($0).csv" } + ["recording-mine.csv"]))
        #expect(try shelf.next(bytes: 1, within: limits).name == "recording-12.csv")
        // The largest possible number is ignored, since none can follow it.
        let last = "\(shelf.path)/recording-\(Int.max).csv"
        #expect(FileManager.default.createFile(atPath: last, contents: nil))
        #expect(try shelf.next(bytes: 1, within: limits).name == "recording-13.csv")
        #expect(throws: RecordingError.system(path: shelf.path, SystemFailure(code: ENOSPC))) {
            try shelf.next(bytes: .max / 4, within: .init(files: 8, bytes: .max))
        }
    }

    /// The oldest without a label make room, with their labels; those of both commands count.
    @Test func keepsLabelledOnesLonger() throws {
        let directory = directory
        let limits = RecordingDirectory.Limits(files: 3, bytes: 1 << 20)
        for label in ["shake", nil, nil, nil, "not shake"] as [String?] {
            let name = directory.newName(for: "keep")
            #expect(try directory.write(samples(1), to: name, label: label, within: limits) > 1000)
        }
        #expect(
            try names() == [
                "recording-000001-keep.csv", "recording-000001-keep.labels.csv", "recording-000004-keep.csv",
                "recording-000005-keep.csv", "recording-000005-keep.labels.csv",
            ])
        let file = try directory.next(bytes: 1, within: limits)
        #expect(file.name == "recording-6.csv")
        #expect(try directory.entries().map(\.name.number) == [1, 5])
        for _ in 0..<2 {
            _ = try directory.write(samples(1), to: directory.newName(for: "keep"), label: nil, within: limits)
        }
        #expect(try directory.entries().map(\.name.number) == [1, 5, 8])
        #expect(try directory.entries().map(\.labels) == [["shake"], ["not shake"], []])
    }

    // MARK: Contents

    @Test func labelsReadsAndDeletes() throws {
        let directory = directory
        #expect(try directory.entries().isEmpty)
        let name = directory.newName(for: "shake")
        let bytes = try directory.write(samples(2), to: name, label: nil, within: limits)
        let entry = try #require(try directory.entries().first)
        #expect(entry.bytes == bytes && entry.labels.isEmpty)
        #expect(abs(Double(entry.time) / 1000 - Date().timeIntervalSince1970) < 60)

        try directory.setLabel("not shake", of: name)
        let labels = state.path("recordings/recording-000001-shake.labels.csv")
        #expect(try String(contentsOfFile: labels, encoding: .utf8) == "start_s,end_s,label\n0,1.995,not shake\n")
        #expect(try directory.entries().first?.labels == ["not shake"])
        try "damaged".write(toFile: labels, atomically: false, encoding: .utf8)
        #expect(try directory.entries().first?.labels == ["?"])
        try directory.setLabel(nil, of: name)
        #expect(try directory.entries().first?.labels == [])

        // In parts of whole lines.
        var text = ""
        while let part = try directory.chunk(of: name, from: text.utf8.count, count: 1000), !part.bytes.isEmpty {
            #expect(part.size == bytes && part.bytes.count <= 1000 && part.bytes.last == 10)
            text += String(decoding: part.bytes, as: UTF8.self)
        }
        #expect(try text == String(contentsOfFile: state.path("recordings/\(name)"), encoding: .utf8))
        #expect(try directory.chunk(of: name, from: bytes + 1, count: 1000) == nil)
        var reader = try RecordingReader(path: state.path("recordings/\(name)"))
        #expect(try reader.remainingSamples().count == 400)

        // A link is no recording.
        try FileManager.default.createSymbolicLink(
            atPath: state.path("recordings/recording-2.csv"), withDestinationPath: "/etc/passwd")
        #expect(throws: RecordingError.self) { try directory.chunk(of: "recording-2.csv", from: 0, count: 10) }
        #expect(try directory.entries().count == 1)
        try directory.delete(name)
        #expect(try names() == ["recording-2.csv"])
    }

    @Test(arguments: ["shake", "not shake", "everyday", "zu schwach é", String(repeating: "a", count: 64)])
    func acceptsLabels(text: String) throws {
        #expect(RecordingLabels.isLabel(text))
        let labels = RecordingLabels([.init(start: 0, end: 1.5, label: text), .init(start: 2, end: 2, label: "tap")])
        #expect(try RecordingLabels(parsing: labels.text, path: "x") == labels)
    }

    @Test(arguments: [
        "", " shake", "shake ", "a,b", "a\"b", "a\nb", "a\u{7}", "a\u{202E}b", String(repeating: "a", count: 65),
    ])
    func refusesLabels(text: String) { #expect(!RecordingLabels.isLabel(text)) }

    @Test(arguments: [
        ("", 1), ("start,end,label\n", 1), ("start_s,end_s,label\n1,2\n", 2), ("start_s,end_s,label\n2,1,shake\n", 2),
        ("start_s,end_s,label\n0,1,shake\n\nx,1,shake\n", 4), ("start_s,end_s,label\n0,nan,shake\n", 2),
    ])
    func refusesMalformedLabels(text: String, line: Int) {
        var found: Int?
        do throws(RecordingError) {
            _ = try RecordingLabels(parsing: text, path: "x")
        } catch {
            if case .malformed("x", let number, _) = error { found = number }
        }
        #expect(found == line)
    }

    /// The readings of a magnetometer are in the rows of their time.
    @Test func hasTheMagnetometer() throws {
        let memory = SampleMemory(seconds: 2, rate: 200, hasField: true)
        #expect(memory.byteCount == (1035 + 256) * 72 + (518 + 256) * 32)
        var batch = SampleBatch(capacity: 128)
        for sample in Movement.rest(0.5) { batch.append(sample) }
        let first = batch[0].timestamp
        memory.append(MagneticSample(timestamp: first, field: Vector3(20, -5, 40)))
        memory.append(batch)
        let info = IMUInfo(
            name: "X", identity: 0, nominalRate: 200, accelerometerRange: 78.5, gyroscopeRange: 35, bandwidth: 98)
        let recent = memory.copy(from: first, to: first.advanced(bySeconds: 10), info)
        let size = try directory.write(recent, to: "recording-000001-keep.csv", label: nil, within: limits)
        #expect(size < 100 * RecentSamples.largestRow)
        var reader = try RecordingReader(path: state.path("recordings/recording-000001-keep.csv"))
        #expect(reader.hasField && reader.accelerometerRange == 78.5)
        _ = try reader.next()
        #expect(reader.field?.field == Vector3(20, -5, 40))
        _ = try reader.next()
        #expect(reader.field == nil)
    }

    // MARK: The memory

    /// Requirement: a running manager has the last seconds, with the magnetometer's readings, and nothing without the setting.
    @Test func managerRemembersTheLastSeconds() async throws {
        let rig = Rig()
        let manager = rig.manager()
        try manager.start(with: ScriptedDevice())
        #expect(manager.recentSamples(from: .init(seconds: 0), to: .init(seconds: 1e6)) == nil)
        manager.stop()
        manager.memorySeconds = 1
        let device = ScriptedDevice()
        try manager.start(with: device)
        let all = Movement.rest(10)
        device.feed(all)
        #expect(await eventually { manager.sensorStatus?.samples == UInt64(all.count) })
        let (first, last) = (all[0].timestamp, all[all.count - 1].timestamp)
        let recent = try #require(manager.recentSamples(from: last.advanced(bySeconds: -1), to: last))
        #expect(recent.samples == all.suffix(recent.samples.count) && (200...201).contains(recent.samples.count))
        #expect(recent.accelerometerRange == 78 && abs(recent.seconds - 1) < 0.01)
        // 3.5 s at 1.15 times the nominal rate.
        #expect(manager.recentSamples(from: first, to: last)?.samples.count == 805)
        #expect(manager.recentSamples(from: first, to: first)?.samples.isEmpty == true)
        manager.stop()
        #expect(manager.recentSamples(from: first, to: last) == nil)
    }
}
