/// Runs every fault on every chip at several points in time, and collects the worst results and the exceeded bounds.
struct FaultCheck {
    /// The worst results of several runs.
    struct Finding {
        let fault: Fault
        /// The chip; `nil` for all chips.
        let chip: FaultChip?
        private(set) var worst = FaultOutcome()
        private(set) var runs = 0
        private(set) var losses = 0
        private(set) var cancelled = 0
        private(set) var complaints: [String] = []

        fileprivate init(_ fault: Fault, _ chip: FaultChip?) {
            self.fault = fault
            self.chip = chip
            worst.firstSample = 0
            worst.recovery = 0
        }

        fileprivate mutating func take(_ outcome: FaultOutcome, _ complaints: [String]) {
            runs += 1
            worst.firstSample = max(worst.firstSample, outcome.firstSample)
            worst.recovery = max(worst.recovery, outcome.recovery)
            worst.lost = max(worst.lost, outcome.lost)
            worst.wrong = max(worst.wrong, outcome.wrong)
            worst.gaps = max(worst.gaps, outcome.gaps)
            worst.unreportedGaps = max(worst.unreportedGaps, outcome.unreportedGaps)
            if let detection = outcome.detection { worst.detection = max(worst.detection ?? 0, detection) }
            if outcome.wasOpenAtLoss { losses += 1 }
            if outcome.wasCancelled { cancelled += 1 }
            self.complaints += complaints
        }
    }

    /// Runs of every fault on every chip: at several points within a batch, during a shake, during a turn and at rest.
    static let defaultRounds = 6

    /// From power-on to the first sample, seconds.
    static let startBound = 0.3

    private(set) var findings: [Finding] = []
    private(set) var findingsByChip: [Finding] = []

    var complaints: [String] { findings.flatMap(\.complaints) }

    init(rounds: Int, chips: [FaultChip]) {
        for fault in Fault.allCases {
            var all = Finding(fault, nil)
            for chip in chips where chip.shows(fault) {
                var own = Finding(fault, chip)
                for round in 0..<rounds {
                    let plan = FaultPlan(fault: fault, round: round)
                    let outcome = chip.outcome(of: plan)
                    let complaints = FaultCheck.complaints(outcome, plan).map {
                        "\(fault.rawValue), \(chip.rawValue), round \(round): \($0)"
                    }
                    all.take(outcome, complaints)
                    own.take(outcome, complaints)
                }
                findingsByChip.append(own)
            }
            findings.append(all)
        }
    }

    private static func complaints(_ outcome: FaultOutcome, _ plan: FaultPlan) -> [String] {
        let bounds = plan.fault.bounds
        var complaints: [String] = []
        if outcome.firstSample > startBound { complaints.append("the first sample took \(outcome.firstSample) s") }
        if let bound = bounds.detection {
            if let detection = outcome.detection {
                if detection > bound { complaints.append("it was reported after \(detection) s") }
            } else {
                complaints.append("it was not reported")
            }
        }
        if outcome.recovery > bounds.recovery { complaints.append("samples resumed after \(outcome.recovery) s") }
        if outcome.lost > bounds.lost { complaints.append("\(outcome.lost) samples are lost") }
        if outcome.wrong > 0 { complaints.append("\(outcome.wrong) samples are wrong") }
        if outcome.unreportedGaps > 0 { complaints.append("\(outcome.unreportedGaps) gaps are not reported") }
        if outcome.wasOpenAtLoss, !outcome.wasCancelled { complaints.append("an open gesture was not cancelled") }
        if outcome.wasLeftOpen { complaints.append("a gesture stayed open without samples") }
        if plan.isAmidShake, outcome.shakesBegun == 0 { complaints.append("the shake was not recognised") }
        return complaints
    }
}
