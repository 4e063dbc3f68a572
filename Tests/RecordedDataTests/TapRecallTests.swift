import Foundation
import MotionCore
import MotionKit
import Testing

/// Taps in public recordings: recognised when a person tapped, and not in everyday life.
@Suite(
    .enabled(if: !RecordedData.files(below: "gestures", suffix: ".labels.csv").isEmpty, "no gesture recordings here"))
struct TapRecallTests {
    private typealias Tap = (time: Double, count: Int)

    private static func taps(in file: URL, counts: TapCounts) throws -> [Tap] {
        var reader = try RecordingReader(path: file.path.replacingOccurrences(of: ".labels.csv", with: ".csv"))
        var settings = MotionSettings()
        settings.gestures.tap.counts = counts
        var pipeline = MotionPipeline(settings: settings, unknownRanges: reader.unknownRanges)
        var taps: [Tap] = []
        while let sample = try reader.next() {
            pipeline.process(sample) {
                if $0.gesture == .tap { taps.append(($0.timestamp.seconds, $0.count ?? 0)) }
            }
        }
        return taps
    }

    @Test func recognisesTapsButNotEverydayLife() throws {
        var tapped: [String: (labels: Int, found: Int)] = [:]
        var everydayHours = 0.0
        var falseTaps = 0
        for file in RecordedData.files(below: "gestures", suffix: ".labels.csv") {
            let labels = try ShakeRecallTests.labels(file)
            let taps = try Self.taps(in: file, counts: .single).map(\.time)
            let set = file.deletingLastPathComponent().lastPathComponent
            for label in labels where label.name == "tap" {
                tapped[set, default: (0, 0)].labels += 1
                if taps.contains(where: { $0 >= label.start && $0 <= label.start + 0.25 }) {
                    tapped[set, default: (0, 0)].found += 1
                }
            }
            for label in labels where label.name.hasPrefix("act:") {
                everydayHours += (label.end - label.start) / 3600
                falseTaps += taps.filter { $0 >= label.start && $0 <= label.end }.count
            }
        }
        for (set, count) in tapped {
            #expect(Double(count.found) >= 0.95 * Double(count.labels), "\(set): \(count.found) of \(count.labels)")
        }
        #expect(!tapped.isEmpty)
        #expect(Double(falseTaps) <= 5 * everydayHours, "\(falseTaps) in \(everydayHours) h")
    }

    /// Double taps are a single event, and no tap is lost because of that.
    @Test func countingTapsLosesNone() throws {
        for file in RecordedData.files(below: "gestures", suffix: ".labels.csv") {
            guard try ShakeRecallTests.labels(file).contains(where: { $0.name == "tap" }) else { continue }
            let singles = try Self.taps(in: file, counts: .single)
            let counted = try Self.taps(in: file, counts: .all)
            let sum = counted.reduce(0) { $0 + $1.count }
            // A fourth tap in a row is left out, which is rare.
            #expect(sum <= singles.count && sum >= singles.count - singles.count / 20 - 1)
            let pairs = zip(singles, singles.dropFirst()).filter { $1.time - $0.time < 0.39 }
            #expect(counted.count <= singles.count - pairs.count + 2)
        }
    }
}
