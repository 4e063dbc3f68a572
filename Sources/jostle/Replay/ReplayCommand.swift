internal import Documents
internal import Glibc
internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// `jostle replay`: puts a recording through exactly the pipeline of the running agent, as fast as possible.
enum ReplayCommand {
    static let usage = CommandUsage(
        name: "replay", summary: "put a recording through the pipeline and write attitude and events as CSV",
        details: """
            The same recording always gives the same rows: neither the state directory nor the clock matters. Without
            --attitude and --events, the events go to standard output. Either path may be - for standard output.
            --explain writes sentences instead: every gesture, and for every near miss the condition that failed.
            Samples that cannot be measurements, such as an axis that is always at the end of its range, are not used.
            """,
        operands: [Operand("FILE", help: "the recording; - for standard input")],
        options: CommandUsage.configurationOptions + [
            Option("attitude", value: "FILE", help: "write t_s,w,x,y,z, one row per sample"),
            Option("events", value: "FILE", help: "write one row per phase of a gesture"),
            Option("explain", help: "explain why movements were gestures, or nearly"),
            Option(
                "gesture", value: "FILE", help: "also recognise this gesture of jostle learn; may be repeated",
                isRepeatable: true),
        ])

    static func run(_ arguments: Arguments) throws {
        let settings = try Configuration.load(arguments, boardFile: .optional).settings
        let attitude = arguments.value("attitude")
        let explains = arguments.has("explain")
        let events = arguments.value("events") ?? (attitude == nil && !explains ? "-" : nil)
        if [attitude == "-", events == "-", explains].filter({ $0 }).count > 1 {
            throw Failure(.usage, "only one of --attitude -, --events - and --explain can write to standard output")
        }
        var reader = try RecordingReader(path: arguments.operand(0) ?? "-")
        let output = try ReplayOutput(attitude: attitude, events: events)
        var pipeline = MotionPipeline(settings: settings.motion, unknownRanges: reader.unknownRanges)
        pipeline.noiseDensity = reader.noiseDensity
        pipeline.explainsNearMisses = explains
        let templates = try arguments.values("gesture").map(GestureFile.read)
        if !templates.isEmpty { pipeline.apply(LearnedGestures(templates.map { LearnedGestureSettings($0) })) }
        var fault: MeasurementFault?
        while let sample = try reader.next() {
            var recognised: [GestureEvent] = []
            if let field = reader.field { pipeline.process(field) }
            pipeline.process(sample) { recognised.append($0) }
            if pipeline.fault != fault {
                fault = pipeline.fault
                let change = fault.map { "not used from here: \($0.explanation)" } ?? "used again from here"
                let text = "\(reader.timeText) s: samples are \(change)"
                if explains { Output.line(text) } else { Output.warn("\(text)") }
            }
            try output.write(pipeline.state.attitude, recognised, time: reader.timeText)
            guard explains else { continue }
            let learned = pipeline.takeLearnedMiss().map { ": \($0.score.parts)" } ?? ""
            while let miss = pipeline.takeNearMiss() {
                Output.line("\(reader.timeText) s: \(miss.explanation)\(miss.gesture == .learned ? learned : "")")
            }
            for event in recognised {
                let score = event.gesture == .learned ? pipeline.learnedScore.map { ": \(EventRow.sentence($0))" } : nil
                Output.line("\(reader.timeText) s: \(EventRow.sentence(event))\(score ?? "")")
            }
        }
        let unavailable = pipeline.state.unavailableGestures(pipeline.settings.gestures)
        if !unavailable.isEmpty, explains {
            Output.line(
                "The recording has no gyroscope, which these need: \(unavailable.words.joined(separator: ", "))."
            )
        }
        var cancelled: [GestureEvent] = []
        pipeline.cancelGestures(.stopped) { cancelled.append($0) }
        try output.write(nil, cancelled, time: reader.timeText)
        if explains { for event in cancelled { Output.line("\(reader.timeText) s: \(EventRow.sentence(event))") } }
        try output.flush()
    }
}

/// The output files of a replay. Every failure has the status 73.
private struct ReplayOutput: ~Copyable {
    private let attitude: OutputFile?
    private let events: OutputFile?

    /// Opens the files that are given and writes their headers.
    init(attitude: String?, events: String?) throws {
        let attitudeFile = try ReplayOutput.open(attitude, header: "t_s,w,x,y,z\n")
        let eventsFile = try ReplayOutput.open(events, header: EventRow.header)
        self.attitude = attitudeFile
        self.events = eventsFile
        // Assigned here, not as default values: Swift 6.0 would free a default value twice if the initializer throws.
    }

    private static func open(_ path: String?, header: String) throws -> OutputFile? {
        guard let path else { return nil }
        do {
            let file = try OutputFile(path: path)
            try file.write(header)
            return file
        } catch {
            throw error.ofOutput
        }
    }

    /// Writes the attitude after a row of the recording, and the events in it.
    borrowing func write(_ attitude: Quaternion?, _ events: [GestureEvent], time: String) throws {
        do {
            if let attitude, self.attitude != nil {
                let numbers = [attitude.w, attitude.x, attitude.y, attitude.z].map { printed($0, "%.9g") }
                try self.attitude?.write("\(time),\(numbers.joined(separator: ","))\n")
            }
            for event in events { try self.events?.write(EventRow.text(event, time: time)) }
        } catch {
            throw error.ofOutput
        }
    }

    /// Flushes the files.
    borrowing func flush() throws {
        do {
            try attitude?.flush()
            try events?.flush()
        } catch {
            throw error.ofOutput
        }
    }
}

extension Error {
    /// The failure of a command that writes to a file, or to standard output.
    var ofOutput: any Error {
        if case .system("-", let failure) = self as? RecordingError, failure.code == EPIPE { return ReaderIsGone() }
        return Failure(.cannotCreate, "\(self)")
    }
}

/// Reads the file of a learned gesture.
enum GestureFile {
    /// The most bytes.
    private static let limit = 1 << 16

    static func read(_ path: String) throws -> GestureTemplate {
        let text = try Failure.about(path, .noInput) { try FileContents.text(of: path, limit: limit) }
        return try Failure.about(path, .badData) { try GestureTemplate(text) }
    }
}

/// A row of the CSV file of events: see "Recording files" in docs/command-line.md.
enum EventRow {
    /// The original columns, then those added later; the order is a contract.
    static let header =
        "t_s,gesture,phase,direction,side,count,axis,angle,strength,duration,reason,from,to,reversals,level,frequency,"
        + "height,rate\n"

    /// The row of an event; fields that do not apply are empty.
    static func text(_ event: GestureEvent, time: String) -> String {
        let fields: [String] = [
            time, event.kind.word, event.phase.word, event.direction?.word ?? "", event.side?.word ?? "",
            event.count.map { "\($0)" } ?? "", event.axis?.word ?? "",
            event.angle.map { decimal($0 * degreesPerRadian, 2) } ?? "", event.strength.map { decimal($0, 3) } ?? "",
            event.duration.map { decimal($0, 3) } ?? "", event.reason?.word ?? "", event.from?.word ?? "",
            event.to?.word ?? "", event.reversals.map { "\($0)" } ?? "", event.level.map { decimal($0, 4) } ?? "",
            event.frequency.map { decimal($0, 3) } ?? "", event.height.map { decimal($0, 3) } ?? "",
            event.rate.map { decimal($0 * degreesPerRadian, 2) } ?? "",
        ]
        return fields.joined(separator: ",") + "\n"
    }

    /// What the score of a learned gesture consists of.
    static func sentence(_ score: LearnedScore) -> String {
        "\(decimal(score.score, 2)) from example \(score.example + 1) (\(score.parts))"
    }

    /// An event in words.
    static func sentence(_ event: GestureEvent) -> String {
        var parts = ["\(event.kind.word) \(event.phase.word)"]
        if let count = event.count { parts.append("\(count)") }
        if let direction = event.direction { parts.append(direction.word) }
        if let from = event.from, let to = event.to { parts.append("from \(from.word) to \(to.word)") }
        if let side = event.side { parts.append("on \(side.word)") }
        if let axis = event.axis { parts.append("axis \(axis.word)") }
        if let angle = event.angle { parts.append("\(decimal(angle * degreesPerRadian, 1))°") }
        if let rate = event.rate { parts.append("\(decimal(rate * degreesPerRadian, 0)) °/s") }
        if let strength = event.strength { parts.append("\(decimal(strength, 1)) m/s²") }
        if let level = event.level { parts.append("\(decimal(level, 2)) m/s² RMS") }
        if let frequency = event.frequency { parts.append("\(decimal(frequency, 1)) Hz") }
        if let reversals = event.reversals { parts.append("\(reversals) reversals") }
        if let height = event.height { parts.append("height \(decimal(height, 2)) m") }
        if let duration = event.duration { parts.append("after \(decimal(duration, 2)) s") }
        if let confidence = event.confidence { parts.append("confidence \(decimal(confidence, 2))") }
        if let reason = event.reason { parts.append(reason.explanation(of: event.gesture)) }
        if event.isSimulated { parts.append("simulated") }
        return parts.joined(separator: ", ")
    }
}

/// A number with at most `decimals` decimals.
func decimal(_ value: Double, _ decimals: Int) -> String { NumberText.decimal(value, decimals) }
