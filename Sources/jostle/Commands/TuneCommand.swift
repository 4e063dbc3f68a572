internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore
internal import MotionKit

/// `jostle tune`: finds the sensitivity that fits the user's own movements, and writes it into the configuration.
enum TuneCommand {
    /// The gestures that can be tuned by performing them.
    static let gestures: [Gesture] = [.shake, .tap, .flick, .impact]

    static let usage = CommandUsage(
        name: "tune", summary: "find the sensitivity that fits your own movements",
        details: """
            Make the gesture a few times, then handle the board as usual: carry it, put it down, knock against the
            table. Both go through the recognizer at every sensitivity from 1 to 10, and a table shows what would have
            been recognised, and what by mistake. The best sensitivity, or the one that you choose, is written into the
            configuration file; the rest of the file does not change. A value that was set over MQTT takes precedence
            over the file: the command says so, and offers to clear it.

            Instead, you can pass recordings of both, made with `jostle record`. Nothing is written without confirmation
            or --yes; without a terminal --yes is required. The service occupies the sensor while it runs: stop it
            before, and start it afterwards.
            """,
        operands: [
            CommandUsage.Operand(
                name: "GESTURE", help: gestures.map(\.word).joined(separator: ", "),
                suggestions: .words(gestures.map(\.word)))
        ],
        options: CommandUsage.configurationOptions + [
            CommandUsage.Option(
                name: "times", value: "N", help: "how often you make the gesture, 2 to 20; 5 by default"),
            CommandUsage.Option(
                name: "handling", value: "SECONDS", help: "how long you then handle the board; 60 by default"),
            CommandUsage.Option(name: "shown", value: "FILE", help: "a recording of the gesture, made several times"),
            CommandUsage.Option(name: "ordinary", value: "FILE", help: "a recording of ordinary handling"),
            CommandUsage.Option(name: "take", value: "1…10", help: "write this sensitivity instead of the best one"),
            CommandUsage.Option(name: "yes", help: "write without asking"),
            CommandUsage.Option(
                name: "clear", help: "with --yes: also clear a value that was set over MQTT, which would win"),
            CommandUsage.Option(name: "for", value: "SECONDS", help: "give up after this time; 900 by default"),
        ])

    /// The samples of the gesture and of ordinary handling.
    private struct Movements {
        var shown: [MotionSample]
        var ordinary: [MotionSample]
        var calibration = ChipCalibration()
        var unknownRanges: UnknownRanges = []
    }

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        let signals = SignalWaiter()
        let word = arguments.operand(0) ?? ""
        guard let gesture = gestures.first(where: { $0.word == word }) else {
            let known = gestures.map(\.word)
            let suggestion = EditDistance.suggestion(for: word, among: known)
            throw CommandFailure(
                .usage, "\"\(word)\" cannot be tuned; these can: \(known.joined(separator: ", "))\(suggestion)")
        }
        let taken = try arguments.count("take", within: 1...10)
        let loaded = try Configuration.load(arguments)
        let settings = loaded.settings
        let dialogue = Dialogue(signals: signals)
        defer { dialogue.end() }
        let movements: Movements
        if let recorded = try read(arguments) {
            movements = recorded
        } else {
            movements = try collect(gesture, arguments, settings, dialogue)
        }
        let bouts = BoutDetector.bouts(in: movements.shown)
        guard !bouts.isEmpty else {
            throw CommandFailure(.badData, "the gesture's samples contain no movement; nothing was changed")
        }
        let tuning = SensitivityTuning(
            gesture, settings: settings.motion, calibration: movements.calibration,
            unknownRanges: movements.unknownRanges,
            shown: movements.shown, bouts: bouts, ordinary: movements.ordinary)
        let file = Configuration.file(arguments)
        let result = TuningResult(
            key: "gestures.\(gesture.word).sensitivity", configured: settings.motion.gestures[gesture].sensitivity,
            layers: LayersInForce(upon: loaded, file: file), file: file, loaded: loaded)
        let present = result.layers.stack.resolution.settings.motion.gestures[gesture].sensitivity
        printTable(tuning, present: present, dialogue)
        try result.store(taken ?? tuning.best.sensitivity, arguments, dialogue, signals)
    }

    // MARK: Collecting movements

    /// The movements from the recordings; `nil` if none are given.
    private static func read(_ arguments: Arguments) throws(CommandFailure) -> Movements? {
        switch (arguments.value("shown"), arguments.value("ordinary")) {
        case (nil, nil): return nil
        case (let shown?, let ordinary?):
            let (samples, unknownRanges) = try samples(in: shown)
            return Movements(
                shown: samples, ordinary: try self.samples(in: ordinary).samples, unknownRanges: unknownRanges)
        default: throw CommandFailure(.usage, "--shown and --ordinary must be given together")
        }
    }

    /// The most samples of a recording: 80 minutes at 200 Hz, 72 bytes each.
    private static let maximumSamples = 1_000_000

    private static func samples(
        in path: String
    ) throws(CommandFailure) -> (samples: [MotionSample], unknownRanges: UnknownRanges) {
        do throws(RecordingError) {
            var reader = try RecordingReader(path: path, maximumSamples: maximumSamples)
            return (try reader.remainingSamples(), reader.unknownRanges)
        } catch {
            throw CommandFailure(reading: error)
        }
    }

    /// Guides the user through making the movements, and records them.
    private static func collect(
        _ gesture: Gesture, _ arguments: Arguments, _ settings: JostleSettings, _ dialogue: Dialogue
    ) throws(CommandFailure) -> Movements {
        let times = try arguments.count("times", within: 2...20) ?? 5
        let seconds = try arguments.seconds("handling") ?? 60
        let measurement = try TuningMeasurement(
            settings, dialogue: dialogue, limit: try arguments.seconds("for") ?? 900)
        defer { measurement.close() }
        dialogue.say("Sensor: \(measurement.title)")
        dialogue.say(
            "\(title(gesture)) \(times) times, as you would to switch a lamp, and hold it still for two seconds after each."
        )
        let shown = try measurement.movements(times, title: title(gesture))
        dialogue.say(
            "Good. Now handle it for \(decimal(seconds, 0)) s as usual: carry it, turn it, put it down. No \(gesture.word)."
        )
        let ordinary = try measurement.handling(seconds: seconds)
        return Movements(shown: shown, ordinary: ordinary, calibration: measurement.calibration)
    }

    private static func title(_ gesture: Gesture) -> String {
        switch gesture {
        case .shake: "Shake it"
        case .tap: "Tap it"
        case .flick: "Flick it"
        default: "Knock it"
        }
    }

    // MARK: Result

    private static func printTable(_ tuning: SensitivityTuning, present: Int, _ dialogue: Dialogue) {
        let best = tuning.best.sensitivity
        let rows = tuning.outcomes.map { outcome in
            var marks: [String] = []
            if outcome.sensitivity == best { marks.append("<- best") }
            if outcome.sensitivity == present { marks.append("<- now") }
            return [
                "\(outcome.sensitivity)", "\(outcome.caught) of \(tuning.shown)", "\(outcome.fired)",
                marks.joined(separator: " "),
            ]
        }
        let table = TextTable([["sensitivity", "caught", "by mistake", ""]] + rows, rightAligned: 0...2)
        dialogue.say("\n" + table.description)
        if !tuning.isClean {
            dialogue.say(
                "No sensitivity recognises all of them without mistakes: the best one misses "
                    + "\(tuning.shown - tuning.best.caught) and is triggered \(tuning.best.fired) times by mistake.")
        }
    }
}
