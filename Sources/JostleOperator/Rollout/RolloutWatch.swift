package import JostleMessages
package import MotionCore

/// What makes a step of a rollout fail.
package struct RolloutLimits: Equatable, Sendable {
    /// The share of devices that may fail, 0 … 100 %.
    package var abortAbove = 2.0
    /// The gestures that a device may recognise; `nil` for any number.
    package var eventRate: EventRateLimit? = .times(10)

    package init() {}
}

/// How many gestures a device may recognise after a change.
package enum EventRateLimit: Equatable, Sendable {
    /// So many times as many as before.
    case times(Double)
    /// So many an hour, or twice as many as before if that is more.
    case perHour(Double)

    /// Reads `10x`, `120` or `off`; the outer `nil` is for another text.
    package static func read(_ text: String) -> EventRateLimit?? {
        if text == "off" { return .some(nil) }
        let isFactor = text.hasSuffix("x")
        guard let number = Double(isFactor ? String(text.dropLast()) : text), number > (isFactor ? 1 : 0), number <= 1e6
        else { return nil }
        return isFactor ? .times(number) : .perHour(number)
    }

    /// The gestures an hour, for a device that recognised `before` an hour.
    func perHour(before: Double) -> Double {
        switch self {
        case .times(let factor): factor * max(before, EventRateLimit.fewest)
        case .perHour(let number): max(number, 2 * before)
        }
    }

    /// Fewer gestures an hour than this are nothing to compare with.
    static let fewest = 6.0

    /// Whether there are more occurrences than a rate explains, beyond chance: three standard deviations and three more.
    static func exceeds(_ count: Double, perHour: Double, seconds: Double) -> Bool {
        let expected = perHour * seconds / 3600
        return count > expected + 3 * expected.squareRoot() + 3
    }
}

/// Watches what becomes of the devices of a step.
package struct RolloutWatch: Sendable {
    private let step: RolloutStep
    private let eventRate: EventRateLimit?
    /// The documents that the devices should have. They change if they have to be published again.
    package var documents: [FleetDocumentID: DocumentRevision]
    /// The devices' health before they got the change.
    package let before: [String: FleetBoard.Health]
    /// The gestures an hour of the median device that did not have the change; `nil` if it is not known.
    private let usualRate: Double?
    /// The devices that had the change before the watch began, because the rollout was interrupted. How they were before
    /// the change is not known.
    private let changed: Set<String>
    /// The problems that other devices had.
    private let othersProblems: Set<String>
    /// When each device first reported that it has the documents and that its trial is over.
    private var provenAt: [String: Timestamp] = [:]

    /// Seconds that a device must have run for its own rate of gestures to be known.
    private static let shortestRun = 600.0

    /// The gaps an hour that need no explanation, and how many times as many as before do.
    private static let gaps = EventRateLimit.times(10)

    /// Prepares the watch before the step's documents are published. `isResumed`: devices have the change already, from
    /// an earlier run. `earlier` is the health before the change of devices that got it in an earlier step of this run.
    package init(
        _ step: RolloutStep, _ model: FleetModel, eventRate: EventRateLimit?, isResumed: Bool = false,
        earlier: [String: FleetBoard.Health] = [:]
    ) {
        self.step = step
        self.eventRate = eventRate
        documents = [:]
        before = model.boards.compactMapValues(\.health).merging(earlier) { _, earlier in earlier }
        let changed = Set(
            step.online.filter { id in
                isResumed && model.boards[id]?.statuses.contains(where: \.layer.isCandidate) == true
            })
        self.changed = changed
        let rates = before.filter { !changed.contains($0.key) }.values.compactMap {
            RolloutWatch.rate(of: $0.gestures, $0.uptime)
        }.sorted()
        usualRate = rates.isEmpty ? nil : rates[rates.count / 2]
        othersProblems = Set(before.filter { !changed.contains($0.key) }.values.flatMap(\.problems))
    }

    /// Occurrences an hour; `nil` if they are not known, or the run is too short.
    private static func rate(of count: Double?, _ uptime: Double?) -> Double? {
        guard let count, let uptime, uptime >= shortestRun else { return nil }
        return count / uptime * 3600
    }

    /// Occurrences an hour that a device may have had before. In a short run, many occurrences count, and few say nothing.
    private static func rate(of count: Double?, _ uptime: Double?, usual: Double) -> Double {
        rate(of: count, uptime) ?? max(usual, (count ?? 0) / max(uptime ?? 0, 1) * 3600)
    }

    // MARK: Judging

    /// What is known of a device.
    package enum State: Equatable, Sendable {
        /// It has the change, has passed its trial and reported its health since.
        case healthy
        /// It has the change, and nothing speaks against it so far.
        case unproven(String)
        /// It would fail if the step ended now.
        case failing([String])
        /// It has failed, whatever comes.
        case failed([String])
    }

    /// Judges the devices of the step.
    package mutating func judge(_ model: FleetModel, at now: Timestamp) -> RolloutJudgement {
        var judgement = RolloutJudgement(step)
        for id in step.online {
            let board = model.boards[id] ?? FleetBoard(id: id)
            judgement.add(id, state(of: board, model, at: now))
        }
        return judgement
    }

    private mutating func state(of board: FleetBoard, _ model: FleetModel, at now: Timestamp) -> State {
        let condition = WaitCondition(documents, ids: [board.id])
        switch condition.state(of: board, in: model) {
        case .refused(let lines): return .failed(lines)
        case .waiting(let reason): return .failing([board.isOnline == true ? reason : "it is offline"])
        case .offline: return .failing(["it is offline"])
        // It has left the groups of the layers.
        case nil: return .healthy
        case .applied: break
        }
        let layers = documents.keys.compactMap { board.status(of: $0) }
        let refusals = layers.filter { !$0.isCandidate }.flatMap(\.candidateErrors).map {
            "candidate refused: \($0.text)"
        }
        if !refusals.isEmpty { return .failed(refusals) }
        if let excess = excess(of: board) { return .failed([excess]) }
        guard board.isOnline == true else { return .failing(["it is offline"]) }
        if let upgrade = board.health?.upgrade, upgrade != before[board.id]?.upgrade {
            if upgrade.state == "failed" { return .failed([upgrade.text]) }
            if upgrade.state != "installed" { return .failing([upgrade.text]) }
        }
        let problems = newProblems(of: board)
        if !problems.isEmpty { return .failing(problems) }
        if layers.contains(where: \.isOnProbation) {
            provenAt[board.id] = nil
            return .unproven("on trial")
        }
        let proven = provenAt[board.id] ?? board.reportArrival ?? now
        provenAt[board.id] = proven
        guard hasReportedHealth(board, since: proven) || !sendsHealth(board) else {
            return .failing(["no health report since"])
        }
        return .healthy
    }

    /// Whether a device sends health reports, by the settings that it reports, or because it has sent some.
    private func sendsHealth(_ board: FleetBoard) -> Bool {
        board.report?.healthInterval.map { $0 > 0 } ?? (before[board.id] != nil)
    }

    /// Whether it is known how a device was before the change.
    private func isComparable(_ board: FleetBoard) -> Bool {
        before[board.id] != nil && !changed.contains(board.id)
    }

    /// Whether a device that reports its health has done so since a time.
    private func hasReportedHealth(_ board: FleetBoard, since time: Timestamp) -> Bool {
        guard let new = board.health, new.arrival >= time else { return false }
        // A message that the broker sends again is no new report.
        return new.uptime == nil || new.uptime != before[board.id]?.uptime
    }

    /// The problems that a device has reported since, and not before. If the device had the change already, they may be its
    /// effect, unless other devices have them too.
    private func newProblems(of board: FleetBoard) -> [String] {
        guard let new = board.health else { return [] }
        let excused = isComparable(board) ? Set(before[board.id]?.problems ?? []) : othersProblems
        return new.problems.filter { !excused.contains($0) }.map { problem in
            let fault = problem == "sensor" ? new.sensorFault.map { " (\($0))" } ?? "" : ""
            return "new problem: \(problem)\(fault)"
        }
    }

    /// Says if there are many more gestures or gaps than before; `nil` if there are not.
    private func excess(of board: FleetBoard) -> String? {
        guard let new = board.health, let uptime = new.uptime else { return nil }
        let old = before[board.id]
        guard let oldUptime = old?.uptime ?? (old == nil ? 0 : nil), uptime != oldUptime else { return nil }
        // A program that was started again counts from zero.
        let isSameRun = uptime > oldUptime
        let seconds = isSameRun ? uptime - oldUptime : uptime
        func count(_ new: Double?, _ old: Double?) -> Double { max(0, (new ?? 0) - (isSameRun ? old ?? 0 : 0)) }
        let isComparable = isComparable(board)
        if let eventRate {
            let gestures = count(new.gestures, old?.gestures)
            let own = RolloutWatch.rate(of: old?.gestures, oldUptime, usual: usualRate ?? 0)
            let before = isComparable ? own : usualRate ?? own
            let limit = eventRate.perHour(before: before)
            if EventRateLimit.exceeds(gestures, perHour: limit, seconds: seconds) {
                return "\(Int(gestures)) gestures in \(Int(seconds)) s, more than \(Int(limit)) an hour"
            }
        }
        let gaps = count(new.gaps, old?.gaps)
        let before = isComparable ? RolloutWatch.rate(of: old?.gaps, oldUptime, usual: 0) : 0
        let limit = RolloutWatch.gaps.perHour(before: before)
        guard EventRateLimit.exceeds(gaps, perHour: limit, seconds: seconds) else { return nil }
        return "\(Int(gaps)) gaps between samples in \(Int(seconds)) s"
    }
}

/// What is known of all devices of a step.
package struct RolloutJudgement: Equatable, Sendable {
    private let step: RolloutStep
    package private(set) var healthy: [String] = []
    package private(set) var unproven: [DeviceReasons] = []
    package private(set) var failing: [DeviceReasons] = []
    package private(set) var failed: [DeviceReasons] = []

    init(_ step: RolloutStep) {
        self.step = step
    }

    mutating func add(_ id: String, _ state: RolloutWatch.State) {
        switch state {
        case .healthy: healthy.append(id)
        case .unproven(let reason): unproven.append(DeviceReasons(id: id, lines: [reason]))
        case .failing(let lines): failing.append(DeviceReasons(id: id, lines: lines))
        case .failed(let lines): failed.append(DeviceReasons(id: id, lines: lines))
        }
    }

    /// What to do.
    package enum Verdict: Equatable, Sendable {
        case wait
        case goOn
        /// Withdraw the change, and why.
        case stop(String)
    }

    /// Decides about the step; `isEnd`: its time is over, so that devices that have not answered have failed.
    package func verdict(_ limits: RolloutLimits, isEnd: Bool) -> Verdict {
        let failures = failures(isEnd: isEnd).map(\.id)
        let added = failures.filter(Set(step.added).contains)
        for (failed, of, which) in [
            (failures.count, step.online.count, "with the change"), (added.count, step.added.count, "of the step"),
        ] {
            if let reason = limits.reason(toStopAfter: failed, of: of, which) { return .stop(reason) }
        }
        return isEnd || unproven.isEmpty && failing.isEmpty ? .goOn : .wait
    }

    /// The devices that have failed, in the order of the step.
    package func failures(isEnd: Bool) -> [DeviceReasons] { isEnd ? failed + failing : failed }
}

extension RolloutLimits {
    /// Why a change is withdrawn of which `failed` of `all` devices failed; `nil` if these are few enough.
    // Not inlined: in its caller, the compiler orders two instructions at random, and a release is to be the same bytes.
    @inline(never)
    fileprivate func reason(toStopAfter failed: Int, of all: Int, _ which: String) -> String? {
        guard failed > 0 else { return nil }
        if failed == all { return all == 1 ? "the only device \(which) failed" : "all \(all) devices \(which) failed" }
        guard Double(failed) * 100 > abortAbove * Double(all) else { return nil }
        let share = RolloutPercents.text((Double(failed) / Double(all) * 1000).rounded() / 10)
        return "\(failed) of \(all) devices \(which) failed: \(share), more than \(RolloutPercents.text(abortAbove))"
    }
}
