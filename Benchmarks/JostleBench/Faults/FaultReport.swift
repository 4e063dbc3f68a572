/// The table of faults: the worst of all chips, and of each one where that is asked for.
func report(_ check: FaultCheck, isVerbose: Bool) -> String {
    let head = ["fault", "told", "back", "lost", "wrong", "gap", "shake", "runs"]
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
    let starts = FaultChip.allCases.compactMap { chip -> String? in
        let own = check.findingsByChip.filter { $0.chip == chip }.map(\.worst.firstSample)
        guard let longest = own.max() else { return nil }
        let milliseconds = padded(fixed(1000 * longest, decimals: 0), to: 3, .right)
        return "  \(padded(chip.rawValue, to: 10, .left))  \(milliseconds) ms"
    }
    let complaints = check.complaints.map { "FAILED: \($0)\n" }.joined()
    return """
        \(lines.joined(separator: "\n"))

        Worst of all chips and instants, at 200 Hz and 400 kHz. told: seconds until status, fault or event tell it; back:
        seconds from the fault's end to a sample measured after it; lost: sample periods without a sample beyond the time
        that the fault holds; wrong: samples that are not the truth at their timestamp; gap: whether every pause was told to
        the filter; shake: cancelled as sensor_lost, of those under way when the stream ended.

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
        worst.gaps == 0 ? "-" : worst.untoldGaps == 0 ? "told" : "NOT TOLD",
        finding.losses == 0 ? "-" : "\(finding.cancelled)/\(finding.losses)",
        "\(finding.runs)",
    ]
}
