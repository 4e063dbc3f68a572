internal import JostleCommandLine
internal import JostleMessages
internal import LinuxSystem

/// Sections with the output of programs.
extension SupportReport {
    /// Adds what a program prints, how it ended unless all is well, and what it prints to standard error.
    mutating func add(
        _ title: String, running path: String, _ arguments: [String], within seconds: Double = 10,
        limit: Int = 1 << 15, keepsEnd: Bool = false, isJSON: Bool = false, _ signals: SignalWaiter
    ) throws(CommandFailure) {
        let name = path.hasPrefix("/proc/") ? "jostle" : path
        var text = "$ \(([name] + arguments).joined(separator: " "))\n"
        do throws(SystemFailure) {
            let outcome = try SupportReport.run(path, arguments, within: seconds, signals)
            text += SupportReport.output(outcome, isJSON: isJSON, secrets)
        } catch {
            text += error.isMissing ? "There is no \(name) on this machine.\n" : "\(name) cannot be started: \(error)\n"
        }
        if SupportReport.isInterrupted(signals) { throw CommandFailure(.temporary, "interrupted; nothing was written") }
        add(title, text, limit: limit, keepsEnd: keepsEnd)
    }

    private static func run(
        _ path: String, _ arguments: [String], within seconds: Double, _ signals: SignalWaiter
    ) throws(SystemFailure) -> ChildProgram.Outcome {
        try ChildProgram(path, arguments).run(within: seconds, limit: 2 << 20) { isInterrupted(signals) }
    }

    /// A signal that was taken ends the program, so that it does not matter who asks.
    private static func isInterrupted(_ signals: SignalWaiter) -> Bool { signals.isPending }

    private static func output(_ outcome: ChildProgram.Outcome, isJSON: Bool, _ secrets: SecretRemoval) -> String {
        var output = outcome.output
        // A secret in a line that is cut would not be recognised.
        if outcome.isCut { output = String(output[..<(output.lastIndex(of: "\n") ?? output.startIndex)]) + "\n" }
        if isJSON {
            // One document, or one in each line.
            let lines = output.split(separator: "\n").map { Array($0.utf8) }
            let whole = text(ofJSON: Array(output.utf8), secrets)
            output = whole == output ? lines.map { text(ofJSON: $0, secrets) + "\n" }.joined() : whole + "\n"
        }
        if !outcome.errors.isEmpty { output += "standard error:\n\(outcome.errors)" }
        if !output.isEmpty, !output.hasSuffix("\n") { output += "\n" }
        switch outcome.end {
        case .exited(0): return output
        case .exited(let status): return output + "exit status \(status)\n"
        case .killed(let signal): return output + "ended by signal \(signal)\n"
        case .stopped: return output + "did not end in time\n"
        }
    }
}
