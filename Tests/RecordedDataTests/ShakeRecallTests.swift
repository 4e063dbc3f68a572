import Foundation
import MotionCore
import MotionKit
import Testing

/// Shakes in public recordings: recognised when a person shook the device, and not in everyday life.
@Suite(
    .enabled(if: !RecordedData.files(below: "gestures", suffix: ".labels.csv").isEmpty, "no gesture recordings here"))
struct ShakeRecallTests {
    struct Label {
        var start: Double
        var end: Double
        var name: String
    }

    static func labels(_ file: URL) throws -> [Label] {
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n").dropFirst().compactMap { line in
            let fields = line.split(separator: ",", maxSplits: 2)
            guard fields.count == 3, let start = Double(fields[0]), let end = Double(fields[1]) else { return nil }
            return Label(start: start, end: end, name: fields[2].trimmingCharacters(in: .whitespacesAndNewlines))
        }
    }

    /// The phases of one gesture in a recording, with their times.
    static func phases(of gesture: Gesture, in recording: String) throws -> [(time: Double, phase: GesturePhase)] {
        var reader = try RecordingReader(path: recording)
        var pipeline = MotionPipeline(unknownRanges: reader.unknownRanges)
        var events: [GestureEvent] = []
        while let sample = try reader.next() { pipeline.process(sample) { events.append($0) } }
        pipeline.cancelGestures(.stopped) { events.append($0) }
        return events.filter { $0.gesture == gesture }.map { ($0.timestamp.seconds, $0.phase) }
    }

    /// Everyday activities.
    static let everyday: Set<String> = [
        "act:idle", "act:walking", "act:still", "act:rest", "act:writing", "act:typing", "act:turning", "act:standing",
        "act:soup", "act:sitting", "act:sandwich", "act:pasta", "act:folding", "act:drinking", "act:chips",
        "act:seated",
        "act:car_windshield", "act:brushing_teeth", "act:stairs",
    ]

    /// People who shake their arm in the middle of something else, in ±2 g at 5 Hz: not labelled, and no mistake.
    static let unlabelled: [String: ClosedRange<Double>] = ["1607_sitting": 71.5...85, "1617_stairs": 41.5...46]

    /// What is counted in one set of recordings.
    private struct Count {
        var shaken = 0
        var found = 0
        var everydayHours = 0.0
        var falseShakes = 0
    }

    /// The folders and their sets, each with the most shakes that may be missed, and the most that may be found in its
    /// everyday life. Recordings of other sets do not count. Of the phone's clips in gestures-more, 66 last for fewer than
    /// four half waves, and most of these are no shakes to the recognizer.
    private static let limits: [String: [String: (missed: Int, wrong: Int)]] = [
        "gestures": [
            "glove25": (0, 0), "microbit": (1, 0), "motionsense_esp": (1, 0), "uhh": (1, 0), "unitn_bmi270": (0, 0),
            "wiimote": (0, 0), "car": (0, 0), "geotec": (0, 0), "st_mlc": (0, 0), "wisdm_watch": (0, 1),
        ],
        "gestures-more": [
            "motionsense_esp": (70, 0), "uhh": (1, 0), "geotec": (0, 0), "assist_stairs": (0, 0),
            "wisdm_watch": (0, 2),
        ],
    ]

    @Test(arguments: ["gestures", "gestures-more"])
    func recognisesShakesButNotEverydayLife(folder: String) throws {
        let files = RecordedData.files(below: folder, suffix: ".labels.csv")
        var counts: [String: Count] = [:]
        for file in files {
            let set = RecordedData.set(of: file)
            let labels = try Self.labels(file)
            let recording = file.path.replacingOccurrences(of: ".labels.csv", with: ".csv")
            let shakes = try Self.phases(of: .shake, in: recording)
            // Every `began` has exactly one end.
            for (index, shake) in shakes.enumerated() {
                let wanted: [GesturePhase] = index % 2 == 0 ? [.began] : [.ended, .cancelled]
                #expect(wanted.contains(shake.phase), "\(file.lastPathComponent) at \(shake.time) s")
            }
            let unlabelled = Self.unlabelled[file.lastPathComponent.replacingOccurrences(of: ".labels.csv", with: "")]
            let began = shakes.filter { $0.phase == .began && unlabelled?.contains($0.time) != true }.map(\.time)
            for label in labels where label.name == "shake" && label.end - label.start <= 3 {
                counts[set, default: Count()].shaken += 1
                if began.contains(where: { $0 >= label.start - 0.25 && $0 <= label.end + 0.75 }) {
                    counts[set, default: Count()].found += 1
                }
            }
            for label in labels where Self.everyday.contains(label.name) {
                counts[set, default: Count()].everydayHours += (label.end - label.start) / 3600
                counts[set, default: Count()].falseShakes += began.count { $0 >= label.start && $0 <= label.end }
            }
        }
        for (set, count) in counts.sorted(by: { $0.key < $1.key }) {
            guard let limit = Self.limits[folder]?[set] else { continue }
            #expect(count.shaken - count.found <= limit.missed, "\(set): \(count.found) of \(count.shaken)")
            #expect(count.falseShakes <= limit.wrong, "\(set): \(count.falseShakes) in \(count.everydayHours) h")
        }
        #expect(counts.isEmpty == files.isEmpty)
    }
}
