/// The cost of one stage per sample.
struct Measurement {
    let stage: Stage

    /// The number of repetitions, and the samples in each.
    let repetitions: Int
    let samplesPerRepetition: Int

    /// Nanoseconds of CPU time per sample: median and minimum of the repetitions.
    let median: Double
    let minimum: Double

    /// Instructions per sample, if the CPU's counter is available.
    let instructions: Double?

    /// Heap allocations per sample.
    let allocations: Double

    /// Samples per second on one core, from the median.
    var samplesPerSecond: Double { 1e9 / median }
}

extension Measurement {
    /// CPU time of a repetition, seconds: long compared with the cost of reading the clock, short compared with the
    /// whole measurement.
    private static let repetitionTime = 0.02

    /// Repetitions of a stage, and the fewest if its time is up.
    private static let wantedRepetitions = 21
    private static let fewestRepetitions = 5

    /// CPU time after which a stage ends, seconds. All stages together take about ten.
    private static let stageTime = 1.0

    /// Measures a stage after set-up and warm-up.
    ///
    /// - Returns: `nil` if the stage produces no samples, which only a bug can cause.
    init?(_ stage: Stage, material: Material) {
        let runner = stage.setUp(with: material)
        // A whole recording covers every branch. A second one determines how many fit into a repetition.
        let round = material.movement.samples.count
        guard runner.run(round) >= round else { return nil }
        let warmUp = Repetition(of: runner, samples: round)
        let rounds = (Self.repetitionTime / max(1e-9, warmUp.seconds)).rounded(.up)
        let count = round * Int(min(max(1, rounds), 10_000))

        var nanoseconds: [Double] = []
        nanoseconds.reserveCapacity(Self.wantedRepetitions)
        var samples = 0
        var spent = 0.0
        var instructions: UInt64? = 0
        var allocations: UInt64 = 0
        while nanoseconds.count < Self.wantedRepetitions,
            nanoseconds.count < Self.fewestRepetitions || spent < Self.stageTime
        {
            let repetition = Repetition(of: runner, samples: count)
            guard repetition.samples >= count else { return nil }
            nanoseconds.append(repetition.seconds * 1e9 / Double(repetition.samples))
            samples += repetition.samples
            spent += repetition.seconds
            instructions = instructions.flatMap { sum in repetition.instructions.map { sum + $0 } }
            allocations += repetition.allocations
        }
        nanoseconds.sort()
        self.stage = stage
        repetitions = nanoseconds.count
        samplesPerRepetition = count
        median = nanoseconds[nanoseconds.count / 2]
        minimum = nanoseconds[0]
        self.instructions = instructions.map { Double($0) / Double(samples) }
        self.allocations = Double(allocations) / Double(samples)
    }
}

/// One run of a stage, with the counters read before and after.
struct Repetition {
    let samples: Int
    let seconds: Double
    let instructions: UInt64?
    let allocations: UInt64

    /// Runs `samples` samples or a few more.
    init(of runner: any StageRunner, samples: Int) {
        let counter = InstructionCounter()
        let allocationsBefore = heapAllocations()
        let timeBefore = processorTime()
        self.samples = runner.run(samples)
        let time = processorTime() - timeBefore
        allocations = heapAllocations() - allocationsBefore
        seconds = Double(time) * 1e-9
        switch consume counter {
        case .some(let counter): instructions = counter.count
        case .none: instructions = nil
        }
    }
}
