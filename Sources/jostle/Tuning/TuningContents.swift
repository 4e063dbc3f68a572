internal import JostleCommandLine
internal import JostleConfiguration
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// What is kept of a run: two recordings with their labels, and what is needed to understand them. There is no name and
/// no id among it.
struct TuningContents {
    let gesture: Gesture
    let movements: TuningMovements
    let proposal: TuningProposal
    let settings: JostleSettings

    /// Writes the files into a directory.
    func write(into directory: String) throws(RecordingError) {
        try write(movements.shown, to: "\(directory)/gesture.csv")
        try write(labels(of: movements.bouts), to: "\(directory)/gesture.labels.csv")
        try write(movements.ordinary, to: "\(directory)/handling.csv")
        let whole = movements.ordinary.first.flatMap { first in
            movements.ordinary.last.map { (0.0, $0.timestamp.seconds(since: first.timestamp)) }
        }
        try write(
            TuningContents.labels(whole.map { [($0.0, $0.1, "everyday")] } ?? []),
            to: "\(directory)/handling.labels.csv")
        try write(about.indentedText() + "\n", to: "\(directory)/about.json")
    }

    private func write(_ samples: [MotionSample], to path: String) throws(RecordingError) {
        var writer = try RecordingWriter(
            path: path, accelerometerRange: movements.accelerometerRange, gyroscopeRange: movements.gyroscopeRange,
            hasTemperature: samples.contains { $0.temperature.isFinite })
        for sample in samples { try writer.write(sample) }
        try writer.flush()
    }

    private func write(_ text: String, to path: String) throws(RecordingError) {
        let file = try OutputFile(path: path)
        try file.write(text)
        try file.flush()
    }

    // MARK: Labels

    private func labels(of bouts: [BoutDetector.Bout]) -> String {
        guard let first = movements.shown.first else { return TuningContents.labels([]) }
        return TuningContents.labels(
            bouts.map {
                ($0.start.seconds(since: first.timestamp), $0.end.seconds(since: first.timestamp), gesture.word)
            })
    }

    /// A file of labels; times are those of the recording.
    private static func labels(_ rows: [(start: Double, end: Double, label: String)]) -> String {
        "start_s,end_s,label\n" + rows.map { "\(decimal($0.start, 3)),\(decimal($0.end, 3)),\($0.label)\n" }.joined()
    }

    // MARK: About

    /// The chip, its rate and mounting, the version, the settings in force, and what was found.
    private var about: JSONValue {
        var members: [JSONValue.Member] = [
            .init("jostle", .string(version)), .init("gesture", .string(gesture.word)),
        ]
        if let chip = movements.chip { members.append(.init("chip", .string(chip))) }
        if let rate = movements.rate { members.append(.init("rate_hz", .number(decimal(rate, 2)))) }
        members += [
            .init("gyroscope", .bool(movements.hasGyroscope)),
            .init("calibrated", .bool(movements.calibration != ChipCalibration())),
            .init("settings", TuningContents.settings(settings)),
            .init(
                "result",
                .object([
                    .init("best", .number("\(proposal.tuning.best.sensitivity)")),
                    .init("sensitivities", .array(proposal.present.outcomes.map(TuningContents.json))),
                ])),
        ]
        return .object(members)
    }

    private static func json(_ outcome: SensitivityTuning.Outcome) -> JSONValue {
        [
            "sensitivity": .number("\(outcome.sensitivity)"), "caught": .number("\(outcome.caught)"),
            "by_mistake": .number("\(outcome.fired)"),
        ]
    }

    /// The settings on which recognition depends. Others may name places and people, and quiet hours say when somebody
    /// sleeps.
    private static func settings(_ settings: JostleSettings) -> JSONValue {
        var settings = settings
        for gesture in Gesture.allCases { settings.quietHours[gesture] = nil }
        let sensor = ["rate", "accelerometer_range", "gyroscope_range", "batch", "mount_matrix"]
        let values = sensor.compactMap { name in
            ConfigurationSchema.value(of: "sensor.\(name)", in: settings).map { JSONValue.Member(name, $0) }
        }
        guard case .object(let sections) = ConfigurationSchema.values(of: settings) else { return .null }
        let kept = sections.filter { ["attitude", "gestures"].contains($0.name) }
        return .object([.init("sensor", .object(values))] + kept)
    }
}
