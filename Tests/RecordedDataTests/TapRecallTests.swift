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

    /// What is counted in one set of recordings.
    private struct Count {
        var tapped = 0
        var found = 0
        var everydayHours = 0.0
        var falseTaps = 0
    }

    /// The sets, each with the most taps that may be missed, and the most that may be found in its everyday life.
    /// Recordings of other sets do not count.
    private static let limits: [String: (missed: Int, wrong: Int)] = [
        "svet200": (2, 0), "uphony": (1, 0), "car": (0, 1), "geotec": (0, 0), "microbit": (0, 0),
        "motionsense_esp": (0, 0), "sisfall": (0, 8), "st_mlc": (0, 0), "unitn_bmi270": (0, 0),
        "washing_rpi_mpu6050": (0, 2), "wisdm_watch": (0, 10),
    ]

    @Test func recognisesTapsButNotEverydayLife() throws {
        var counts: [String: Count] = [:]
        for file in RecordedData.files(below: "gestures", suffix: ".labels.csv") {
            var count = counts[RecordedData.set(of: file)] ?? Count()
            let labels = try ShakeRecallTests.labels(file)
            let taps = try Self.taps(in: file, counts: .single).map(\.time)
            for label in labels where label.name == "tap" {
                count.tapped += 1
                if taps.contains(where: { $0 >= label.start && $0 <= label.start + 0.25 }) { count.found += 1 }
            }
            for label in labels where label.name.hasPrefix("act:") {
                count.everydayHours += (label.end - label.start) / 3600
                count.falseTaps += taps.count { $0 >= label.start && $0 <= label.end }
            }
            counts[RecordedData.set(of: file)] = count
        }
        for (set, count) in counts.sorted(by: { $0.key < $1.key }) {
            guard let limit = Self.limits[set] else { continue }
            #expect(count.tapped - count.found <= limit.missed, "\(set): \(count.found) of \(count.tapped)")
            #expect(count.falseTaps <= limit.wrong, "\(set): \(count.falseTaps) in \(count.everydayHours) h")
        }
        #expect(!counts.isEmpty)
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
