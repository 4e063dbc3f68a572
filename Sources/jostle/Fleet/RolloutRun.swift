internal import JostleCommandLine
internal import JostleMessages
internal import JostleOperator
internal import JostleRuntime
internal import LinuxSystem
internal import MotionCore

/// Rolls a change out, step by step, until it is complete or withdrawn.
///
/// The state of the rollout is in the documents at the broker, so this program can end at any time, and another one goes
/// on. A broker that comes back without the documents gets them again.
struct RolloutRun {
    private let operation: FleetOperation
    private let plan: RolloutPlan
    private var options: RolloutOptions
    private let note: String?
    private let report: RolloutReport
    /// The documents that the broker should hold; until the first publication, those that it held.
    private var held: [FleetDocumentID: DocumentRevision]
    /// What was last seen of the connection: another one may be to a broker that has lost documents.
    private var connections: Int
    /// The share of devices that have the candidates, or are about to get them.
    private var reached: Double
    /// Whether the broker holds candidates.
    private var isUnderWay: Bool
    /// The devices' health before they got the change.
    private var healthBefore: [String: FleetBoard.Health] = [:]
    /// The steps as they were announced.
    private var announced: [RolloutStep] = []
    /// Why the change is being withdrawn; `nil` as long as it is not.
    private var failure: String?

    /// Seconds between looks at the devices.
    private static let interval = 0.25
    /// Seconds that the broker may be away, unless a step takes longer.
    private static let longestOutage = 120.0
    /// Seconds that devices have to come back after the broker was away.
    private static let returning = 30.0
    /// Seconds that devices have to take over the end of a rollout.
    private static let ending = 60.0

    private var session: FleetSession { operation.session }

    init(_ plan: RolloutPlan, _ options: RolloutOptions, _ operation: FleetOperation, note: String?) {
        self.plan = plan
        self.options = options
        self.operation = operation
        self.note = note
        report = RolloutReport(isJSON: operation.isJSON, seed: plan.seed)
        held = [:]
        for layer in plan.layers { held[layer.document] = operation.model.documents[layer.document]?.revision }
        connections = operation.session.connections
        reached = plan.reached
        isUnderWay = plan.reached > 0
    }

    /// A seed that no other rollout has: `2026-11-22T10:00-a1b2c3`.
    private static func newSeed() -> String {
        let time = WallClock.dateAndTime(milliseconds: FleetText.now).prefix(16)
        return "\(time.replacing(" ", with: "T"))-\(RunName.new().prefix(6))"
    }

    // MARK: Running

    /// Rolls changes out.
    ///
    /// - Throws: status 64 or 65 if they cannot be rolled out; else as `run`.
    static func run(_ changes: [FleetChange], _ options: RolloutOptions, _ operation: FleetOperation) throws {
        for change in changes {
            try FleetEdit.requireNothingLost(change.document, change.revision, operation.model)
        }
        let plan = try RolloutPlan(
            changes.map { ($0.document, $0.draft) }, in: operation.model, newSeed: options.seed ?? newSeed(),
            marksBase: options.seed == nil)
        if let seed = options.seed, seed != plan.seed {
            throw Failure(.badData, "this change is being rolled out already, with the seed \(plan.seed)")
        }
        var run = RolloutRun(plan, options, operation, note: operation.note)
        try run.run()
    }

    /// Takes all steps that are left.
    ///
    /// - Throws: status 65 if the change was withdrawn, 75 if the rollout is not at its end, or some devices are left out.
    mutating func run() throws {
        let readers = plan.readers(in: operation.model)
        guard readers.contains(where: \.isOnline) else { throw RolloutError.noDevice }
        announced = RolloutStep.plan(percents: options.percents, for: plan, readers)
        report.plan(plan, announced, readers, isDryRun: operation.isDryRun)
        try extendWait(readers)
        try operation.checkSignatures(plan.layers.map(\.document))
        guard !operation.isDryRun else { return }
        do {
            if reached > 0 { try watchReached() }
            let present = Set(readers.filter(\.isOnline).map(\.id))
            while let step = try nextStep(present) {
                guard try awaitWindow(for: options.wait) else {
                    try take(step)
                    continue
                }
                // Devices may have come or gone in the meantime.
                if let step = try nextStep(present) { try take(step) }
            }
            guard reached > 0 else { throw RolloutError.noDevice }
            _ = try awaitWindow(for: 0)
            try complete()
        } catch {
            let failure = Failure(error)
            throw failure.status == .badData ? failure : unfinished(failure)
        }
        try operation.requireEverything()
    }

    /// The next step. If the devices that are left were online at the beginning and are offline now, they get the time of a
    /// step to come back.
    ///
    /// - Returns: `nil` if all that are online have the change.
    /// - Throws: status 75 if none of those that were there at the beginning comes back.
    private mutating func nextStep(_ present: Set<String>) throws -> RolloutStep? {
        let deadline = WallClock.monotonic.advanced(bySeconds: options.wait)
        while true {
            let readers = plan.readers(in: operation.model)
            if let step = RolloutStep.next(percents: options.percents, after: reached, readers) { return step }
            let rest = readers.filter { $0.place >= reached / 100 && present.contains($0.id) }.map(\.id)
            if rest.isEmpty { return nil }
            guard WallClock.monotonic < deadline else {
                throw Failure(.temporary, "\(FleetText.names(rest)): offline, but online when the rollout began")
            }
            report.waiting(for: "\(FleetText.count(rest.count, "device")) that went offline")
            try session.listen(for: 1)
        }
    }

    /// Watches the devices that have the change since an earlier run.
    private mutating func watchReached() throws {
        guard !plan.isBaseChanged else {
            let layers = plan.layers.map(\.document.text).joined(separator: ", ")
            throw Failure(
                .badData,
                lines: [
                    "the configuration of \(layers) has changed since the rollout \(plan.seed) began, or not all of its"
                        + " layers were published",
                    "To take it back, with what was changed since: jostle fleet rollout withdraw. Then begin again",
                ])
        }
        let readers = plan.readers(in: operation.model, countsChanged: true)
        let step = RolloutStep(percent: reached, reached: 0, readers)
        guard !step.online.isEmpty else {
            throw Failure(
                .temporary, "none of the devices with the change is online, so nothing shows whether it works")
        }
        try take(step, isResumed: true)
    }

    /// Takes the change back everywhere.
    mutating func withdraw() throws {
        try operation.checkSignatures(plan.layers.map(\.document))
        guard try end(.withdrawn, "withdrawn", note: note).isComplete else {
            throw Failure(.temporary, "not all devices have taken the withdrawal over yet")
        }
    }

    /// What to do with a rollout that has stopped before its end.
    private func unfinished(_ error: Failure) -> Failure {
        guard isUnderWay else { return error }
        let stays = "The candidate stays with \(RolloutPercents.text(reached)) of the devices (rollout \(plan.seed))"
        if let failure {
            return Failure(
                error.status,
                lines: ["the change has failed, but could not be withdrawn: \(failure)"] + error.lines
                    + [stays, "To take it back: jostle fleet rollout withdraw"])
        }
        return Failure(
            error.status,
            lines: error.lines + [
                stays,
                "To go on: the same command again, or jostle fleet rollout resume with the same options. To take it back:"
                    + " jostle fleet rollout withdraw",
            ])
    }

    /// Makes the steps long enough for a trial and a health report after it.
    ///
    /// - Throws: status 64 if they do not fit into the window then.
    private mutating func extendWait(_ readers: [RolloutReader]) throws {
        var needed = 0.0
        for reader in readers.filter(\.isOnline).prefix(100) {
            guard let report = operation.model.boards[reader.id]?.report, let trial = report.probation else { continue }
            // The report itself takes some time too.
            needed = max(needed, trial + (report.healthInterval ?? 0) + 5)
        }
        guard needed > options.wait else { return }
        func text(_ seconds: Double) -> String { formatted(seconds, "%.15g") }
        Output.warn(
            "a step can take \(text(needed)) s, not --wait \(text(options.wait)) s: the devices' trial of a change"
                + " and their next health report take so long")
        options.wait = needed
        if let window = options.window, window.length < needed {
            throw Failure(.usage, "--only \(window.text) is shorter than that, so that no step would fit into it")
        }
    }

    /// Waits until something that takes `duration` seconds may begin.
    ///
    /// - Returns: whether it had to wait.
    private mutating func awaitWindow(for duration: Double) throws -> Bool {
        guard let window = options.window else { return false }
        var hasWaited = false
        while true {
            let now = FleetText.now
            let end = now + Int64(duration * 1000)
            let (time, endTime) = (
                WallClock.secondsSinceMidnight(milliseconds: now), WallClock.secondsSinceMidnight(milliseconds: end)
            )
            if window.admits(secondsSinceMidnight: time, duration: duration, end: endTime) { return hasWaited }
            hasWaited = true
            report.waiting(for: window.text)
            try session.listen(for: 1)
        }
    }

    // MARK: A step

    private mutating func take(_ step: RolloutStep, isResumed: Bool = false) throws {
        if !isResumed, !announced.contains(step) { report.step(step) }
        var watch = RolloutWatch(
            step, operation.model, eventRate: options.limits.eventRate, isResumed: isResumed, earlier: healthBefore)
        if !isResumed { for id in step.online { healthBefore[id] = watch.before[id] } }
        let stage = "\(RolloutPercents.text(step.percent)) of the devices"
        reached = step.percent
        try hold(.candidate(percent: step.percent), stage, note: note)
        watch.documents = held
        var rest = options.wait
        var outage = 0.0
        var last = WallClock.monotonic
        while true {
            try session.listen(for: RolloutRun.interval)
            let now = WallClock.monotonic
            // While the broker is away, nothing is seen of the devices: the step waits.
            if session.isConnected {
                rest -= now.seconds(since: last)
                outage = 0
            } else {
                outage += now.seconds(since: last)
                guard outage < max(options.wait, RolloutRun.longestOutage) else {
                    throw Failure(.temporary, "the connection to the broker was lost and did not return")
                }
            }
            last = now
            if mustPublishAgain {
                // The devices come back to a broker later than this program.
                if session.connections != connections { rest = max(rest, RolloutRun.returning) }
                try hold(.candidate(percent: step.percent), stage, note: note)
                watch.documents = held
                last = WallClock.monotonic
            }
            let judgement = watch.judge(operation.model, at: now)
            let verdict = judgement.verdict(options.limits, isEnd: rest <= 0)
            switch verdict {
            case .wait: report.progress(judgement, of: step)
            case .goOn:
                report.judged(judgement, of: step, verdict: verdict, isEnd: true)
                return
            case .stop(let reason):
                report.judged(judgement, of: step, verdict: verdict, isEnd: rest <= 0)
                try stop(reason, judgement.failures(isEnd: rest <= 0))
            }
        }
    }

    /// Withdraws the change because devices failed.
    private mutating func stop(_ reason: String, _ failures: [DeviceReasons]) throws -> Never {
        failure = reason
        let text = MessageText.line("withdrawn: \(reason)", maximum: 1000)
        var isComplete = false
        do {
            isComplete = try end(.withdrawn, "withdrawn", note: text).isComplete
        } catch {
            // Once it is published, only the devices' answers are missing.
            guard !isUnderWay else { throw error }
        }
        var lines = ["the change was withdrawn: \(reason)"]
        lines += FleetText.grouped(failures).map { "\($0.names): \($0.reason)" }
        if !isComplete { lines.append("not all devices have taken the withdrawal over yet: jostle fleet wait") }
        throw Failure(.badData, lines: lines)
    }

    private mutating func complete() throws {
        let summary = try end(.complete, "complete", note: note)
        let failures = summary.refused.count + summary.waiting.count
        guard failures > 0 else { return }
        guard Double(failures) * 100 <= options.limits.abortAbove * Double(summary.online) else {
            throw Failure(
                .temporary,
                "the change is complete, but \(failures) of \(summary.online) devices have not taken it over")
        }
    }

    /// Publishes the end of the rollout and waits for the devices.
    private mutating func end(_ stage: RolloutPlan.Stage, _ word: String, note: String?) throws -> WaitSummary {
        try hold(stage, word, note: note)
        isUnderWay = false
        let deadline = WallClock.monotonic.advanced(bySeconds: min(options.wait, RolloutRun.ending))
        var summary = WaitSummary([])
        repeat {
            try session.listen(for: RolloutRun.interval)
            if mustPublishAgain { try hold(stage, word, note: note) }
            summary = WaitSummary(WaitCondition(held).boards(in: operation.model))
        } while !(summary.isSettled && session.isConnected) && WallClock.monotonic < deadline
        report.ended(word, held, summary)
        return summary
    }

    // MARK: Publishing

    /// Whether the broker may not hold the documents any more.
    private var mustPublishAgain: Bool {
        guard session.isConnected else { return false }
        return session.connections != connections
            || held.contains { operation.model.documents[$0.key]?.revision != $0.value }
    }

    /// Publishes the documents of a stage, until the broker holds them.
    ///
    /// - Throws: status 75 if somebody else has published one of the layers, or the broker stays away; 77 if it refuses.
    private mutating func hold(_ stage: RolloutPlan.Stage, _ title: String, note: String?) throws {
        let drafts = plan.drafts(stage)
        // Once: a repetition has the same bytes.
        let author = FleetOperation.author(note: note)
        let deadline = WallClock.monotonic.advanced(bySeconds: max(options.wait, RolloutRun.longestOutage))
        var isRepeated = false
        while true {
            do {
                try reconnect(until: deadline)
                guard try publishMissing(drafts, by: author, isRepeated: isRepeated) else {
                    report.published(held, title)
                    return
                }
                guard WallClock.monotonic < deadline else {
                    throw BrokerError.notConnected("it does not keep the documents")
                }
                isRepeated = true
            } catch let error as BrokerError {
                guard error.mayPass, WallClock.monotonic < deadline else { throw error }
            }
        }
    }

    /// Waits for a connection, and reads the documents if it is a new one.
    private mutating func reconnect(until deadline: Timestamp) throws {
        guard !session.isConnected || session.connections != connections else { return }
        try session.listen(for: deadline.remaining(at: WallClock.monotonic)) { _ in session.isConnected }
        try session.requireConnection()
        let count = session.connections
        try session.read(plan.layers.map(\.document))
        connections = count
    }

    /// Publishes the documents that the broker does not hold. `isRepeated`: it was published a moment ago; whether a device
    /// reports another one does not matter then, or a device that does not get any would make this endless.
    ///
    /// - Returns: whether there were any, so that it has to be looked again.
    private mutating func publishMissing(
        _ drafts: [FleetDocumentID: DocumentDraft], by author: DocumentAuthor, isRepeated: Bool
    ) throws -> Bool {
        let model = operation.model
        var publications: [FleetPublication] = []
        for (id, draft) in drafts.sorted(by: { $0.key < $1.key }) {
            let stored = model.documents[id]
            let revision = RevisionPlan(for: id, in: model)
            let isHeld = isRepeated ? stored?.revision == held[id] : revision.isUpToDate
            if let stored, let number = stored.revision, stored.hasContent(of: draft), isHeld {
                held[id] = number
                continue
            }
            if let stored, isForeign(stored, id) { throw foreign(id, stored) }
            publications.append(
                try Failure.with(.badData) { try operation.publication(draft, of: id, revision, by: author) })
        }
        guard !publications.isEmpty else { return false }
        // The devices may have the candidates from now on, even if the broker's answer is lost.
        let wasUnderWay = isUnderWay
        isUnderWay = isUnderWay || drafts.values.contains(where: \.hasCandidate)
        let outcomes = try operation.send(publications)
        if !outcomes.values.contains(.stored) { isUnderWay = wasUnderWay }
        let isReconnected = !session.isConnected || session.connections != connections
        for publication in publications {
            let id = publication.document
            switch outcomes[id] {
            case .stored: held[id] = publication.revision
            case .replaced(let stored):
                if stored.isNewer(than: publication.revision) { throw foreign(id, stored) }
            // Another connection may be to a broker that has lost documents.
            case .lost where isReconnected, nil where isReconnected: break
            case .refused, .lost, nil:
                throw Failure(.permission, FleetOperation.refusal(of: id, outcomes[id]) ?? "")
            }
        }
        return true
    }

    /// Whether a document is somebody else's: newer than what this program knows. An older one shows that the broker has
    /// lost the newest.
    private func isForeign(_ stored: StoredDocument, _ id: FleetDocumentID) -> Bool {
        guard let known = held[id] else { return true }
        return stored.isNewer(than: known)
    }

    private mutating func foreign(_ id: FleetDocumentID, _ stored: StoredDocument) -> Failure {
        isUnderWay = stored.layer?.candidate?.seed == plan.seed
        let what = FleetText.revision(of: stored) ?? "a document that cannot be used"
        return Failure(.temporary, "\(id.text): another operator has published it: \(what)")
    }
}
