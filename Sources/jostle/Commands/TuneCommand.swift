internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore
internal import MotionKit

/// `jostle tune`: finds the sensitivity that fits somebody's own movements, and writes it into the configuration.
enum TuneCommand {
    /// The gestures whose sensitivity somebody can find by showing them.
    static let gestures: [Gesture] = [.shake, .tap, .flick, .impact]

    static let usage = CommandUsage(
        name: "tune", summary: "find the sensitivity that fits your own movements",
        details: """
            You make the gesture a few times, then handle the board as you ordinarily do: carry it, put it down, knock
            against the table. Both are put through the recognizer at every sensitivity from 1 to 10, and the table shows
            what would have been caught and what would have fired by mistake. The best one, or the one that you ask for,
            is written into the configuration file; everything else in it stays as it is.

            Recordings of both can be given instead, made with `jostle record`. Nothing is written without a yes, or
            --yes where there is no terminal. The service has the sensor while it runs: stop it before, start it after.
            """,
        operands: [
            CommandUsage.Operand(name: "GESTURE", help: gestures.map(\.word).joined(separator: ", "))
        ],
        options: CommandUsage.configurationOptions + [
            CommandUsage.Option(
                name: "times", value: "N", help: "how often you make the gesture, 2 to 20; 5 by default"),
            CommandUsage.Option(
                name: "handling", value: "SECONDS", help: "how long you handle it after; 60 by default"),
            CommandUsage.Option(name: "shown", value: "FILE", help: "a recording of the gesture, made several times"),
            CommandUsage.Option(name: "ordinary", value: "FILE", help: "a recording of ordinary handling"),
            CommandUsage.Option(name: "take", value: "1…10", help: "write this sensitivity and not the best one"),
            CommandUsage.Option(name: "yes", help: "write it without asking"),
            CommandUsage.Option(name: "for", value: "SECONDS", help: "give up after this time; 900 by default"),
        ])

    /// What was shown.
    private struct Material {
        var shown: [MotionSample]
        var ordinary: [MotionSample]
        var calibration = ChipCalibration()
        var unknownRanges: UnknownRanges = []
    }

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        let signals = SignalWaiter()
        let word = arguments.operand(0) ?? ""
        guard let gesture = gestures.first(where: { $0.word == word }) else {
            let known = gestures.map(\.word).joined(separator: ", ")
            throw CommandFailure(.usage, "\"\(word)\" cannot be tuned; these can: \(known)")
        }
        let taken = try arguments.count("take", within: 1...10)
        let settings = try Configuration.load(arguments).settings
        let dialogue = Dialogue(signals: signals)
        defer { dialogue.end() }
        let material: Material
        if let recorded = try read(arguments) {
            material = recorded
        } else {
            material = try show(gesture, arguments, settings, dialogue)
        }
        let bouts = BoutDetector.bouts(in: material.shown)
        guard !bouts.isEmpty else {
            throw CommandFailure(.badData, "nothing moves in what was shown; nothing was changed")
        }
        let tuning = SensitivityTuning(
            gesture, settings: settings.motion, calibration: material.calibration,
            unknownRanges: material.unknownRanges,
            shown: material.shown, bouts: bouts, ordinary: material.ordinary)
        let present = settings.motion.gestures[gesture].sensitivity
        tell(tuning, present: present, dialogue)
        let choice = taken ?? tuning.best.sensitivity
        guard choice != present else {
            dialogue.say("It is \(present) already: nothing is to be changed.")
            return
        }
        try write(choice, gesture, arguments, dialogue)
    }

    // MARK: What is shown

    /// The recordings, where they are given.
    private static func read(_ arguments: Arguments) throws(CommandFailure) -> Material? {
        switch (arguments.value("shown"), arguments.value("ordinary")) {
        case (nil, nil): return nil
        case (let shown?, let ordinary?):
            let (samples, untold) = try samples(in: shown)
            return Material(shown: samples, ordinary: try self.samples(in: ordinary).samples, unknownRanges: untold)
        default: throw CommandFailure(.usage, "--shown and --ordinary need one another")
        }
    }

    private static func samples(
        in path: String
    ) throws(CommandFailure) -> (samples: [MotionSample], unknownRanges: UnknownRanges) {
        do throws(RecordingError) {
            var reader = try RecordingReader(path: path)
            var samples: [MotionSample] = []
            while let sample = try reader.next() { samples.append(sample) }
            return (samples, reader.unknownRanges)
        } catch {
            throw CommandFailure(reading: error)
        }
    }

    /// Has somebody show it.
    private static func show(
        _ gesture: Gesture, _ arguments: Arguments, _ settings: JostleSettings, _ dialogue: Dialogue
    ) throws(CommandFailure) -> Material {
        let times = try arguments.count("times", within: 2...20) ?? 5
        let seconds = try arguments.seconds("handling") ?? 60
        let bench = try TuningBench(settings, dialogue: dialogue, limit: try arguments.seconds("for") ?? 900)
        defer { bench.close() }
        dialogue.say("Sensor: \(bench.title)")
        dialogue.say(
            "\(title(gesture)) \(times) times, as you would to switch a lamp, and hold still for two seconds after each."
        )
        let shown = try bench.movements(times, title: title(gesture))
        dialogue.say(
            "Good. Now handle it for \(decimal(seconds, 0)) s as on any day: carry it, turn it, put it down. No \(gesture.word)."
        )
        let ordinary = try bench.handling(seconds: seconds)
        return Material(shown: shown, ordinary: ordinary, calibration: bench.calibration)
    }

    private static func title(_ gesture: Gesture) -> String {
        switch gesture {
        case .shake: "Shake it"
        case .tap: "Tap it"
        case .flick: "Flick it"
        default: "Knock it"
        }
    }

    // MARK: What comes of it

    private static func tell(_ tuning: SensitivityTuning, present: Int, _ dialogue: Dialogue) {
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
                "No sensitivity catches all of them and fires nothing beside: the best one misses "
                    + "\(tuning.shown - tuning.best.caught) and fires \(tuning.best.fired) by mistake.")
        }
    }

    private static func write(
        _ sensitivity: Int, _ gesture: Gesture, _ arguments: Arguments, _ dialogue: Dialogue
    ) throws(CommandFailure) {
        let key = "gestures.\(gesture.word).sensitivity"
        guard let path = arguments.value("config") ?? ConfigurationFile.standard() else {
            dialogue.say("There is no configuration file. For the one to come, or for --set: \(key)=\(sensitivity)")
            return
        }
        var isWanted = arguments.has("yes")
        if !isWanted, dialogue.isInteractive {
            isWanted = try dialogue.ask("Write \(key): \(sensitivity) into \(path)?")
        }
        guard isWanted else {
            dialogue.say("Nothing was written. By hand: \(key)=\(sensitivity); or again with --yes.")
            return
        }
        try TuningTarget(path: path).write(sensitivity, key: key)
        dialogue.say("Written into \(path): \(key) is \(sensitivity), from the next start on.")
    }
}
