/// The task and options on the command line.
struct Options: Equatable {
    enum Task: Equatable {
        case help
        case measure(asJSON: Bool)
        case checkAllocations
        case checkEndurance(samples: Int)
        case faults(of: [FaultChip], rounds: Int, isVerbose: Bool)
        case bus(path: String, seconds: Double, asJSON: Bool)
        case once(Stage, samples: Int)
    }

    let task: Task

    /// The samples of `--once` by default.
    static let defaultSamples = 100_000

    /// A number of samples that takes minutes at most on the slowest board.
    static let largestSampleCount = 100_000_000

    /// Rounds of all faults that take minutes.
    static let largestRoundCount = 100

    static var usage: String {
        let width = Stage.allCases.map(\.rawValue.count).max() ?? 0
        let stages = Stage.allCases.map { stage in
            "  \(padded(stage.rawValue, to: width, .left))  \(stage.title)\n"
        }
        return """
            usage: jostle-bench [--json]
                   jostle-bench --check-allocations
                   jostle-bench --check-endurance [--samples N]
                   jostle-bench --faults [--chip CHIP] [--rounds N] [--verbose]
                   jostle-bench --bus PATH [--seconds N] [--json]
                   jostle-bench --once STAGE [--samples N]

            Without --once it measures the cost of a sample in each stage on its way from the sensor's FIFO to an event:
            nanoseconds of CPU time and samples per second (median of the repetitions), instructions if the CPU's
            counter is available, heap allocations. It takes about ten seconds.

              --json               print the figures as a JSON object
              --check-allocations  only check that nothing is allocated on that way; exit status 1 if something is
              --check-endurance    only check that the attitude filter stays sound for 100 million samples, or as many as
                                   --samples says; exit status 1 if not
              --faults             inject every fault into virtual chips of every family, and print how long driver and
                                   pipeline take to detect it and to recover; exit status 1 if a bound is exceeded
              --chip CHIP          --faults on this virtual chip only, such as icm20948
              --rounds N           runs of --faults of each fault on each chip, by default \(FaultCheck.defaultRounds)
              --verbose            also print the results chip by chip
              --bus PATH           read the MPU-6050 at 0x68 on a bus such as /dev/i2c-1 at 1 kHz, through driver and
                                   pipeline: samples lost, and CPU time per sample
              --seconds N          duration of --bus, by default \(Int(BusRun.defaultSeconds))
              --once STAGE         run one stage and print nothing, for a profiler; see Scripts/count-instructions
              --samples N          samples of --once, by default \(defaultSamples)
              --help               print this text

            Stages:
            \(stages.joined())
            """
    }

    /// Parses the words after the program's name.
    ///
    /// - Throws: the error in them.
    init(parsing words: [String]) throws(UsageError) {
        var wantsJSON = false
        var wantsCheck = false
        var wantsEndurance = false
        var wantsFaults = false
        var chip: FaultChip?
        var rounds: Int?
        var isVerbose = false
        var bus: String?
        var seconds: Double?
        var stage: Stage?
        var samples: Int?
        var rest = words[...]
        while let word = rest.popFirst() {
            switch word {
            case "--help", "-h":
                task = .help
                return
            case "--json":
                if wantsJSON { throw UsageError.repeated(word) }
                wantsJSON = true
            case "--check-allocations":
                if wantsCheck { throw UsageError.repeated(word) }
                wantsCheck = true
            case "--check-endurance":
                if wantsEndurance { throw UsageError.repeated(word) }
                wantsEndurance = true
            case "--faults":
                if wantsFaults { throw UsageError.repeated(word) }
                wantsFaults = true
            case "--chip":
                if chip != nil { throw UsageError.repeated(word) }
                chip = try Options.chip(named: try Options.value(of: word, in: &rest))
            case "--rounds":
                if rounds != nil { throw UsageError.repeated(word) }
                rounds = try Options.count(word, in: &rest, atMost: Options.largestRoundCount)
            case "--verbose":
                if isVerbose { throw UsageError.repeated(word) }
                isVerbose = true
            case "--bus":
                if bus != nil { throw UsageError.repeated(word) }
                bus = try Options.value(of: word, in: &rest)
            case "--seconds":
                if seconds != nil { throw UsageError.repeated(word) }
                seconds = try Options.seconds(try Options.value(of: word, in: &rest))
            case "--once":
                if stage != nil { throw UsageError.repeated(word) }
                stage = try Options.stage(named: try Options.value(of: word, in: &rest))
            case "--samples":
                if samples != nil { throw UsageError.repeated(word) }
                samples = try Options.count(word, in: &rest, atMost: Options.largestSampleCount)
            default:
                throw UsageError("unknown option \"\(word)\"")
            }
        }
        if samples != nil, stage == nil, !wantsEndurance {
            throw UsageError("--samples requires --once or --check-endurance")
        }
        if seconds != nil, bus == nil { throw UsageError("--seconds requires --bus") }
        if let bus {
            guard stage == nil, !wantsCheck, !wantsEndurance, !wantsFaults else { throw Options.exclusive }
            task = .bus(path: bus, seconds: seconds ?? BusRun.defaultSeconds, asJSON: wantsJSON)
            return
        }
        if isVerbose, !wantsFaults { throw UsageError("--verbose requires --faults") }
        if chip != nil, !wantsFaults { throw UsageError("--chip requires --faults") }
        if rounds != nil, !wantsFaults { throw UsageError("--rounds requires --faults") }
        if wantsFaults {
            guard stage == nil, !wantsCheck, !wantsEndurance, !wantsJSON else { throw Options.exclusive }
            let chips = chip.map { [$0] } ?? FaultChip.faultChips
            task = .faults(of: chips, rounds: rounds ?? FaultCheck.defaultRounds, isVerbose: isVerbose)
            return
        }
        switch (stage, wantsCheck, wantsEndurance, wantsJSON) {
        case (let stage?, false, false, false): task = .once(stage, samples: samples ?? Options.defaultSamples)
        case (nil, true, false, false): task = .checkAllocations
        case (nil, false, true, false): task = .checkEndurance(samples: samples ?? EnduranceCheck.samples)
        case (nil, false, false, _): task = .measure(asJSON: wantsJSON)
        default: throw Options.exclusive
        }
    }

    private static func chip(named name: String) throws(UsageError) -> FaultChip {
        guard let chip = FaultChip(rawValue: name) else {
            let known = FaultChip.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("--chip is \"\(name)\", not one of \(known)")
        }
        return chip
    }

    private static var exclusive: UsageError {
        UsageError("--once, the checks, --faults, --bus and --json exclude one another, except --bus with --json")
    }

    private static func value(of option: String, in rest: inout ArraySlice<String>) throws(UsageError) -> String {
        guard let value = rest.popFirst() else { throw UsageError("\(option) needs a value") }
        return value
    }

    private static func stage(named name: String) throws(UsageError) -> Stage {
        guard let stage = Stage(rawValue: name) else {
            let names = Stage.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("unknown stage \"\(name)\"; the stages are \(names)")
        }
        return stage
    }

    private static func seconds(_ text: String) throws(UsageError) -> Double {
        guard let number = Double(text), (1...1e6).contains(number) else {
            throw UsageError("--seconds is \"\(text)\", not a number from 1 to 1000000")
        }
        return number
    }

    private static func count(
        _ option: String, in rest: inout ArraySlice<String>, atMost limit: Int
    ) throws(UsageError) -> Int {
        let text = try value(of: option, in: &rest)
        guard let number = Int(text), (1...limit).contains(number) else {
            throw UsageError("\(option) is \"\(text)\", not a number from 1 to \(limit)")
        }
        return number
    }
}

/// An error in the command line.
struct UsageError: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }

    static func repeated(_ option: String) -> UsageError { UsageError("\(option) must not be repeated") }
}
