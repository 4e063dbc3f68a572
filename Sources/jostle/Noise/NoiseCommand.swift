internal import Documents
internal import JostleCommandLine
internal import LinuxSystem
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
        operands: [Operand("FILE", help: "the recording; - for standard input")],
        options: [
            Option(
                "svg", value: "FILE", help: "write the plot as a picture; - for standard output, without other output"),
            Option("json", help: "print JSON, with every point of the curves"),
        ])

    static func run(_ arguments: Arguments) throws {
        let svg = arguments.value("svg")
        if svg == "-", arguments.has("json") {
            throw Failure(.usage, "--svg - and --json cannot both go to standard output")
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

    private static func report(_ path: String) throws -> NoiseReport {
        let recording: RestingRecording
        do {
            recording = try RestingRecording(path: path)
        } catch {
            if case .unreadable(let error) = error { throw error }
            throw Failure(.badData, "\(path): \(error)")
        }
        // Not expected: the reader passes only finite numbers, and the recording is long enough at this point.
        return try Failure.about("\(path): no Allan deviation can be computed", .badData) {
            try NoiseReport(recording)
        }
    }

    private static func write(_ text: String, to path: String) throws {
        try Failure.with(.cannotCreate) {
            let file = try OutputFile(path: path)
            try file.write(text)
            try file.flush()
        }
    }
}

/// The noise of a recording's axes, for people and for programs.
struct NoiseReport {
    /// An axis and its Allan deviation.
    struct Axis {
        /// The recording's column: gx … az.
        let name: String
        let allan: AllanDeviation
    }

    private let recording: RestingRecording
    private let gyroscope: [Axis]
    private let accelerometer: [Axis]

    /// Computes the curve of every axis.
    init(_ recording: RestingRecording) throws {
        self.recording = recording
        gyroscope = try NoiseReport.axes("g", recording.rotationRate ?? [], recording.period)
        accelerometer = try NoiseReport.axes("a", recording.acceleration, recording.period)
    }

    private static func axes(
        _ sensor: String, _ columns: [[Double]], _ period: Double
    ) throws -> [Axis] {
        try zip(["x", "y", "z"], columns).map { name, column in
            Axis(name: sensor + name, allan: try AllanDeviation(samples: column, period: period))
        }
    }

    private var axes: [Axis] { gyroscope + accelerometer }

    /// The plots: the gyroscope's curves and the accelerometer's.
    var plots: [LogLogPlot] {
        [
            NoiseReport.plot("Allan deviation of the gyroscope", gyroscope, NoiseUnits.gyroscope.bias),
            NoiseReport.plot("Allan deviation of the accelerometer", accelerometer, NoiseUnits.accelerometer.bias),
        ].compactMap { $0 }
    }

    private static func plot(_ title: String, _ axes: [Axis], _ unit: NoiseUnits.Unit) -> LogLogPlot? {
        let series = axes.map { axis in
            LogLogPlot.Series(
                name: axis.name,
                points: axis.allan.points.filter { $0.deviation > 0 }.map {
                    LogLogPlot.Point(x: $0.tau, y: $0.deviation * unit.scale, relativeError: $0.relativeError)
                })
        }
        return LogLogPlot(title: title, xLabel: "averaging time, s", yLabel: unit.name, series: series)
    }
}

// For people.
extension NoiseReport {
    /// A summary of the recording, a table with one line per axis, and notes on the results.
    var text: String {
        var rows = [["", "noise density", "random walk", "bias instability", "", "bias random walk"]]
        rows += gyroscope.map { NoiseReport.row($0, .gyroscope) }
        rows += accelerometer.map { NoiseReport.row($0, .accelerometer) }
        return title + "\n\n" + TextTable(rows, rightAligned: 1...3).description + "\n"
            + notes.map { "\($0)\n" }.joined()
    }

    private var title: String {
        let temperature = recording.temperature.map {
            ", \(formatted($0.first, "%.1f")) °C at the start, \(formatted($0.last, "%.1f")) °C at the end"
        }
        return "\(recording.count) samples in \(formatted(recording.duration, "%.1f")) s, "
            + "\(formatted(1 / recording.period, "%.2f")) Hz\(temperature ?? "")"
    }

    private static func row(_ axis: Axis, _ units: NoiseUnits) -> [String] {
        let instability = axis.allan.biasInstability
        return [
            axis.name, axis.allan.noiseDensity.map(units.density.text) ?? "-",
            axis.allan.randomWalk.map(units.randomWalk.text) ?? "-",
            instability.map { ($0.isUpperBound ? "≤ " : "") + units.bias.text($0.value) } ?? "-",
            instability.map { "at \(threeDigits($0.tau)) s" } ?? "",
            axis.allan.biasRandomWalk.map(units.biasWalk.text) ?? "-",
        ]
    }

    private var notes: [String] {
        var notes = [
            "The deviations are accurate within 10 % up to \(threeDigits(longestTau(within: 0.1))) s of averaging, within 25 %"
                + " up to \(threeDigits(longestTau(within: 0.25))) s."
        ]
        let falling = axes.filter { $0.allan.biasInstability?.isUpperBound ?? false }
        if !falling.isEmpty {
            notes.append(
                "\(NoiseReport.list(falling)): the minimum of the curve is still white noise. The bias instability is at most the "
                    + "value given; a recording of \(length(10 * recording.duration)) would extend the curve by a decade."
            )
        }
        let coloured = axes.filter { $0.allan.whiteNoise == nil && $0.allan.biasInstability != nil }
        if !coloured.isEmpty {
            notes.append(
                "\(NoiseReport.list(coloured)): no white noise (no slope of -1/2): slow drift, or a narrow low-pass."
            )
        }
        let constant = axes.filter { $0.allan.biasInstability == nil }
        if !constant.isEmpty { notes.append("\(NoiseReport.list(constant)): all samples are equal.") }
        if let temperature = recording.temperature, temperature.highest - temperature.lowest > 1 {
            notes.append(
                "The chip's temperature changed by \(formatted(temperature.highest - temperature.lowest, "%.1f")) °C, which "
                    + "contributes to slow changes of the bias. Let the board run for ten minutes before recording.")
        }
        if recording.missing.gaps > 0 {
            notes.append(
                "\(recording.missing.gaps) time steps are irregular, "
                    + "\(formatted(recording.missing.seconds, "%.3f")) s are missing: too little to matter.")
        }
        return notes
    }

    /// The longest averaging time at which the deviation has at most this relative error.
    private func longestTau(within relativeError: Double) -> Double {
        recording.duration / AllanDeviation.duration(for: 1, relativeError: relativeError)
    }

    private func length(_ seconds: Double) -> String {
        seconds < 7200 ? "\(formatted(seconds / 60, "%.0f")) minutes" : "\(formatted(seconds / 3600, "%.0f")) hours"
    }

    private static func list(_ axes: [Axis]) -> String { axes.map(\.name).joined(separator: ", ") }
}

// For programs.
extension NoiseReport {
    /// The whole report, in the units of the table.
    var json: JSONObject {
        var object = JSONObject()
        object.add("samples", Int64(recording.count))
        object.add("seconds", recording.duration, decimals: 3)
        object.add("rate_hz", 1 / recording.period, decimals: 4)
        object.add("temperature_first_c", recording.temperature?.first, decimals: 2)
        object.add("temperature_last_c", recording.temperature?.last, decimals: 2)
        object.add("missing_seconds", recording.missing.seconds, decimals: 3)
        if !gyroscope.isEmpty { object.add("gyroscope", NoiseReport.json(gyroscope, .gyroscope)) }
        object.add("accelerometer", NoiseReport.json(accelerometer, .accelerometer))
        return object
    }

    private static func json(_ axes: [Axis], _ units: NoiseUnits) -> JSONObject {
        var object = JSONObject()
        var names = JSONObject()
        names.add("noise_density", units.density.name)
        names.add("random_walk", units.randomWalk.name)
        names.add("bias_instability", units.bias.name)
        names.add("deviation", units.bias.name)
        names.add("bias_random_walk", units.biasWalk.name)
        object.add("units", names)
        object.add("axes", axes.map { json($0, units) })
        return object
    }

    private static func json(_ axis: Axis, _ units: NoiseUnits) -> JSONObject {
        var entry = JSONObject()
        let allan = axis.allan
        entry.add("name", axis.name)
        entry.add("noise_density", allan.noiseDensity.map { $0 * units.density.scale }, decimals: 7)
        entry.add("random_walk", allan.randomWalk.map { $0 * units.randomWalk.scale }, decimals: 7)
        entry.add("bias_instability", allan.biasInstability.map { $0.value * units.bias.scale }, decimals: 7)
        entry.add("bias_instability_tau_s", allan.biasInstability?.tau, decimals: 4)
        entry.add("bias_instability_is_upper_bound", allan.biasInstability?.isUpperBound)
        entry.add("bias_random_walk", allan.biasRandomWalk.map { $0 * units.biasWalk.scale }, decimals: 7)
        entry.add(
            "points",
            allan.points.map { point in
                var entry = JSONObject()
                entry.add("tau_s", point.tau, decimals: 6)
                entry.add("deviation", point.deviation * units.bias.scale, decimals: 7)
                entry.add("pairs", Int64(point.pairs))
                entry.add("relative_error", point.relativeError, decimals: 4)
                return entry
            })
        return entry
    }
}

/// The customary units of sensor noise, and their conversion from SI.
struct NoiseUnits {
    struct Unit {
        let name: String
        let scale: Double

        /// An SI value in this unit, for people.
        func text(_ value: Double) -> String { "\(threeDigits(value * scale)) \(name)" }
    }

    /// From rad/s/√Hz or m/s²/√Hz.
    let density: Unit
    /// From rad/√s or m/s/√s.
    let randomWalk: Unit
    /// From rad/s or m/s²: bias instability and the curve itself.
    let bias: Unit
    /// From rad/s/√s or m/s²/√s.
    let biasWalk: Unit

    /// Square root of the seconds in an hour.
    private static let rootHour = 60.0

    static let gyroscope = NoiseUnits(
        density: Unit(name: "°/s/√Hz", scale: degreesPerRadian),
        randomWalk: Unit(name: "°/√h", scale: degreesPerRadian * rootHour),
        bias: Unit(name: "°/h", scale: degreesPerRadian * 3600),
        biasWalk: Unit(name: "°/h/√h", scale: degreesPerRadian * 3600 * rootHour))

    static let accelerometer = NoiseUnits(
        density: Unit(name: "µg/√Hz", scale: 1e6 / standardGravity),
        randomWalk: Unit(name: "m/s/√h", scale: rootHour),
        bias: Unit(name: "mg", scale: 1e3 / standardGravity),
        biasWalk: Unit(name: "mg/√h", scale: 1e3 / standardGravity * rootHour))
}
