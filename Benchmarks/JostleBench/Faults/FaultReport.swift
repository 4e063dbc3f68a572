/// The table of faults: the worst results of all chips, and with `isVerbose` also of each chip.
func report(_ check: FaultCheck, isVerbose: Bool) -> String {
    let head = ["fault", "detected", "recovered", "lost", "wrong", "gap", "shake", "runs"]
    var rows: [[String]] = []
    for finding in check.findings {
        rows.append(row(finding, title: finding.fault.rawValue))
        guard isVerbose else { continue }
        for own in check.findingsByChip where own.fault == finding.fault {
            rows.append(row(own, title: "  \(own.chip?.rawValue ?? "")"))
        }
    }
    let widths = head.indices.map { column in ([head] + rows).map { $0[column].count }.max() ?? 0 }
    let lines = ([head] + rows).map { row in
        row.indices.map { padded(row[$0], to: widths[$0], $0 == 0 ? .left : .right) }.joined(separator: "  ")
    }
    let starts = FaultChip.faultChips.compactMap { chip -> String? in
        let own = check.findingsByChip.filter { $0.chip == chip }.map(\.worst.firstSample)
        guard let longest = own.max() else { return nil }
        let milliseconds = padded(fixed(1000 * longest, decimals: 0), to: 3, .right)
        return "  \(padded(chip.rawValue, to: 10, .left))  \(milliseconds) ms"
    }
    let complaints = check.complaints.map { "FAILED: \($0)\n" }.joined()
    return """
        \(lines.joined(separator: "\n"))

        Worst of all chips and times, at 200 Hz and 400 kHz. detected: seconds until status, fault or event report it;
        recovered: seconds from the end of the fault to a sample measured after it; lost: sample periods without a
        sample, not counting the duration of the fault; wrong: samples that differ from the truth at their timestamp;
        gap: whether every pause was reported to the filter; shake: cancelled as sensor_lost, out of those in progress
        when the stream ended.

        From power-on to the first sample:
        \(starts.joined(separator: "\n"))
        \(complaints)
        """
}

private func row(_ finding: FaultCheck.Finding, title: String) -> [String] {
    let worst = finding.worst
    return [
        title,
        worst.detection.map { fixed($0, decimals: 3) } ?? "-",
        worst.recovery.isFinite ? fixed(worst.recovery, decimals: 3) : "never",
        "\(worst.lost)", "\(worst.wrong)",
        worst.gaps == 0 ? "-" : worst.unreportedGaps == 0 ? "reported" : "NOT REPORTED",
        finding.losses == 0 ? "-" : "\(finding.cancelled)/\(finding.losses)",
        "\(finding.runs)",
    ]
}
