internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore
internal import MotionKit

/// `jostle tune`: finds the sensitivity that fits the user's own movements, and writes it into the configuration.
enum TuneCommand {
    static let usage = CommandUsage(
        name: "tune", summary: "find the sensitivity that fits your own movements",
        details: """
            Make the gesture a few times, then handle the board as usual: carry it, put it down, knock against the
            table. Both go through the recognizer at every sensitivity from 1 to 10, and a table shows what would have
            been recognised, and what by mistake. The best sensitivity, or the one that you choose, is written into the
            configuration file; the rest of the file does not change. If another value of a setting, such as the number
            of taps, fits better, the command proposes that too. A value that was set over MQTT takes precedence over
            the file: the command says so, and offers to clear it.

            Instead, you can pass recordings of both, made with `jostle record`. Nothing is written without confirmation
            or --yes; without a terminal --yes is required. The service occupies the sensor while it runs: stop it
            before, and start it afterwards.

            With your consent, the recordings are kept in the state directory, with labels, so that you can attach them
            to a bug report with --export. Nothing is sent. Without a terminal, --keep says so. At most 64 MiB are
            kept; the oldest are deleted. --list shows them, --forget deletes them.
            """,
        operands: [
            CommandUsage.Operand(
                name: "GESTURE", help: Gesture.allCases.map(\.word).joined(separator: ", "), isRequired: false,
                suggestions: .words(Gesture.allCases.map(\.word)))
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
            CommandUsage.Option(name: "keep", help: "keep the recordings without asking"),
            CommandUsage.Option(name: "no-keep", help: "do not keep the recordings, and do not ask"),
            CommandUsage.Option(name: "list", help: "list the recordings that are kept"),
            CommandUsage.Option(
                name: "export", value: "FILE", help: "write all of them into a new tar file, for a bug report"),
            CommandUsage.Option(name: "forget", value: "NAME", help: "delete one of them, or all"),
        ])

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        let signals = SignalWaiter()
        if try manageRecordings(arguments) { return }
        let gesture = try gesture(arguments)
        if arguments.has("keep"), arguments.has("no-keep") {
            throw CommandFailure(.usage, "--keep and --no-keep exclude each other")
        }
        let taken = try arguments.count("take", within: 1...10)
        let loaded = try Configuration.load(arguments)
        let settings = loaded.settings
        let dialogue = Dialogue(signals: signals)
        defer { dialogue.end() }
        let recordings = TuningRecordings(for: Configuration.file(arguments))
        let movements: TuningMovements
        var keeps = arguments.has("keep")
        if let recorded = try TuningMovements.read(gesture, arguments) {
            movements = recorded
        } else {
            keeps = try isConsentGiven(recordings, arguments, dialogue)
            movements = try TuningMovements.collect(gesture, arguments, settings, dialogue)
        }
        guard !movements.bouts.isEmpty else {
            throw CommandFailure(.badData, "the gesture's samples contain no movement; nothing was changed")
        }
        try tune(gesture, movements, taken, loaded, arguments, dialogue, signals) {
            (proposal) throws(CommandFailure) in
            guard keeps else { return }
            try keep(movements, gesture, proposal, settings, in: recordings, arguments, dialogue)
        }
    }

    private static func gesture(_ arguments: Arguments) throws(CommandFailure) -> Gesture {
        guard let word = arguments.operand(0) else {
            throw CommandFailure(
                .usage, lines: ["GESTURE is missing", usage.synopsis, "More: jostle \(usage.name) --help"])
        }
        guard let gesture = Gesture.allCases.first(where: { $0.word == word }) else {
            let known = Gesture.allCases.map(\.word)
            let suggestion = EditDistance.suggestion(for: word, among: known)
            throw CommandFailure(
                .usage, "\"\(word)\" cannot be tuned; these can: \(known.joined(separator: ", "))\(suggestion)")
        }
        return gesture
    }

    // MARK: Result

    /// Tries all sensitivities, shows the result, calls `keep`, and writes what is confirmed.
    private static func tune(
        _ gesture: Gesture, _ movements: TuningMovements, _ taken: Int?, _ loaded: LoadedConfiguration,
        _ arguments: Arguments, _ dialogue: Dialogue, _ signals: SignalWaiter,
        keep: (TuningProposal) throws(CommandFailure) -> Void
    ) throws(CommandFailure) {
        let proposal = TuningProposal(gesture, movements, loaded.settings.motion)
        let file = Configuration.file(arguments)
        let layers = LayersInForce(upon: loaded, file: file)
        func result(_ key: String, _ name: String) -> TuningResult {
            TuningResult(
                key: "gestures.\(gesture.word).\(key)", name: name,
                configured: ConfigurationSchema.value(of: "gestures.\(gesture.word).\(key)", in: loaded.settings)
                    .map(YAMLText.flow) ?? "",
                layers: layers, file: file, loaded: loaded)
        }
        let present = layers.stack.resolution.settings.motion.gestures[gesture].sensitivity
        let tuning = proposal.tuning
        let chosen = taken ?? tuning.best.sensitivity
        dialogue.say(TuningReport(tuning: tuning, present: present, chosen: chosen).text)
        if let choice = proposal.choice {
            dialogue.say(
                "This is with gestures.\(gesture.word).\(choice.key): \(choice.value), which fits better than the present "
                    + "value: \(words(proposal.present.best, of: tuning.shown)) with that, "
                    + "\(words(tuning.best, of: tuning.shown)) with this.")
        }
        if !tuning.isClean {
            dialogue.say(
                "No sensitivity recognises all of them without mistakes: the best one misses "
                    + "\(tuning.shown - tuning.best.caught) and is triggered \(tuning.best.fired) times by mistake.")
        }
        var keepFailure: CommandFailure?
        do throws(CommandFailure) { try keep(proposal) } catch { keepFailure = error }
        var final = taken ?? tuning.best.sensitivity
        if let choice = proposal.choice {
            let isSet = try result(choice.key, choice.key).store(choice.value, arguments, dialogue, signals)
            // Without a terminal both are for the user to set.
            if !isSet, taken == nil, dialogue.isInteractive { final = proposal.present.best.sensitivity }
        }
        try result("sensitivity", "sensitivity").store("\(final)", arguments, dialogue, signals)
        if let keepFailure { throw keepFailure }
    }

    private static func words(_ outcome: SensitivityTuning.Outcome, of shown: Int) -> String {
        "\(outcome.caught) of \(shown) caught and \(outcome.fired) by mistake"
    }
}
