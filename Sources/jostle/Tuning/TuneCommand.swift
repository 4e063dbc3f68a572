internal import Glibc
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator
internal import JostleRuntime
internal import LinuxSystem
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

            Instead, you can pass recordings of both, made with `jostle record`. Recordings of this board that are
            labelled with the gesture, with "not" and the gesture, or with "everyday" (see jostle recordings) count
            too, and with --labelled they alone. Nothing is written without confirmation
            or --yes; without a terminal --yes is required. The service occupies the sensor while it runs: stop it
            before, and start it afterwards.

            With your consent, the recordings are kept in the state directory, with labels, so that you can attach them
            to a bug report with --export. Nothing is sent. Without a terminal, --keep says so. At most 64 MiB are
            kept; the oldest are deleted. --list shows them, --forget deletes them. --export adds the labelled recordings of
            the agent.
            """,
        operands: [
            Operand(
                "GESTURE", help: Gesture.builtIn.map(\.word).joined(separator: ", "), isRequired: false,
                suggestions: .words(Gesture.builtIn.map(\.word)))
        ],
        options: CommandUsage.configurationOptions + [
            Option("times", value: "N", help: "how often you make the gesture, 2 to 20; 5 by default"),
            Option("handling", value: "SECONDS", help: "how long you then handle the board; 60 by default"),
            Option("shown", value: "FILE", help: "a recording of the gesture, made several times"),
            Option("ordinary", value: "FILE", help: "a recording of ordinary handling"),
            Option("labelled", help: "use the labelled recordings of this board, and not the sensor"),
            Option("take", value: "1…10", help: "write this sensitivity instead of the best one"),
            Option("yes", help: "write without asking"),
            Option("clear", help: "with --yes: also clear a value that was set over MQTT, which would win"),
            Option("for", value: "SECONDS", help: "give up after this time; 900 by default"),
            Option("keep", help: "keep the recordings without asking"),
            Option("no-keep", help: "do not keep the recordings, and do not ask"),
            Option("list", help: "list the recordings that are kept"),
            Option("export", value: "FILE", help: "write all of them into a new tar file, for a bug report"),
            Option("forget", value: "NAME", help: "delete one of them, or all"),
        ])

    static func run(_ arguments: Arguments) throws {
        let signals = SignalWaiter()
        if try manageRecordings(arguments) { return }
        let gesture = try gesture(arguments)
        try arguments.exclude("keep", "no-keep")
        let taken = try arguments.count("take", within: 1...10)
        let loaded = try Configuration.load(arguments)
        let settings = loaded.settings
        let dialogue = Dialogue(signals: signals)
        let recordings = TuningRecordings(for: Configuration.file(arguments))
        let measured: TuningMovements
        var movements: TuningMovements
        var keeps = arguments.has("keep")
        if let recorded = try TuningMovements.read(gesture, arguments) {
            measured = recorded
            movements = recorded
        } else if arguments.has("labelled") {
            movements = try labelled(gesture, recordings, arguments, dialogue)
            measured = movements
        } else {
            keeps = try isConsentGiven(recordings, arguments, dialogue)
            measured = try TuningMovements.collect(gesture, arguments, settings, dialogue)
            movements = measured
            if let found = try recordings.labelled().movements(of: gesture) {
                say(found.shown, found.others, gesture, dialogue)
                movements = measured.behind(found.movements)
            }
        }
        guard !movements.bouts.isEmpty else {
            throw Failure(.badData, "the gesture's samples contain no movement; nothing was changed")
        }
        try tune(gesture, movements, taken, loaded, arguments, dialogue, signals) {
            (proposal) throws in
            guard keeps else { return }
            try keep(measured, gesture, proposal, settings, in: recordings, arguments, dialogue)
        }
    }

    /// The movements of the labelled recordings alone.
    private static func labelled(
        _ gesture: Gesture, _ recordings: TuningRecordings, _ arguments: Arguments, _ dialogue: Dialogue
    ) throws -> TuningMovements {
        for option in ["times", "handling", "for"] where arguments.value(option) != nil {
            throw Failure(.usage, "--\(option) is for a sensor, not for recordings")
        }
        if arguments.has("keep") { throw Failure(.usage, "--keep and --labelled exclude each other: they are kept") }
        guard let found = try recordings.labelled().movements(of: gesture), found.shown > 0 else {
            throw Failure(
                .noInput,
                "no recording of this board is labelled \(gesture.word): jostle recordings label NAME \(gesture.word)"
            )
        }
        say(found.shown, found.others, gesture, dialogue)
        return found.movements
    }

    private static func say(_ shown: Int, _ others: Int, _ gesture: Gesture, _ dialogue: Dialogue) {
        dialogue.say(
            "The labelled recordings of this board count: \(shown) with \(gesture.word), \(others) without.")
    }

    private static func gesture(_ arguments: Arguments) throws -> Gesture {
        guard let word = arguments.operand(0) else {
            throw Failure(.usage, lines: ["GESTURE is missing", usage.synopsis, "More: jostle \(usage.name) --help"])
        }
        guard let gesture = Gesture(word: word), gesture != .learned else {
            let known = Gesture.builtIn.map(\.word)
            let suggestion = EditDistance.suggestion(for: word, among: known)
            throw Failure(
                .usage, "\"\(word)\" cannot be tuned; these can: \(known.joined(separator: ", "))\(suggestion)")
        }
        return gesture
    }

    // MARK: Result

    /// Tries all sensitivities, shows the result, calls `keep`, and writes what is confirmed.
    private static func tune(
        _ gesture: Gesture, _ movements: TuningMovements, _ taken: Int?, _ loaded: LoadedConfiguration,
        _ arguments: Arguments, _ dialogue: Dialogue, _ signals: SignalWaiter,
        keep: (TuningProposal) throws -> Void
    ) throws {
        let proposal = TuningProposal(gesture, movements, loaded.settings.motion)
        let layers = LayersInForce(upon: loaded, file: Configuration.file(arguments))
        let result = TuningResult(
            gesture: gesture, loaded: loaded, layers: layers, arguments: arguments, dialogue: dialogue, signals: signals
        )
        let present = layers.stack.resolution.settings.motion.gestures[gesture].sensitivity
        let tuning = proposal.tuning
        var chosen = taken ?? tuning.best.sensitivity
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
        var keepFailure: (any Error)?
        do { try keep(proposal) } catch { keepFailure = error }
        if let choice = proposal.choice {
            let isSet = try result.store(choice.value, as: choice.key)
            // Without a terminal both are for the user to set.
            if !isSet, taken == nil, dialogue.isInteractive { chosen = proposal.present.best.sensitivity }
        }
        try result.store("\(chosen)", as: "sensitivity")
        if let keepFailure { throw keepFailure }
    }

    private static func words(_ outcome: SensitivityTuning.Outcome, of shown: Int) -> String {
        "\(outcome.caught) of \(shown) caught and \(outcome.fired) by mistake"
    }
}

/// The recordings that `jostle tune` keeps: consent, list, export and deletion.
extension TuneCommand {
    // MARK: Keeping

    /// Whether the recordings of this run may be kept. Without a terminal, only an option says so.
    static func isConsentGiven(
        _ recordings: TuningRecordings, _ arguments: Arguments, _ dialogue: Dialogue
    ) throws -> Bool {
        if arguments.has("keep") { return true }
        guard !arguments.has("no-keep"), dialogue.isInteractive else { return false }
        return try dialogue.ask(
            """
            May the recordings be kept? They are what the sensor measures during the next minutes: acceleration, rotation \
            and temperature, with the times of your gestures, the name of the chip, and the settings of gestures and \
            sensor. There is no name and no id of the device among it.
            They stay in \(recordings.path) on this machine, where only you and root can read them. Nothing is sent.
            If a gesture is missed, you can attach them to a bug report (jostle tune --export FILE), and delete them at \
            any time (jostle tune --forget all).
            Keep them?
            """)
    }

    /// Keeps the recordings. If the user only agreed to it, a failure is said and the command goes on.
    ///
    /// - Throws: with `--keep`, that they cannot be kept.
    static func keep(
        _ movements: TuningMovements, _ gesture: Gesture, _ proposal: TuningProposal, _ settings: JostleSettings,
        in recordings: TuningRecordings, _ arguments: Arguments, _ dialogue: Dialogue
    ) throws {
        let contents = TuningContents(gesture: gesture, movements: movements, proposal: proposal, settings: settings)
        do {
            let (added, deleted) = try recordings.add(gesture) { (directory) throws in
                try contents.write(into: directory)
            }
            dialogue.say(
                "Kept in \(added.path) (\(megabytes(added.bytes))). Delete it with: jostle tune --forget \(added.name)")
            if !deleted.isEmpty {
                dialogue.say("Deleted to make room: \(deleted.map(\.name).joined(separator: ", "))")
            }
        } catch {
            let message = "the recordings are not kept: \(error)"
            if arguments.has("keep") { throw Failure(.cannotCreate, message) }
            dialogue.say(message.prefix(1).uppercased() + message.dropFirst())
        }
    }

    // MARK: Managing

    /// Lists, exports or deletes recordings, if an option says so.
    ///
    /// - Returns: whether one did.
    static func manageRecordings(_ arguments: Arguments) throws -> Bool {
        let actions =
            (arguments.has("list") ? ["--list"] : [])
            + ["export", "forget"].filter { arguments.value($0) != nil }.map { "--\($0)" }
        guard let action = actions.first else { return false }
        guard actions.count == 1 else {
            throw Failure(.usage, "\(actions.joined(separator: " and ")) exclude each other")
        }
        guard arguments.operand(0) == nil else {
            throw Failure(.usage, "\(action) is about all recordings that are kept: it takes no GESTURE")
        }
        let recordings = TuningRecordings(for: Configuration.file(arguments))
        let runs = try recordings.readableRuns()
        if let name = arguments.value("forget") {
            try forget(name, runs, recordings)
        } else if let file = arguments.value("export") {
            try export(runs, to: file, recordings)
        } else {
            list(runs, recordings)
        }
        return true
    }

    private static func list(_ runs: [TuningRecordings.Run], _ recordings: TuningRecordings) {
        guard !runs.isEmpty else {
            Output.line("No recordings are kept in \(recordings.path).")
            return
        }
        let rows = runs.map { run in
            let time = DirectoryContents.modificationTime(run.path).map {
                WallClock.dateAndTime(milliseconds: $0 / 1_000_000)
            }
            return [run.name, time ?? "", megabytes(run.bytes)]
        }
        Output.text(TextTable(rows, rightAligned: 2...2).description)
        Output.line("\(megabytes(runs.map(\.bytes).reduce(0, +))) in \(recordings.path)")
        Output.line("Delete one with: jostle tune --forget \(runs[0].name), or all with: jostle tune --forget all")
    }

    private static func forget(_ name: String, _ runs: [TuningRecordings.Run], _ recordings: TuningRecordings) throws {
        let chosen = name == "all" ? runs : runs.filter { $0.name == name }
        guard !chosen.isEmpty || name == "all" else {
            let names = runs.map(\.name)
            let known = names.isEmpty ? "there are none" : "there are \(names.joined(separator: ", "))"
            throw Failure(
                .noInput,
                "no recordings \"\(name)\" in \(recordings.path): \(known)\(EditDistance.suggestion(for: name, among: names))"
            )
        }
        for run in chosen {
            do { try recordings.delete(run) } catch {
                throw Failure(.permission, "\(run.path) cannot be deleted: \(error); use sudo")
            }
        }
        Output.line(
            chosen.isEmpty ? "There was nothing to delete." : "Deleted: \(chosen.map(\.name).joined(separator: ", "))")
    }

    /// Writes all runs into a new tar file.
    private static func export(_ runs: [TuningRecordings.Run], to file: String, _ recordings: TuningRecordings) throws {
        let labelled = try recordings.labelled().ofAgent
        guard !runs.isEmpty || !labelled.isEmpty else {
            throw Failure(
                .noInput, "no recordings are kept in \(recordings.path): jostle tune GESTURE --keep keeps some")
        }
        var files: [TarArchive.File] = []
        func add(_ path: String, _ content: [UInt8]) {
            files.append(
                TarArchive.File(path: "jostle-tune/\(path)", content: content, mode: 0o644, owner: "", group: ""))
        }
        func bytes(_ path: String) throws(SystemFailure) -> [UInt8] {
            try FileContents.bytes(of: path, limit: TuningRecordings.capacity + 1)
        }
        do {
            for run in runs {
                for name in try DirectoryContents.names(run.path) {
                    add("\(run.name)/\(name)", try bytes("\(run.path)/\(name)"))
                }
            }
            for file in labelled {
                add(file.name, try bytes(file.path))
                add(RecordingLabels.path(ofRecording: file.name), Array(file.labels.text.utf8))
            }
        } catch {
            throw TuningRecordings.failure(error, recordings.path)
        }
        let contents = TarArchive.bytes(of: files, at: 0)
        do {
            try FileContents.create(file, with: contents, mode: 0o600, owner: SudoUser.owner)
        } catch {
            let advice = error.code == EEXIST ? "; an export does not replace a file" : "; name another file"
            throw Failure(.cannotCreate, "\(file): \(error)\(advice)")
        }
        Output.line("\(file): \(megabytes(contents.count)), readable only for you")
        Output.line(
            "It has \((runs.map(\.name) + labelled.map(\.name)).joined(separator: ", ")): recordings, labels, chip, rate, "
                + "mounting, settings.")
        Output.line("Nothing was sent. Look into it with tar tf before you attach it.")
    }

    private static func megabytes(_ bytes: Int) -> String { "\(decimal(Double(bytes) / 1e6, 1)) MB" }
}
