internal import JostleCommandLine
internal import MotionCore
internal import MotionKit

/// `jostle noise`: computes a sensor's noise and bias stability from a recording at rest.
enum NoiseCommand {
    static let usage = CommandUsage(
        name: "noise",
        summary: "estimate noise and bias stability from a recording of a board at rest (Allan deviation)",
        details: """
            Record a board that lies still and has been running for ten minutes: `jostle record rest.csv --for 3600`.
            The recording needs at least 30 s and 1000 samples; a longer one shows more about the bias.

            Noise density is as in data sheets (one-sided); random walk is the error after an hour of an angle or a
            speed integrated from the samples; bias instability is the curve's minimum over 0.664 (IEEE Std 952-1997).
            """,
        operands: [CommandUsage.Operand(name: "FILE", help: "the recording; - for standard input")],
        options: [
            CommandUsage.Option(
                name: "svg", value: "FILE",
                help: "write the plot as a picture; - for standard output, without other output"),
            CommandUsage.Option(name: "json", help: "print JSON, with every point of the curves"),
        ])

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        let svg = arguments.value("svg")
        if svg == "-", arguments.has("json") {
            throw CommandFailure(.usage, "--svg - and --json cannot both go to standard output")
        }
        let path = arguments.operand(0) ?? "-"
        let report = try NoiseCommand.report(path)
        if let svg { try NoiseCommand.write(SVGFigure(report.plots).description, to: svg) }
        if svg == "-" { return }
        if arguments.has("json") {
            Output.json(report.json.description)
        } else {
            Output.text(report.text + "\n")
            for plot in report.plots { Output.text(plot.text + "\n") }
        }
    }

    private static func report(_ path: String) throws(CommandFailure) -> NoiseReport {
        let recording: RestingRecording
        do throws(RestingRecordingError) {
            recording = try RestingRecording(path: path)
        } catch {
            if case .unreadable(let error) = error { throw CommandFailure(reading: error) }
            throw CommandFailure(.badData, "\(path): \(error)")
        }
        do throws(AllanDeviationError) {
            return try NoiseReport(recording)
        } catch {
            // Not expected: the reader passes only finite numbers, and the recording is long enough at this point.
            throw CommandFailure(.badData, "\(path): no Allan deviation can be computed: \(error)")
        }
    }

    private static func write(_ text: String, to path: String) throws(CommandFailure) {
        do throws(RecordingError) {
            let file = try OutputFile(path: path)
            try file.write(text)
            try file.flush()
        } catch {
            throw CommandFailure(writing: error)
        }
    }
}
