// Measures what a sample costs on its way through Jostle; see `jostle-bench --help`.
internal import Glibc
internal import LinuxSensors

/// The statuses with which it ends: those of sysexits.h, and 1 where a check has failed.
enum ExitStatus: Int32 {
    case success = 0
    case failed = 1
    /// The command line is wrong (EX_USAGE).
    case usage = 64
    /// The chip on a bus cannot be had (EX_UNAVAILABLE).
    case unavailable = 69
    /// A stage gave no samples: a mistake in this program (EX_SOFTWARE).
    case software = 70
}

/// Writes a line to standard error.
func complain(_ text: String) {
    var line = "jostle-bench: \(text)\n"
    _ = line.withUTF8 { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Does what the command line asks for.
func run(_ words: [String]) -> ExitStatus {
    let options: Options
    do throws(UsageError) {
        options = try Options(parsing: words)
    } catch {
        complain("\(error.message)\nMore: jostle-bench --help")
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
    case .checkEndurance:
        let check = EnduranceCheck(material: Material())
        for complaint in check.complaints { complain(complaint) }
        print("attitude filter: \(check.count) samples, \(check.complaints.isEmpty ? "sound" : "NOT sound")")
        return check.complaints.isEmpty ? .success : .failed
    case .faults(let isVerbose):
        let check = FaultCheck()
        print(report(check, isVerbose: isVerbose), terminator: "")
        return check.complaints.isEmpty ? .success : .failed
    case .bus(let path, let seconds, let asJSON):
        do throws(LinuxSensorsError) {
            let run = try BusRun(path: path, seconds: seconds)
            print(report(run, asJSON: asJSON), terminator: "")
            return run.samples > 0 ? .success : .software
        } catch {
            complain("\(error)")
            return .unavailable
        }
    case .once(let stage, let samples):
        return stage.setUp(with: Material()).run(samples) >= samples ? .success : lacksSamples(stage)
    }
}

/// Measures every stage and prints the figures.
func measure(asJSON: Bool) -> ExitStatus {
    let material = Material()
    var measurements: [Measurement] = []
    for stage in Stage.allCases {
        guard let measurement = Measurement(stage, material: material) else { return lacksSamples(stage) }
        measurements.append(measurement)
    }
    print(asJSON ? json(measurements) : table(measurements), terminator: "")
    return .success
}

func lacksSamples(_ stage: Stage) -> ExitStatus {
    complain("the stage \(stage.rawValue) gives no samples any more")
    return .software
}

exit(run(Array(CommandLine.arguments.dropFirst())).rawValue)
