internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
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
        operands: [CommandUsage.Operand(name: "FILE", help: "the recording; - for standard input")],
        options: CommandUsage.configurationOptions + [
            CommandUsage.Option(name: "attitude", value: "FILE", help: "write t_s,w,x,y,z, one row per sample"),
            CommandUsage.Option(name: "events", value: "FILE", help: "write one row per phase of a gesture"),
            CommandUsage.Option(name: "explain", help: "explain why movements were gestures, or nearly"),
        ])

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        let settings = try Configuration.load(arguments).settings
        let attitude = arguments.value("attitude")
        let explains = arguments.has("explain")
        let events = arguments.value("events") ?? (attitude == nil && !explains ? "-" : nil)
        if [attitude == "-", events == "-", explains].filter({ $0 }).count > 1 {
            throw CommandFailure(
                .usage, "only one of --attitude -, --events - and --explain can write to standard output")
        }
        var reader = try ReplayCommand.open(arguments.operand(0) ?? "-")
        let output = try ReplayCommand.create(attitude: attitude, events: events)
        var pipeline = MotionPipeline(settings: settings.motion, unknownRanges: reader.unknownRanges)
        pipeline.explainsNearMisses = explains
        var fault: MeasurementFault?
        while let sample = try ReplayCommand.next(&reader) {
            var recognised: [GestureEvent] = []
            if let field = reader.field { pipeline.process(field) }
            pipeline.process(sample) { recognised.append($0) }
            if pipeline.fault != fault {
                fault = pipeline.fault
                let change = fault.map { "not used from here: \($0.explanation)" } ?? "used again from here"
                let text = "\(reader.timeText) s: samples are \(change)"
                if explains { Output.line(text) } else { Output.errors("jostle: \(text)") }
            }
            try ReplayCommand.write(output, pipeline.state.attitude, recognised, time: reader.timeText)
            guard explains else { continue }
            while let miss = pipeline.takeNearMiss() { Output.line("\(reader.timeText) s: \(miss.explanation)") }
            for event in recognised { Output.line("\(reader.timeText) s: \(EventRow.sentence(event))") }
        }
        let unavailable = pipeline.unavailableGestures
        if !unavailable.isEmpty, explains {
            Output.line(
                "The recording has no gyroscope, which these need: \(unavailable.words.joined(separator: ", "))."
            )
        }
        var cancelled: [GestureEvent] = []
        pipeline.cancelGestures(.stopped) { cancelled.append($0) }
        try ReplayCommand.write(output, nil, cancelled, time: reader.timeText)
        if explains { for event in cancelled { Output.line("\(reader.timeText) s: \(EventRow.sentence(event))") } }
        do throws(RecordingError) { try output.flush() } catch { throw CommandFailure(writing: error) }
    }

    private static func open(_ path: String) throws(CommandFailure) -> RecordingReader {
        do throws(RecordingError) { return try RecordingReader(path: path) } catch {
            throw CommandFailure(reading: error)
        }
    }

    private static func create(attitude: String?, events: String?) throws(CommandFailure) -> ReplayOutput {
        do throws(RecordingError) { return try ReplayOutput(attitude: attitude, events: events) } catch {
            throw CommandFailure(writing: error)
        }
    }

    private static func next(_ reader: inout RecordingReader) throws(CommandFailure) -> MotionSample? {
        do throws(RecordingError) { return try reader.next() } catch { throw CommandFailure(reading: error) }
    }

    private static func write(
        _ output: borrowing ReplayOutput, _ attitude: Quaternion?, _ events: [GestureEvent], time: String
    ) throws(CommandFailure) {
        do throws(RecordingError) {
            if let attitude { try output.write(attitude, time: time) }
            for event in events { try output.write(event, time: time) }
        } catch {
            throw CommandFailure(writing: error)
        }
    }
}
