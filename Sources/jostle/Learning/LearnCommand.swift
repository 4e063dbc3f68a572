internal import Documents
internal import Glibc
internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// `jostle learn`: makes a gesture of a movement that somebody shows, to the sensor or in recordings.
enum LearnCommand {
    static let usage = CommandUsage(
        name: "learn", summary: "learn a gesture that you show",
        details: """
            Show a movement to the board's sensor: a rehearsal, three to five examples with a second of rest before and after
            each, and three trials. Each example is judged at once, and one that will not do is repeated. The gesture is
            written into NAME.gesture in the current directory, and the lines for the configuration are printed. Ctrl-C and the
            end of --for leave everything unchanged, with exit status 75. The service occupies the sensor while it runs: stop it
            before, and start it afterwards, or use --on.

            With --on, a running agent learns from its own samples, over mqtt.broker: its commands.allow must contain learn. It
            keeps the gesture in its state directory and has it at once; --more board adds to one that it has, --force replaces
            it, --forget removes it.

            With --from, the examples are recordings instead: a movement in each, with a second of rest before and after it, as
            from `jostle record circle-1.csv --for 5`. `jostle learn` takes from each the movement that is most like those of the
            others. It ends with status 65 if the examples have too little in common. `jostle replay RECORDING --gesture FILE`
            shows where a recording has the gesture.

            Everyday movement of other people comes with the program. --background adds your own, --not a recording of a
            movement that must not be this gesture. --more adds examples of another day to a gesture: at most eight are kept,
            those that are least alike. Give --background and --not again with it.
            """,
        operands: [Operand("NAME", help: "the gesture's name: a-z, 0-9 and _")],
        options: CommandUsage.configurationOptions + [
            Option("from", value: "FILE", help: "a recording of one example; repeat it for each", isRepeatable: true),
            Option(
                "labelled",
                help:
                    "the recordings of this board with the gesture as their label are examples; \"not NAME\" and everyday, none"
            ),
            Option(
                "output", value: "FILE",
                help: "write the gesture to this file instead of NAME.gesture; - for standard output"),
            Option("force", help: "replace NAME.gesture if it exists"),
            Option("more", value: "FILE", help: "add examples to this gesture; without --output the file is replaced"),
            Option(
                "times", value: "N", help: "the number of examples to show, 2 to 8; 3 to 5 by default, with --more 2"),
            Option(
                "background", value: "FILE",
                help:
                    "a recording in which the gesture does not occur, or how long to take one first, such as 30min; may "
                    + "be repeated", isRepeatable: true),
            Option(
                "not", value: "FILE", help: "a recording of what it must not be; may be repeated", isRepeatable: true),
            Option(
                "known", value: "FILE", help: "another learned gesture, which it should not be like; may be repeated",
                isRepeatable: true),
            Option(
                "check", value: "FILE", help: "say where this recording has the gesture; may be repeated",
                isRepeatable: true),
            Option("on", value: "ID", help: "the agent with this device.id, wherever it runs"),
            Option("forget", help: "with --on: forget the gesture"),
            Option("for", value: "SECONDS", help: "give up after this time; 900 by default, beside the background"),
        ])

    static func run(_ arguments: Arguments) throws {
        let signals = SignalWaiter()
        let word = arguments.operand(0) ?? ""
        guard let name = GestureName(learned: word) else {
            let refusal = GestureName.refusal
            throw Failure(.usage, "\(word) \(refusal.reason); allowed: \(refusal.allowed)")
        }
        if arguments.has("on") { return try learnRemotely(name, arguments, signals) }
        if arguments.has("forget") { throw Failure(.usage, "--forget needs --on; without it, a gesture is a file") }
        let more = try arguments.value("more").map { path in
            let template = try GestureFile.read(path)
            guard template.name == name else { throw Failure(.usage, "\(path) is \(template.name), not \(name)") }
            return template
        }
        let output = try GestureOutput(name, arguments)
        let loaded = try Configuration.load(arguments, boardFile: .optional)
        let settings = loaded.settings.motion
        let configured = loaded.settings.learned.values.compactMap(\.template)
        let known = try (configured + arguments.values("known").map(GestureFile.read)).filter { $0.name != name }
        let report = output.path == "-" ? Output.warn : Output.line
        let template: GestureTemplate
        if arguments.has("from") || arguments.has("labelled") {
            template = try learn(name, more, known, settings, arguments, report)
        } else {
            template = try guide(name, more, known, loaded.settings, arguments, signals)
        }
        try output.write(template)
        if output.path != "-" { output.sayWhatToDo(template, arguments) }
        for path in arguments.values("check") { try check(path, template, settings, report) }
    }

    /// Learns from recordings.
    private static func learn(
        _ name: GestureName, _ more: GestureTemplate?, _ known: [GestureTemplate], _ settings: MotionSettings,
        _ arguments: Arguments, _ report: (String) -> Void
    ) throws -> GestureTemplate {
        for option in ["times", "for"] where arguments.has(option) {
            throw Failure(.usage, "--\(option) is for a sensor, not for recordings")
        }
        let labelled = try labelled(name, arguments)
        let files = (arguments.values("from") + labelled.shown).suffix(LearnedGesture.counts.upperBound)
        guard more != nil ? files.count <= 8 : LearnedGesture.counts.contains(files.count) else {
            throw Failure(
                .usage,
                "\(files.count) examples: --from FILE, or a recording labelled \(name) for --labelled, is needed 2 to 8 times, "
                    + "better 3 to 5")
        }
        let avoided = try avoided(arguments, settings, besides: labelled.others)
        guard avoided.background == 0 else {
            throw Failure(.usage, "--background is a time, which needs the sensor: give it a recording, or no --from")
        }
        let earlier = (more?.gesture.examples ?? []).map { ShownExample(movement: $0) }
        let examples = try examples(Array(files), settings, known, beside: earlier)
        let all = earlier + examples
        var lesson = Lesson(Lesson.kept(of: all))
        guard !lesson.isRefused else {
            throw Failure(
                .badData, LearningSession.Failure.tooDifferent(lesson.median, limit: Lesson.mostDifferent).words)
        }
        lesson.avoid(avoided.movement)
        let judged = Lesson(all)
        for (index, file) in files.enumerated() {
            let number = earlier.count + index
            let words =
                [
                    "\(decimal(judged.duration(of: number), 2)) s",
                    "\(decimal(judged.distance(of: number), 2)) from the next",
                ]
                + judged.findings(of: number).map(\.words)
            report("\(file): \(words.joined(separator: ", "))")
        }
        for remark in lesson.remarks { report(remark.words) }
        let gesture = lesson.gesture
        report("Learned from \(gesture.examples.count) examples, threshold \(decimal(gesture.threshold, 2)).")
        return GestureTemplate(name: name, gesture)
    }

    /// The recordings of this board that are labelled with the gesture, the newest last, and those in which it was not made.
    private static func labelled(
        _ name: GestureName, _ arguments: Arguments
    ) throws -> (shown: [String], others: [String]) {
        guard arguments.has("labelled") else { return ([], []) }
        let state = LayersInForce.directory(for: Configuration.file(arguments))
        let directory = RecordingDirectory(stateDirectory: state)
        let entries = try directory.entries()
        func paths(_ labels: String...) -> [String] {
            entries.filter { !$0.labels.filter(labels.contains).isEmpty }.map { "\(directory.path)/\($0.name.text)" }
        }
        return (paths("\(name)"), paths(RecordingLabels.everyday, RecordingLabels.negation + "\(name)"))
    }

    /// The example in each recording: the movement that is most like those of the others, and those `beside` them.
    private static func examples(
        _ files: [String], _ settings: MotionSettings, _ known: [GestureTemplate], beside earlier: [ShownExample]
    ) throws -> [ShownExample] {
        let shown = try files.map { try ShownExample(path: $0, settings, known: known) }
        let found = ShownMovements.alike((earlier + shown).map(\.movements)).dropFirst(earlier.count)
        for (index, file) in files.enumerated() where shown[index].movements.movements.isEmpty {
            throw Failure(
                .badData, "\(file): no movement between two rests; record a second of rest before and after it")
        }
        return zip(shown, found).map { example, movement in
            var example = example
            example.movements = ShownMovements(movements: movement.map { [$0] } ?? [])
            return example
        }
    }

    /// Learns from the sensor.
    private static func guide(
        _ name: GestureName, _ more: GestureTemplate?, _ known: [GestureTemplate], _ settings: JostleSettings,
        _ arguments: Arguments, _ signals: SignalWaiter
    ) throws -> GestureTemplate {
        let avoided = try avoided(arguments, settings.motion)
        let times = try arguments.count("times", within: LearnedGesture.counts)
        var plan = LearningSession.Plan(name: name, addingTo: more, times: times)
        plan.others = known
        plan.avoided = avoided.movement
        plan.background = avoided.background
        let limit = try arguments.seconds("for") ?? 900
        let dialogue = Dialogue(signals: signals)
        return try GuidedLearning(plan, settings, dialogue, limit: limit + plan.background).run()
    }

    /// Seconds within which an agent must answer first, and beyond the time that it is given.
    private static let answerTime = 10.0

    /// Has a running agent learn, or forget.
    private static func learnRemotely(_ name: GestureName, _ arguments: Arguments, _ signals: SignalWaiter) throws {
        for option in ["from", "labelled", "output", "not", "known", "check"] where arguments.has(option) {
            throw Failure(.usage, "--\(option) is for this machine, not for an agent elsewhere (--on)")
        }
        var request = JSONObject()
        request.add("name", "\(name)")
        let isForgetting = arguments.has("forget")
        let duration = isForgetting ? 0 : try addLesson(to: &request, arguments)
        if isForgetting { request.add("forget", true) }
        let device = try RemoteDevice(arguments)
        guard !isForgetting else {
            let answer = try device.carryOut("learn", request, within: answerTime, signals: signals)
            let isForgotten = answer.text("forgotten") == "true"
            return Output.line(
                "\(name): \(isForgotten ? "forgotten" : "\(device.id) has learned no such gesture over MQTT")")
        }
        try device.follow(
            "learn", request, within: answerTime, patience: duration + answerTime, signals: signals
        ) { answer in
            guard let message = answer.text("message"), answer.text("step") != "moving" else { return }
            Output.line(ForeignText.excerpt(message, limit: 500))
            Output.flush()
        }
        Output.line("\(device.id) has \(name) now.")
    }

    /// Adds what the options say of a lesson; returns how long it may take, s.
    private static func addLesson(to request: inout JSONObject, _ arguments: Arguments) throws -> Double {
        let limit = try arguments.seconds("for") ?? 900
        let background = try arguments.values("background").reduce(0) { sum, value in
            guard let seconds = try LearnCommand.seconds(value) else {
                throw Failure(.usage, "--background is \"\(value)\", not a time such as 30min (--on)")
            }
            return sum + seconds
        }
        if let more = arguments.value("more"), more != "board" {
            throw Failure(.usage, "--more is \"\(more)\", not board (--on)")
        }
        request.add("more", arguments.has("more"))
        request.add("force", arguments.has("force"))
        request.add("times", try arguments.count("times", within: LearnedGesture.counts).map { Int64($0) })
        request.add("background", background, decimals: 0)
        request.add("seconds", limit, decimals: 0)
        return limit + background
    }

    /// The movement that the gesture must not be, and the seconds for which more is to be taken from the sensor.
    private static func avoided(
        _ arguments: Arguments, _ settings: MotionSettings, besides others: [String] = []
    ) throws -> (movement: EverydayMovement, background: Double) {
        var movement = try EverydayMovement.installed(Output.warn) ?? EverydayMovement()
        var background = 0.0
        for value in arguments.values("background") {
            if let seconds = try LearnCommand.seconds(value) {
                background += seconds
            } else {
                try add(value, settings, to: &movement)
            }
        }
        for path in arguments.values("not") + others { try add(path, settings, to: &movement) }
        return (movement, background)
    }

    private static func add(_ path: String, _ settings: MotionSettings, to movement: inout EverydayMovement) throws {
        let reader = try ExampleReader.read(path, settings, keepsFrames: true)
        movement.add(reader.frames, activity: path)
    }

    /// The seconds of a time such as `30min`; `nil` if the text is none.
    ///
    /// - Throws: status 64 if it is longer than two hours.
    private static func seconds(_ text: String) throws -> Double? {
        guard let seconds = QuantityText.duration(text), seconds > 0 else { return nil }
        guard seconds <= 7200 else { throw Failure(.usage, "--background is \"\(text)\", not 2 h at most") }
        return seconds
    }

    /// Says where a recording has the gesture.
    private static func check(
        _ path: String, _ template: GestureTemplate, _ settings: MotionSettings, _ report: (String) -> Void
    ) throws {
        var reader = try RecordingReader(path: path)
        var pipeline = MotionPipeline(settings: settings, unknownRanges: reader.unknownRanges)
        pipeline.apply(LearnedGestures([LearnedGestureSettings(template)]))
        var found: [String] = []
        while let sample = try reader.next() {
            var confidence: Double?
            pipeline.process(sample) { event in confidence = event.confidence ?? confidence }
            guard let confidence else { continue }
            found.append("at \(reader.timeText) s (confidence \(decimal(confidence, 2)))")
        }
        report(
            "\(path): \(found.isEmpty ? "no \(template.name)" : "\(template.name) " + found.joined(separator: ", "))")
    }
}

/// The file of a gesture that was learned.
private struct GestureOutput {
    let path: String

    /// The file that the arguments say. A file that they do not name is not replaced without --force.
    ///
    /// - Throws: status 73 if it exists, or cannot be written: nobody shall show a gesture in vain.
    init(_ name: GestureName, _ arguments: Arguments) throws {
        let named = arguments.value("output") ?? arguments.value("more")
        path = named ?? "\(name).gesture"
        if named == nil, !arguments.has("force"), access(path, F_OK) == 0 {
            throw Failure(
                .cannotCreate,
                "\(path) exists: --more \(path) adds examples to it, --force replaces it, --output names another")
        }
        guard path != "-", access(FileContents.parts(of: path).directory, W_OK) != 0 else { return }
        let failure = SystemFailure(code: errno)
        guard access(path, W_OK) == 0 else { throw Failure(.cannotCreate, "\(path): \(failure)") }
    }

    /// Writes the gesture; a file is written as a whole or not at all.
    func write(_ template: GestureTemplate) throws {
        var status = stat()
        if path != "-", stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG {
            return try Failure.about(path, .cannotCreate) {
                try FileContents.replace(path, with: Array(template.text.utf8))
            }
        }
        try Failure.with(.cannotCreate) {
            let file = try OutputFile(path: path)
            try file.write(template.text)
            try file.flush()
        }
    }

    /// Says where the gesture is, and what to add to the configuration.
    func sayWhatToDo(_ template: GestureTemplate, _ arguments: Arguments) {
        let file = Configuration.file(arguments) ?? "/etc/jostle/jostle.yaml"
        Output.line("Written to \(path). For \(file):")
        Output.text(
            """

            gestures:
              learned:
                \(template.name): { template: \(realPath(path) ?? path) }


            """)
    }
}
