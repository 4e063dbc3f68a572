internal import Documents
internal import Glibc
internal import JostleCommandLine
internal import JostleConfiguration
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// The recordings of `jostle tune` that the user agreed to keep: a directory for each run, `1-shake`, below the state
/// directory. Only their owner and root can read them.
struct TuningRecordings {
    /// The most bytes of all runs together. The oldest are deleted first.
    static let capacity = 64 << 20

    /// Bytes that must stay free on the disk.
    private static let reserve = Double(64 << 20)

    /// The state directory, and in it the directory of all runs.
    private let state: String
    let path: String

    /// Those beside the state of the agent that reads a configuration file.
    init(for file: String?) {
        state = LayersInForce.directory(for: file)
        path = "\(state)/tune"
    }

    /// The labelled recordings of this board.
    func labelled() throws -> LabelledRecordings {
        let runs = try readableRuns()
        do {
            return try LabelledRecordings(in: state, runs: runs)
        } catch RecordingError.system(let path, let failure) {
            throw TuningRecordings.failure(failure, path)
        }
    }

    /// All runs.
    ///
    /// - Throws: a failure with its exit status.
    func readableRuns() throws -> [Run] {
        do { return try runs() } catch let failure as SystemFailure {
            throw TuningRecordings.failure(failure, path)
        }
    }

    static func failure(_ error: SystemFailure, _ path: String) -> Failure {
        guard error.code == EACCES else { return Failure(.noInput, "\(path): \(error)") }
        return Failure(.permission, "\(path): \(error); use sudo")
    }

    /// One run.
    struct Run: Equatable {
        let number: Int
        let name: String
        let path: String
        let bytes: Int
    }

    /// All runs, the oldest first. Other files are ignored.
    ///
    /// - Throws: why the directory cannot be read; that it does not exist is no error.
    func runs() throws -> [Run] {
        let names: [String]
        do { names = try DirectoryContents.names(path) } catch {
            guard error.code == ENOENT else { throw error }
            return []
        }
        var runs: [Run] = []
        for name in names {
            let parts = name.split(separator: "-", maxSplits: 1)
            guard parts.count == 2, let number = Int(parts[0]), number > 0, number < .max,
                "\(number)-\(parts[1])" == name,
                Gesture(word: String(parts[1])) != nil, !DirectoryContents.isLink("\(path)/\(name)"),
                DirectoryContents.exists("\(path)/\(name)")
            else { continue }
            let run = "\(path)/\(name)"
            runs.append(Run(number: number, name: name, path: run, bytes: try TuningRecordings.bytes(in: run)))
        }
        return runs.sorted { $0.number < $1.number }
    }

    /// Adds a run whose files `fill` puts into a directory, and deletes the oldest ones beyond the capacity.
    ///
    /// - Returns: the run, and those that were deleted for it.
    func add(_ gesture: Gesture, fill: (_ directory: String) throws -> Void) throws -> (added: Run, deleted: [Run]) {
        FileContents.makeDirectories(path)
        let old: [Run]
        do {
            guard chmod(path, 0o700) == 0 else { throw SystemFailure(code: errno) }
            guard try DiskSpace(of: path).free >= TuningRecordings.reserve + Double(TuningRecordings.capacity) / 4
            else {
                throw SystemFailure(code: ENOSPC)
            }
            old = try runs()
        } catch let failure as SystemFailure {
            throw RecordingError.system(path: path, failure)
        }
        let number = (old.last?.number ?? 0) + 1
        let name = "\(number)-\(gesture.word)"
        // Complete or not there at all.
        let temporary = "\(path)/.new"
        FileContents.removeDirectory(temporary)
        guard mkdir(temporary, 0o700) == 0 else {
            throw RecordingError.system(path: temporary, SystemFailure(code: errno))
        }
        do {
            try fill(temporary)
            let bytes = try TuningRecordings.bytes(in: temporary)
            guard bytes <= TuningRecordings.capacity else {
                throw RecordingError.system(path: path, SystemFailure(code: EFBIG))
            }
            guard rename(temporary, "\(path)/\(name)") == 0 else {
                throw RecordingError.system(path: "\(path)/\(name)", SystemFailure(code: errno))
            }
            let added = Run(number: number, name: name, path: "\(path)/\(name)", bytes: bytes)
            return (added, makeRoom(for: added, among: old))
        } catch {
            FileContents.removeDirectory(temporary)
            throw error
        }
    }

    /// The size of all files in a directory: lstat(2).
    private static func bytes(in directory: String) throws -> Int {
        try DirectoryContents.names(directory).reduce(0) { sum, name in
            var status = stat()
            return lstat("\(directory)/\(name)", &status) == 0 ? sum + Int(status.st_size) : sum
        }
    }

    private func makeRoom(for added: Run, among old: [Run]) -> [Run] {
        var total = old.map(\.bytes).reduce(added.bytes, +)
        var deleted: [Run] = []
        for run in old where total > TuningRecordings.capacity {
            FileContents.removeDirectory(run.path)
            total -= run.bytes
            deleted.append(run)
        }
        return deleted
    }

    /// Deletes a run.
    ///
    /// - Throws: that it is still there.
    func delete(_ run: Run) throws {
        FileContents.removeDirectory(run.path)
        guard !DirectoryContents.exists(run.path) else { throw SystemFailure(code: EACCES) }
    }
}

/// What is kept of a run: two recordings with their labels, and what is needed to understand them. There is no name and
/// no id among it.
struct TuningContents {
    let gesture: Gesture
    let movements: TuningMovements
    let proposal: TuningProposal
    let settings: JostleSettings

    /// Writes the files into a directory.
    func write(into directory: String) throws {
        try write(movements.shown, to: "\(directory)/gesture.csv")
        try write(labels.text, to: "\(directory)/gesture.labels.csv")
        try write(movements.ordinary, to: "\(directory)/handling.csv")
        try write(everyday.text, to: "\(directory)/handling.labels.csv")
        try write(about.indentedText() + "\n", to: "\(directory)/about.json")
    }

    private func write(_ samples: [MotionSample], to path: String) throws {
        var writer = try RecordingWriter(
            path: path, accelerometerRange: movements.accelerometerRange, gyroscopeRange: movements.gyroscopeRange,
            hasTemperature: samples.contains { $0.temperature.isFinite })
        for sample in samples { try writer.write(sample) }
        try writer.flush()
    }

    private func write(_ text: String, to path: String) throws {
        let file = try OutputFile(path: path)
        try file.write(text)
        try file.flush()
    }

    // MARK: Labels

    private var labels: RecordingLabels {
        guard let first = movements.shown.first else { return RecordingLabels([]) }
        return RecordingLabels(
            movements.bouts.map {
                RecordingLabels.Row(
                    start: $0.start.seconds(since: first.timestamp), end: $0.end.seconds(since: first.timestamp),
                    label: gesture.word)
            })
    }

    private var everyday: RecordingLabels {
        guard let first = movements.ordinary.first, let last = movements.ordinary.last else {
            return RecordingLabels([])
        }
        let end = last.timestamp.seconds(since: first.timestamp)
        return RecordingLabels([.init(start: 0, end: end, label: RecordingLabels.everyday)])
    }

    // MARK: About

    /// The chip, its rate and mounting, the version, the settings in force, and what was found.
    private var about: JSONValue {
        let result: JSONValue = [
            "best": .number(proposal.tuning.best.sensitivity),
            "sensitivities": .array(proposal.present.outcomes.map(TuningContents.json)),
        ]
        return [
            "jostle": .string(version), "gesture": .string(gesture.word), "chip": movements.chip.map { .string($0) },
            "rate_hz": movements.rate.map { .number(decimal($0, 2)) }, "gyroscope": .bool(movements.hasGyroscope),
            "calibrated": .bool(movements.calibration != ChipCalibration()),
            "settings": TuningContents.settings(settings), "result": result,
        ]
    }

    private static func json(_ outcome: SensitivityTuning.Outcome) -> JSONValue {
        [
            "sensitivity": .number(outcome.sensitivity), "caught": .number(outcome.caught),
            "by_mistake": .number(outcome.fired),
        ]
    }

    /// The settings on which recognition depends. Others may name places and people, and quiet hours say when somebody
    /// sleeps.
    private static func settings(_ settings: JostleSettings) -> JSONValue {
        var settings = settings
        for gesture in Gesture.builtIn { settings.quietHours[gesture] = nil }
        let sensor = ["rate", "accelerometer_range", "gyroscope_range", "batch", "mount_matrix"]
        let values = sensor.compactMap { name in
            ConfigurationSchema.value(of: "sensor.\(name)", in: settings).map { JSONValue.Member(name, $0) }
        }
        guard let sections = ConfigurationSchema.values(of: settings).members else { return .null }
        let kept = sections.filter { ["attitude", "gestures"].contains($0.name) }
        return .object([.init("sensor", .object(values))] + kept)
    }
}
