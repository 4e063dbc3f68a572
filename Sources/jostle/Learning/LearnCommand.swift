internal import Documents
internal import Glibc
internal import JostleCommandLine
internal import JostleConfiguration
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// `jostle learn`: makes a gesture of recorded examples.
enum LearnCommand {
    static let usage = CommandUsage(
        name: "learn", summary: "learn a gesture from recordings that show it",
        details: """
            Record a movement three to eight times, each in a recording of its own, with a second of rest before and after:
            `jostle record circle-1.csv --for 5`. `jostle learn` takes from each the movement that is most like those of the
            others, says what it thinks of them, and writes the gesture. It ends with status 65 if the examples have too
            little in common. `jostle replay RECORDING --gesture FILE` shows where a recording has the gesture.

            Everyday movement of other people comes with the program. --background adds recordings of your own, --not those
            of a movement that must not be this gesture.
            """,
        operands: [Operand("NAME", help: "the gesture's name: a-z, 0-9 and _")],
        options: CommandUsage.configurationOptions + [
            Option("from", value: "FILE", help: "a recording of one example; repeat it for each", isRepeatable: true),
            Option("output", value: "FILE", help: "write the gesture to this file; - for standard output"),
            Option(
                "background", value: "FILE", help: "a recording in which the gesture does not occur; may be repeated",
                isRepeatable: true),
            Option(
                "not", value: "FILE", help: "a recording of what it must not be; may be repeated", isRepeatable: true),
            Option(
                "check", value: "FILE", help: "say where this recording has the gesture; may be repeated",
                isRepeatable: true),
        ])

    static func run(_ arguments: Arguments) throws {
        let word = arguments.operand(0) ?? ""
        guard let name = GestureName(learned: word) else {
            let refusal = GestureName.refusal
            throw Failure(.usage, "\(word) \(refusal.reason); allowed: \(refusal.allowed)")
        }
        let files = arguments.values("from")
        guard LearnedGesture.counts.contains(files.count) else {
            throw Failure(.usage, "\(files.count) examples: --from FILE is needed 2 to 8 times, better 3 to 5")
        }
        guard let output = arguments.value("output") else { throw Failure(.usage, "--output FILE is missing") }
        let settings = try Configuration.load(arguments).settings.motion
        let shown = try files.map { try ShownRecording(path: $0, settings) }
        let lesson = try Lesson(files, shown)
        var learner = GestureLearner(lesson.examples)
        let like = try avoid(arguments, settings, &learner)
        guard learner.median <= Lesson.mostDifferent else {
            throw Failure(
                .badData,
                "the examples have too little in common (\(decimal(learner.median, 2)) on average, "
                    + "\(decimal(Lesson.mostDifferent, 2)) at most): show the same movement again, as wide and as fast")
        }
        let template = GestureTemplate(name: name, learner.gesture)
        let report = output == "-" ? Output.warn : Output.line
        for line in lesson.advice(learner, like: like) { report(line) }
        try Failure.with(.cannotCreate) {
            let file = try OutputFile(path: output)
            try file.write(template.text)
            try file.flush()
        }
        for path in arguments.values("check") { try check(path, template, settings, report) }
    }

    /// Keeps the gesture apart from everyday movement; returns the activity that is nearest.
    private static func avoid(
        _ arguments: Arguments, _ settings: MotionSettings, _ learner: inout GestureLearner
    ) throws -> String? {
        var movement = try LearnCommand.everyday() ?? EverydayMovement()
        for path in arguments.values("background") + arguments.values("not") {
            movement.add(try ShownRecording(path: path, settings).frames, activity: path)
        }
        var nearest: String?
        for stretch in movement.stretches where learner.avoid(stretch.frames) { nearest = stretch.activity }
        return nearest
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

/// The examples of a gesture, and what to say of them.
private struct Lesson {
    /// The largest median distance between examples.
    static let mostDifferent = 0.80
    /// The median distance above which one in ten is missed, the loudness of an example that is too weak, the longest that
    /// repeats well, s, and the largest ratio of tempi.
    private static let different = 0.5
    private static let weak = 0.35
    private static let longest = 3.0
    private static let tempo = 2.0

    let files: [String]
    let shown: [ShownRecording]
    let examples: [[MotionFrame]]

    init(_ files: [String], _ shown: [ShownRecording]) throws {
        self.files = files
        self.shown = shown
        let found = ShownMovements.alike(shown.map(\.movements))
        examples = try zip(files, found).map { file, movement in
            guard let movement else {
                throw Failure(
                    .badData, "\(file): no movement between two rests; record a second of rest before and after it")
            }
            return movement
        }
    }

    /// What the examples are like.
    func advice(_ learner: borrowing GestureLearner, like activity: String?) -> [String] {
        var lines: [String] = []
        let durations = examples.indices.map { learner.duration(of: $0) }
        for (index, file) in files.enumerated() {
            var words = ["\(decimal(durations[index], 2)) s", "\(decimal(learner.distances[index], 2)) from the next"]
            if learner.loudness(of: index) < Lesson.weak { words.append("weak: move wider or faster") }
            if learner.distances[index] > max(0.6, 2 * learner.median) {
                words.append("unlike the others: show it again")
            }
            if shown[index].isClipped { words.append("at the end of the sensor's range: raise it") }
            if !shown[index].hasRotationRate {
                words.append("without a gyroscope, which recognises less and more falsely")
            }
            lines.append("\(file): \(words.joined(separator: ", "))")
        }
        if learner.median > Lesson.different {
            lines.append("The examples differ: expect to repeat it one time in ten.")
        }
        if let most = durations.max(), let least = durations.min() {
            if most > Lesson.longest { lines.append("It is long: gestures below 3 s are repeated more alike.") }
            if most > Lesson.tempo * least { lines.append("The tempo varies more than twofold: keep it.") }
        }
        if learner.isLikeEverydayMovement, let activity {
            lines.append("It is like \(activity): choose another movement.")
        }
        let fixed = shown.reduce(GestureSet()) { $0.union($1.gestures) }
        if !fixed.isEmpty { lines.append("Also recognised in the examples: \(fixed.words.joined(separator: ", ")).") }
        lines.append("Learned from \(examples.count) examples, threshold \(decimal(learner.gesture.threshold, 2)).")
        return lines
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
