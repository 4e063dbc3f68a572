internal import Documents
internal import JostleCommandLine
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
            let list: [JSONValue] = steps.map { step in
                ["percent": .number(step.percent), "added": .strings(step.added), "offline": .strings(step.offline)]
            }
            return event("plan", ["steps": .array(list), "offline": .strings(offline)])
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
            return event("step", ["percent": .number(step.percent), "added": .strings(step.added)])
        }
        line("  now, \(RolloutPercents.text(step.percent)): \(step.added.count) more: \(FleetText.names(step.added))")
    }

    func published(_ revisions: [FleetDocumentID: DocumentRevision], _ stage: String) {
        guard !isJSON else {
            return event("published", ["stage": .string(stage), "documents": FleetJSON.documents(revisions)])
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
            let reason: String? = if case .stop(let reason) = verdict { reason } else { nil }
            return event(
                "judged",
                [
                    "percent": .number(step.percent), "online": .number(step.online.count),
                    "failed": FleetJSON.reasons(failures),
                    "waiting": waiting.isEmpty ? nil : FleetJSON.reasons(waiting),
                    "stopped": reason.map { .string($0) },
                ])
        }
        let works = judgement.healthy.count + judgement.unproven.count
        var text = "  \(works) of \(FleetText.count(step.online.count, "device")) have it and work"
        if !judgement.unproven.isEmpty { text += " (\(judgement.unproven.count) still on trial)" }
        if !waiting.isEmpty { text += ", \(waiting.count) not yet" }
        line(text)
        for (names, reason) in FleetText.grouped(failures) { line("  failed: \(names): \(reason)") }
    }

    func ended(_ word: String, _ revisions: [FleetDocumentID: DocumentRevision], _ summary: WaitSummary) {
        guard !isJSON else {
            return event(
                word,
                [
                    "documents": FleetJSON.documents(revisions), "applied": .strings(summary.applied),
                    "offline": .strings(summary.offline),
                    "failed": FleetJSON.reasons(summary.refused + summary.waiting),
                ])
        }
        let what = word == "withdrawn" ? "are back on what they had" : "have it"
        line("  \(summary.applied.count) of \(FleetText.count(summary.online, "device")) \(what)")
        for (names, reason) in FleetText.grouped(summary.waiting + summary.refused) {
            line("  not: \(names): \(reason)")
        }
        if !summary.offline.isEmpty { line("  offline, will follow: \(FleetText.names(summary.offline))") }
    }

    // MARK: Lines

    private func line(_ text: String) {
        Output.line(text)
        Output.flush()
    }

    private func event(_ name: String, _ members: JSONValue) {
        let head: JSONValue = ["rollout": .string(seed), "event": .string(name)]
        Output.json(head.adding(members))
        Output.flush()
    }
}
