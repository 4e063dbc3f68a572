internal import MotionCore
internal import MotionKit

/// The recordings of this board that somebody has labelled: those of the agent, and those that `jostle tune` kept.
struct LabelledRecordings {
    /// One recording.
    struct File: Equatable {
        let path: String
        /// The path in an archive.
        let name: String
        let labels: RecordingLabels
        /// Whether a label says only that the gesture was made in this time, not how often.
        let isVague: Bool
    }

    /// All of them, those of the agent first.
    let files: [File]

    /// The most samples of one: half an hour at 200 Hz.
    private static let maximumSamples = 360_000

    /// Seconds between two recordings that are put one behind the other: the pipeline takes it for a loss of the sensor.
    private static let gap = 30.0

    /// Finds those in a state directory. `runs` are those that `jostle tune` kept.
    ///
    /// - Throws: why a directory or a file with labels cannot be read.
    init(in state: String, runs: [TuningRecordings.Run]) throws {
        let directory = RecordingDirectory(stateDirectory: state)
        var files = try directory.entries().filter { !$0.labels.isEmpty }.map { entry in
            let path = "\(directory.path)/\(entry.name.text)"
            return File(
                path: path, name: "recordings/\(entry.name.text)", labels: try RecordingLabels(ofRecording: path),
                isVague: true)
        }
        for run in runs {
            for name in ["gesture.csv", "handling.csv"] {
                let path = "\(run.path)/\(name)"
                let labels = try RecordingLabels(ofRecording: path)
                guard !labels.rows.isEmpty else { continue }
                files.append(File(path: path, name: "\(run.name)/\(name)", labels: labels, isVague: false))
            }
        }
        self.files = files
    }

    /// Those of the agent, for an export.
    var ofAgent: [File] { files.filter(\.isVague) }

    /// The movements of all that say something about a gesture, with their number; `nil` if none does.
    func movements(of gesture: Gesture) throws -> (movements: TuningMovements, shown: Int, others: Int)? {
        var result = TuningMovements(shown: [], bouts: [], ordinary: [])
        var (shown, others) = (0, 0)
        let negations = [RecordingLabels.everyday, RecordingLabels.negation + gesture.word]
        for file in files {
            let rows = file.labels.rows.filter { $0.label == gesture.word }
            let isOther = rows.isEmpty && file.labels.rows.contains { negations.contains($0.label) }
            guard !rows.isEmpty || isOther else { continue }
            var reader = try RecordingReader(
                path: file.path, maximumSamples: LabelledRecordings.maximumSamples, mustBeRegular: true)
            let samples = try reader.remainingSamples()
            try TuningMovements.checkGyroscope(samples, for: gesture)
            result.unknownRanges.formUnion(reader.unknownRanges)
            guard !isOther else {
                _ = LabelledRecordings.append(samples, to: &result.ordinary)
                others += 1
                continue
            }
            let shift = LabelledRecordings.append(samples, to: &result.shown)
            result.bouts += rows.map {
                BoutDetector.Bout(
                    start: Timestamp(seconds: $0.start + shift), end: Timestamp(seconds: $0.end + shift),
                    isVague: file.isVague)
            }
            shown += rows.count
        }
        return shown + others > 0 ? (result, shown, others) : nil
    }

    /// Puts samples behind others, after a gap; returns by how many seconds their times are moved.
    fileprivate static func append(_ samples: [MotionSample], to all: inout [MotionSample]) -> Double {
        guard let last = all.last, let first = samples.first else {
            all += samples
            return 0
        }
        let shift = last.timestamp.seconds(since: first.timestamp) + gap
        all += samples.map { sample in
            var sample = sample
            if sample.timestamp == first.timestamp { sample.flags.insert(.afterGap) }
            sample.timestamp = sample.timestamp.advanced(bySeconds: shift)
            return sample
        }
        return shift
    }
}

extension TuningMovements {
    /// These, behind the recorded ones of the same board.
    func behind(_ recorded: TuningMovements) -> TuningMovements {
        var result = self
        (result.shown, result.ordinary) = (recorded.shown, recorded.ordinary)
        let shift = LabelledRecordings.append(shown, to: &result.shown)
        result.bouts = recorded.bouts + bouts.map { $0.moved(by: shift) }
        _ = LabelledRecordings.append(ordinary, to: &result.ordinary)
        result.unknownRanges.formUnion(recorded.unknownRanges)
        return result
    }
}
