// Measures the cost of a sample on its way through Jostle; see `jostle-bench --help`.
internal import Glibc
internal import LinuxSensors

/// Exit statuses: those of sysexits.h, and 1 if a check has failed.
enum ExitStatus: Int32 {
    case success = 0
    case failed = 1
    /// Invalid command line (EX_USAGE).
    case usage = 64
    /// The chip on a bus cannot be used (EX_UNAVAILABLE).
    case unavailable = 69
    /// A stage produced no samples, which is a bug in this program (EX_SOFTWARE).
    case software = 70
}

/// Writes a line to standard error.
func printError(_ text: String) {
    var line = "jostle-bench: \(text)\n"
    _ = line.withUTF8 { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Performs the task requested on the command line.
func run(_ words: [String]) -> ExitStatus {
    let options: Options
    do throws(UsageError) {
        options = try Options(parsing: words)
    } catch {
        printError("\(error.message)\nMore: jostle-bench --help")
        return .usage
    }
    switch options.task {
    case .help:
        print(Options.usage, terminator: "")
        return .success
    case .measure(let asJSON):
        return measure(asJSON: asJSON)
    case .checkAllocations:
        let check = AllocationCheck(material: Material())
        print(report(check), terminator: "")
        return check.hasPassed ? .success : .failed
    case .checkEndurance(let samples):
        let check = EnduranceCheck(material: Material(), samples: samples)
        for complaint in check.complaints { printError(complaint) }
        print("attitude filter: \(check.count) samples, \(check.complaints.isEmpty ? "sound" : "NOT sound")")
        return check.complaints.isEmpty ? .success : .failed
    case .faults(let chips, let rounds, let isVerbose):
        let check = FaultCheck(rounds: rounds, chips: chips)
        print(report(check, isVerbose: isVerbose), terminator: "")
        return check.complaints.isEmpty ? .success : .failed
    case .bus(let path, let seconds, let asJSON):
        do throws(LinuxSensorsError) {
            let run = try BusRun(path: path, seconds: seconds)
            print(report(run, asJSON: asJSON), terminator: "")
            return run.samples > 0 ? .success : .software
        } catch {
            printError("\(error)")
            return .unavailable
        }
    case .once(let stage, let samples):
        return stage.setUp(with: Material()).run(samples) >= samples ? .success : reportMissingSamples(stage)
    }
}

/// Measures every stage and prints the figures.
func measure(asJSON: Bool) -> ExitStatus {
    let material = Material()
    var measurements: [Measurement] = []
    for stage in Stage.allCases {
        guard let measurement = Measurement(stage, material: material) else { return reportMissingSamples(stage) }
        measurements.append(measurement)
    }
    print(asJSON ? json(measurements) : table(measurements), terminator: "")
    return .success
}

func reportMissingSamples(_ stage: Stage) -> ExitStatus {
    printError("the stage \(stage.rawValue) no longer produces samples")
    return .software
}

exit(run(Array(CommandLine.arguments.dropFirst())).rawValue)
