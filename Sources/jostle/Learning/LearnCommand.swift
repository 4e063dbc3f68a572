internal import Documents
internal import Glibc
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleRuntime
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
            before, and start it afterwards.

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
            Option("for", value: "SECONDS", help: "give up after this time; 900 by default, beside the background"),
        ])

    static func run(_ arguments: Arguments) throws {
        let signals = SignalWaiter()
        let word = arguments.operand(0) ?? ""
        guard let name = GestureName(learned: word) else {
            let refusal = GestureName.refusal
            throw Failure(.usage, "\(word) \(refusal.reason); allowed: \(refusal.allowed)")
        }
        let more = try arguments.value("more").map { path in
            let template = try GestureFile.read(path)
            guard template.name == name else { throw Failure(.usage, "\(path) is \(template.name), not \(name)") }
            return template
        }
        let output = try GestureOutput(name, arguments)
        let loaded = try Configuration.load(arguments, boardFile: .optional)
        let settings = loaded.settings.motion
        let known = try arguments.values("known").map(GestureFile.read).filter { $0.name != name }
        let report = output.path == "-" ? Output.warn : Output.line
        let template: GestureTemplate
        if arguments.has("from") {
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
        let files = arguments.values("from")
        guard more != nil ? files.count <= 8 : LearnedGesture.counts.contains(files.count) else {
            throw Failure(.usage, "\(files.count) examples: --from FILE is needed 2 to 8 times, better 3 to 5")
        }
        let avoided = try avoided(arguments, settings)
        guard avoided.background == 0 else {
            throw Failure(.usage, "--background is a time, which needs the sensor: give it a recording, or no --from")
        }
        let earlier = (more?.gesture.examples ?? []).map { ShownExample(movement: $0) }
        let examples = try examples(files, settings, known, beside: earlier)
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
        var plan = LearningSession.Plan(name: name)
        plan.earlier = more?.gesture.examples ?? []
        plan.others = known
        plan.avoided = avoided.movement
        plan.background = avoided.background
        if more != nil { plan.examples = 2...2 }
        if let times = try arguments.count("times", within: LearnedGesture.counts) { plan.examples = times...times }
        let limit = try arguments.seconds("for") ?? 900
        let dialogue = Dialogue(signals: signals)
        return try GuidedLearning(plan, settings, dialogue, limit: limit + plan.background).run()
    }

    /// The movement that the gesture must not be, and the seconds for which more is to be taken from the sensor.
    private static func avoided(
        _ arguments: Arguments, _ settings: MotionSettings
    ) throws -> (movement: EverydayMovement, background: Double) {
        var movement = try LearnCommand.everyday() ?? EverydayMovement()
        var background = 0.0
        for value in arguments.values("background") {
            if let seconds = try LearnCommand.seconds(value) {
                background += seconds
            } else {
                try add(value, settings, to: &movement)
            }
        }
        for path in arguments.values("not") { try add(path, settings, to: &movement) }
        return (movement, background)
    }

    private static func add(_ path: String, _ settings: MotionSettings, to movement: inout EverydayMovement) throws {
        let reader = try ExampleReader.read(path, settings, keepsFrames: true)
        movement.add(reader.frames, activity: path)
    }

    /// The seconds of a time with its unit; `nil` if the text is none.
    ///
    /// - Throws: status 64 if it is longer than two hours.
    private static func seconds(_ text: String) throws -> Double? {
        let units: [String: Double] = ["s": 1, "m": 60, "min": 60, "h": 3600]
        let number = text.prefix { $0.isNumber || $0 == "." }
        let unit = text.dropFirst(number.count).drop { $0 == " " }
        guard let count = Double(number), count > 0, let factor = units[String(unit)] else { return nil }
        guard count * factor <= 7200 else { throw Failure(.usage, "--background is \"\(text)\", not 2 h at most") }
        return count * factor
    }

    /// The everyday movement that comes with the program.
    private static func everyday() throws -> EverydayMovement? {
        for path in InstalledFiles.candidates("everyday-movement", inTree: "deploy/learn/everyday-movement") {
            guard access(path, R_OK) == 0 else { continue }
            guard let movement = try EverydayMovement(path: path) else {
                throw Failure(.badData, "\(path): no everyday movement, or damaged: install the package again")
            }
            return movement
        }
        Output.warn("everyday-movement is not installed: how near everyday movement comes is not known")
        return nil
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

/// Files that are installed beside the program.
enum InstalledFiles {
    /// Where a file of /usr/share/jostle may be: beside the program that runs, installed or in the tree that it was built in.
    static func candidates(_ name: String, inTree path: String) -> [String] {
        guard let program = realPath("/proc/self/exe") else { return [] }
        var parts = program.split(separator: "/").dropLast()
        var candidates = ["/" + (parts.dropLast() + ["share", "jostle", name[...]]).joined(separator: "/")]
        for _ in 0..<4 where !parts.isEmpty {
            parts = parts.dropLast()
            candidates.append("/" + (parts + [path[...]]).joined(separator: "/"))
        }
        return candidates
    }
}
