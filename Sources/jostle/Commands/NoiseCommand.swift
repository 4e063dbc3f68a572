internal import MotionCore
internal import MotionKit

/// `jostle noise`: how much a sensor's axes are in error by themselves, from a recording of it at rest.
enum NoiseCommand {
    static let usage = CommandUsage(
        name: "noise", summary: "tell noise and bias stability from a recording of a board at rest (Allan deviation)",
        details: """
            Record a board that lies still and has run for ten minutes: `jostle record rest.csv --for 3600`. The recording
            has to have 30 s and 1000 samples at least; what can be told about the bias grows with its length.

            Noise density is that of data sheets (one-sided); random walk is how far an angle or a speed that is summed up
            of the samples errs after an hour; bias instability is the curve's minimum over 0.664 (IEEE Std 952-1997).
            """,
        operands: [CommandUsage.Operand(name: "FILE", help: "the recording; - for standard input")],
        options: [
            CommandUsage.Option(
                name: "svg", value: "FILE",
                help: "write the plot as a picture; - for standard output, and nothing else there"),
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
            // The reader lets only finite numbers pass, and the recording is long enough by now.
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
