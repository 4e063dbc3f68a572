internal import Documents
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator

/// What a rollout prints: lines for people, or a line of JSON for each event.
struct RolloutReport {
    let isJSON: Bool
    let seed: String

    // MARK: Events

    /// The devices that each step will choose.
    func plan(_ plan: RolloutPlan, _ steps: [RolloutStep], _ readers: [RolloutReader], isDryRun: Bool) {
        let offline = readers.filter { !$0.isOnline }.map(\.id)
        guard !isJSON else {
            let list = steps.map { step in
                JSONValue.object([
                    .init("percent", .number(step.percent)), .init("added", names(step.added)),
                    .init("offline", names(step.offline)),
                ])
            }
            event("plan", [.init("steps", .array(list)), .init("offline", names(offline))])
            return
        }
        let online = FleetText.count(readers.count - offline.count, "device")
        let layers = plan.layers.map(\.document.text).joined(separator: ", ")
        let begun = plan.reached > 0 ? ", which has reached \(RolloutPercents.text(plan.reached))" : ""
        line("rollout \(seed) of \(layers) to \(online)\(begun):")
        for (number, step) in steps.enumerated() {
            let more = number == 0 ? "" : " more"
            line(
                "  step \(number + 1), \(RolloutPercents.text(step.percent)): "
                    + "\(step.added.count)\(more): "
                    + (isDryRun ? step.added.joined(separator: ", ") : FleetText.names(step.added)))
        }
        if !offline.isEmpty { line("offline, not counted, will follow: \(FleetText.names(offline))") }
    }

    /// A step with other devices than were announced: some have come or gone.
    func step(_ step: RolloutStep) {
        guard !isJSON else {
            event("step", [.init("percent", .number(step.percent)), .init("added", names(step.added))])
            return
        }
        line("  now, \(RolloutPercents.text(step.percent)): \(step.added.count) more: \(FleetText.names(step.added))")
    }

    func published(_ revisions: [FleetDocumentID: DocumentRevision], _ stage: String) {
        guard !isJSON else {
            event("published", [.init("stage", .string(stage)), .init("documents", FleetJSON.documents(revisions))])
            return
        }
        let list = revisions.sorted { $0.key < $1.key }.map { "\($0.key.text) \($0.value.number)" }
        line("\(stage): published \(list.joined(separator: ", "))")
    }

    /// How many devices of a step have the change.
    func progress(_ judgement: RolloutJudgement, of step: RolloutStep) {
        guard !isJSON else { return }
        var text = "  \(judgement.healthy.count) of \(FleetText.count(step.online.count, "device")) have it and work"
        if !judgement.unproven.isEmpty { text += ", \(judgement.unproven.count) on trial" }
        if !judgement.failing.isEmpty { text += ", \(judgement.failing.count) not yet" }
        if !judgement.failed.isEmpty { text += ", \(judgement.failed.count) failed" }
        TerminalScreen.progress(text)
    }

    func waiting(for text: String) {
        guard !isJSON else { return }
        TerminalScreen.progress("  waiting for \(text)")
    }

    /// What became of a step.
    func judged(_ judgement: RolloutJudgement, of step: RolloutStep, verdict: RolloutJudgement.Verdict, isEnd: Bool) {
        let failures = judgement.failures(isEnd: isEnd)
        let waiting = isEnd ? [] : judgement.failing
        guard !isJSON else {
            var members: [JSONValue.Member] = [
                .init("percent", .number(step.percent)), .init("online", .number("\(step.online.count)")),
                .init("failed", RolloutReport.reasons(failures)),
            ]
            if !waiting.isEmpty { members.append(.init("waiting", RolloutReport.reasons(waiting))) }
            if case .stop(let reason) = verdict { members.append(.init("stopped", .string(reason))) }
            event("judged", members)
            return
        }
        let works = judgement.healthy.count + judgement.unproven.count
        var text = "  \(works) of \(FleetText.count(step.online.count, "device")) have it and work"
        if !judgement.unproven.isEmpty { text += " (\(judgement.unproven.count) still on trial)" }
        if !waiting.isEmpty { text += ", \(waiting.count) not yet" }
        line(text)
        for (ids, reason) in grouped(failures) { line("  failed: \(FleetText.names(ids)): \(reason)") }
    }

    func ended(_ word: String, _ revisions: [FleetDocumentID: DocumentRevision], _ summary: WaitSummary) {
        guard !isJSON else {
            let refused = summary.refused.map { RolloutJudgement.Reasons(id: $0.id, lines: $0.lines) }
            let waiting = summary.waiting.map { RolloutJudgement.Reasons(id: $0.id, lines: [$0.reason]) }
            event(
                word,
                [
                    .init("documents", FleetJSON.documents(revisions)), .init("applied", names(summary.applied)),
                    .init("offline", names(summary.offline)), .init("failed", RolloutReport.reasons(refused + waiting)),
                ])
            return
        }
        let online = summary.applied.count + summary.waiting.count + summary.refused.count
        let what = word == "withdrawn" ? "are back on what they had" : "have it"
        line("  \(summary.applied.count) of \(FleetText.count(online, "device")) \(what)")
        let rest =
            summary.waiting.map { RolloutJudgement.Reasons(id: $0.id, lines: [$0.reason]) }
            + summary.refused.map { RolloutJudgement.Reasons(id: $0.id, lines: $0.lines) }
        for (ids, reason) in grouped(rest) { line("  not: \(FleetText.names(ids)): \(reason)") }
        if !summary.offline.isEmpty { line("  offline, will follow: \(FleetText.names(summary.offline))") }
    }

    // MARK: Lines

    private func line(_ text: String) {
        Output.line(text)
        Output.flush()
    }

    private func event(_ name: String, _ members: [JSONValue.Member]) {
        Output.json(
            JSONValue.object([.init("rollout", .string(seed)), .init("event", .string(name))] + members).compactText)
        Output.flush()
    }

    private func names(_ ids: [String]) -> JSONValue { .array(ids.map { .string($0) }) }

    private static func reasons(_ reasons: [RolloutJudgement.Reasons]) -> JSONValue {
        .array(
            reasons.map { entry in
                .object([
                    .init("id", .string(entry.id)), .init("reasons", .array(entry.lines.map { .string($0) })),
                ])
            })
    }

    private func grouped(_ reasons: [RolloutJudgement.Reasons]) -> [(ids: [String], reason: String)] {
        FleetText.grouped(reasons.flatMap { entry in entry.lines.map { (id: entry.id, reason: $0) } })
    }
}
