/// The build configuration, on which the figures depend.
private var build: String {
    #if DEBUG
        "debug"
    #else
        "release"
    #endif
}

/// The figures as a table.
func table(_ measurements: [Measurement]) -> String {
    let head = ["stage", "ns", "min ns", "samples/s", "instr.", "allocs", "path of a sample"]
    let rows = measurements.map { measurement in
        [
            measurement.stage.rawValue,
            fixed(measurement.median, decimals: 1),
            fixed(measurement.minimum, decimals: 1),
            fixed(measurement.samplesPerSecond, decimals: 0),
            measurement.instructions.map { fixed($0, decimals: 0) } ?? "n/a",
            allocationText(measurement.allocations),
            measurement.stage.title,
        ]
    }
    let widths = head.indices.map { column in
        ([head] + rows).map { $0[column].count }.max() ?? 0
    }
    let lines = ([head] + rows).map { row in
        row.indices.map { column in
            // The first and the last column are text.
            let isText = column == 0 || column == row.count - 1
            return column == row.count - 1
                ? row[column] : padded(row[column], to: widths[column], isText ? .left : .right)
        }.joined(separator: "  ")
    }
    var text = lines.joined(separator: "\n") + "\n\nPer sample on one core, \(build) build. "
    text += "ns: CPU time, median of the repetitions, min ns: their minimum.\n"
    if measurements.contains(where: { $0.instructions == nil }) {
        text += "The CPU's instruction counter is not available here; Scripts/count-instructions uses callgrind.\n"
    }
    return text
}

/// The figures as a JSON object.
func json(_ measurements: [Measurement]) -> String {
    let stages = measurements.map { measurement in
        let fields = [
            "\"stage\": \"\(measurement.stage.rawValue)\"",
            "\"repetitions\": \(measurement.repetitions)",
            "\"samples_per_repetition\": \(measurement.samplesPerRepetition)",
            "\"median_ns\": \(fixed(measurement.median, decimals: 2))",
            "\"minimum_ns\": \(fixed(measurement.minimum, decimals: 2))",
            "\"samples_per_second\": \(fixed(measurement.samplesPerSecond, decimals: 0))",
            "\"instructions\": \(measurement.instructions.map { fixed($0, decimals: 1) } ?? "null")",
            "\"allocations\": \(measurement.allocations)",
        ]
        return "    {\(fields.joined(separator: ", "))}"
    }
    return "{\n  \"build\": \"\(build)\",\n  \"stages\": [\n\(stages.joined(separator: ",\n"))\n  ]\n}\n"
}

/// The result of the allocation check, one line per stage.
func report(_ check: AllocationCheck) -> String {
    let width = check.findings.map(\.stage.rawValue.count).max() ?? 0
    let lines = check.findings.map { finding in
        let name = padded(finding.stage.rawValue, to: width, .left)
        let outcome = finding.complaint.map { "FAILED: it \($0)" } ?? "no allocation"
        return "\(name)  \(finding.samples) samples, \(finding.events) events: \(outcome)\n"
    }
    let control = AllocationCheck.controlAllocations
    return """
        The counter counted \(check.counted) of \(control) deliberate allocations\(check.isCounting ? "" : ": FAILED").
        \(check.clippedSamples) samples of the worst case are clipped\(check.clippedSamples > 0 ? "" : ": FAILED").
        \(lines.joined())
        """
}
