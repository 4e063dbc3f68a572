internal import Documents
internal import JostleConfiguration
internal import JostleMessages
internal import JostleRuntime
internal import MotionCore

// Judging, storing and applying.
extension FleetLayers {
    /// Judges the waiting documents together with all layers, and begins to store what is accepted.
    mutating func evaluate(_ stack: inout ConfigurationStack, at now: ClockReading) -> [Step] {
        guard case .idle = storage else { return [] }
        var steps: [Step] = []
        while true {
            let (trial, rejections) = judge(stack)
            for (index, problems) in rejections.sorted(by: { $0.key < $1.key }) {
                guard let offered = records[index].offered else { continue }
                steps += reject(index, .rejected(offered.revision, problems))
            }
            // What came after a rejected document may be newer than what is in force.
            let hasLater = rejections.keys.contains { records[$0].later != nil }
            guard hasLater else { return steps + stage(trial, rejections, stack, at: now) }
            for index in rejections.keys { records[index].takeLater(trusting: trustedKeys, at: now) }
        }
    }

    private mutating func reject(_ index: Int, _ finding: LayerRecord.Finding) -> [Step] {
        guard records[index].finding != finding else { return [] }
        records[index].finding = finding
        hasNews = true
        return logFinding(of: records[index])
    }

    /// The stack with every waiting document that fits the layers below it, and the problems of the others by index.
    private func judge(_ stack: ConfigurationStack) -> (
        trial: ConfigurationStack, rejections: [Int: [DocumentProblem]]
    ) {
        var rejections: [Int: [DocumentProblem]] = [:]
        var trial = stack
        while true {
            trial.setPatches(
                records.enumerated().map { index, record in
                    let offered = rejections[index] == nil ? record.offered?.patches(for: id) : nil
                    return PatchLayer(
                        record.name.text, offered ?? record.stored.inForce?.patches(for: id) ?? [])
                })
            // Only the lowest one is judged for good: those above it depend on what takes its place.
            let lowest = trial.resolution.outcomes.indices.first { index in
                records[index].offered != nil && rejections[index] == nil
                    && trial.resolution.outcomes[index].chosen == nil
            }
            guard let lowest else { return (trial, rejections) }
            rejections[lowest] = trial.resolution.outcomes[lowest].problems.last ?? []
        }
    }

    /// Begins to store the waiting documents that were not rejected.
    private mutating func stage(
        _ judged: ConfigurationStack, _ rejections: [Int: [DocumentProblem]], _ stack: ConfigurationStack,
        at now: ClockReading
    ) -> [Step] {
        var accepted: [Staged.AppliedLayer] = []
        for index in records.indices where rejections[index] == nil {
            guard let offered = records[index].offered else { continue }
            records[index].finding = nil
            records[index].staged = offered.revision
            let outcome = judged.resolution.outcomes[index]
            var content = LayerContent(document: offered)
            if outcome.chosen != 0, content.usesCandidate(for: id) {
                content.skipsCandidate = true
                content.candidateErrors = outcome.problems.first.map(FleetLayers.json)
            }
            accepted.append(
                Staged.AppliedLayer(
                    name: records[index].name, topic: records[index].topic, content: content,
                    offeredAt: records[index].offeredAt, clocks: now))
        }
        guard !accepted.isEmpty || judged.patches != stack.patches else { return [] }
        let changes = ConfigurationStack.changedKeys(stack.resolution.settings, judged.resolution.settings)
        let written = stored.accepting(accepted, trial: trial(after: changes, of: accepted, at: now))
        storage = .writing(Staged(accepted: accepted, written: written))
        mustStore = false
        return [.store(written.bytes)]
    }

    /// The trial of a configuration with these changes. One that is under way goes on: a new document makes nobody
    /// forget that the sensor worked before, or that the process died, unless it replaces all that was on trial.
    private func trial(
        after changes: [ConfigurationChange], of accepted: [Staged.AppliedLayer], at now: ClockReading
    ) -> StoredProbation? {
        guard !changes.isEmpty else { return storedProbation }
        var trial =
            storedProbation
            ?? StoredProbation(boot: now.boot, hadSamples: hasSamples(at: now.monotonic), touchesNetwork: false)
        let topics = accepted.map(\.topic)
        if records.allSatisfy({ $0.stored.proven == nil || topics.contains($0.topic) }) { trial.deaths = 0 }
        trial.hadSamples = trial.hadSamples || hasSamples(at: now.monotonic)
        trial.touchesNetwork = trial.touchesNetwork || changes.contains(where: \.touchesNetwork)
        return trial
    }

    /// Whether the sensor delivers.
    private func hasSamples(at now: Timestamp) -> Bool {
        guard !isSensingStopped, let lastSample else { return false }
        return now.seconds(since: lastSample) < Probation.longestSilence
    }

    /// Writes a changed state that nothing waits for.
    mutating func storeIfNeeded() -> [Step] {
        guard mustStore, case .idle = storage else { return [] }
        mustStore = false
        storage = .writing(nil)
        return [.store(stored.bytes)]
    }

    /// The file was written, or a write failed and will be repeated.
    mutating func fileWritten(
        _ failure: String?, _ stack: inout ConfigurationStack, at now: ClockReading
    ) -> [Step] {
        guard case .writing(let staged) = storage else { return [] }
        let failureBefore = storageFailure
        storageFailure = failure
        if let failure {
            guard failure != failureBefore else { return [] }
            hasNews = true
            let consequence = staged == nil ? "" : "; a new configuration waits for that"
            return [.log(.error, "cannot save the fleet's configuration: \(failure)\(consequence)")]
        }
        hasNews = hasNews || failureBefore != nil
        storage = .idle
        var steps = staged.map { commit($0, &stack, at: now) } ?? []
        if reading?.isFirst != true { steps += evaluate(&stack, at: now) }
        return steps + storeIfNeeded()
    }

    /// Puts the documents that are on the disk in force, over what may have changed while they were being written: a
    /// revision was undone or passed its trial, a group was left, a value was set at home.
    private mutating func commit(
        _ staged: Staged, _ stack: inout ConfigurationStack, at now: ClockReading
    ) -> [Step] {
        hasNews = true
        let before = stack.resolution.settings
        var steps: [Step] = []
        for index in records.indices { records[index].staged = nil }
        for acceptance in staged.accepted {
            guard let index = records.firstIndex(where: { $0.topic == acceptance.topic }) else { continue }
            records[index].stored.accept(acceptance.content, at: acceptance.clocks)
            if records[index].offered?.revision == acceptance.content.document.revision { records[index].offered = nil }
            records[index].applicationTime = acceptance.offeredAt.map { now.monotonic.seconds(since: $0) }
            steps.append(.log(.info, FleetLayers.line(acceptedIn: records[index].stored)))
            records[index].takeLater(trusting: trustedKeys, at: now)
            if records[index].finding != nil { steps += logFinding(of: records[index]) }
        }
        stack.setPatches(patches)
        let changes = ConfigurationStack.changedKeys(before, stack.resolution.settings)
        steps += changes.prefix(20).map {
            .log(.info, "\($0.key): \($0.old.compactText) -> \($0.new.compactText)")
        }
        let isOnTrial = records.contains { $0.stored.proven != nil }
        storedProbation = isOnTrial ? trial(after: changes, of: staged.accepted, at: now) : nil
        if storedProbation == nil {
            // A revision that changes nothing needs no trial.
            for index in records.indices { records[index].stored.proven = nil }
            probation = nil
        } else if !changes.isEmpty {
            beginProbation(at: now.monotonic)
        }
        mustStore = mustStore || stored != staged.written
        return changes.isEmpty ? steps : steps + [.apply(changes)]
    }

    private static func line(acceptedIn layer: StoredLayer) -> String {
        guard let document = layer.inForce?.document else { return "layer \(layer.name.text): nothing in force" }
        return "layer \(layer.name.text): revision \(document.revision.number) is in force"
            + byAndNote(document.envelope)
    }
}

// Probation.
extension FleetLayers {
    /// Begins to watch the device, if new revisions are on probation.
    mutating func beginProbation(at now: Timestamp) {
        guard let storedProbation else { return }
        probation = Probation(
            duration: duration, hadSamples: storedProbation.hadSamples, touchesNetwork: storedProbation.touchesNetwork,
            isConnected: isConnected, at: now)
    }

    /// Ends the probation if it is decided.
    mutating func checkProbation(_ stack: inout ConfigurationStack, at now: ClockReading) -> [Step] {
        guard
            let verdict = probation?.check(
                lastSample: lastSample, isSensingStopped: isSensingStopped, at: now.monotonic)
        else { return [] }
        switch verdict {
        case .undecided: return []
        case .passed:
            var fleet = stored
            fleet.endProbation()
            take(fleet)
            return storeIfNeeded()
        case .failed(let reason): return undo(reason, &stack, at: now)
        }
    }

    /// The settings cannot be applied: undoes the revisions on probation.
    mutating func fail(_ reason: String, _ stack: inout ConfigurationStack, at now: ClockReading) -> [Step] {
        storedProbation == nil ? [] : undo(reason, &stack, at: now)
    }

    /// Returns to the configuration before the revisions on probation, at once: it is not kept waiting by the disk.
    private mutating func undo(
        _ reason: String, _ stack: inout ConfigurationStack, at now: ClockReading
    ) -> [Step] {
        var fleet = stored
        let topics = fleet.undo(reason, for: id)
        take(fleet)
        let before = stack.resolution.settings
        stack.setPatches(patches)
        let names = records.filter { topics.contains($0.topic) }.map {
            "\($0.name.text) \($0.stored.undone?.revision ?? 0)"
        }
        beginProbation(at: now.monotonic)
        return [.log(.error, "undone because \(reason): layer \(names.joined(separator: ", "))")]
            + storeIfNeeded() + [.apply(ConfigurationStack.changedKeys(before, stack.resolution.settings))]
    }

    /// Takes over a changed state, which is stored later.
    private mutating func take(_ fleet: StoredFleet) {
        for index in records.indices {
            if let layer = fleet.layers[records[index].topic] { records[index].stored = layer }
        }
        storedProbation = fleet.probation
        probation = nil
        mustStore = true
        hasNews = true
    }

    /// What to write when the process ends as it should.
    mutating func end() -> [Step] {
        guard storedProbation != nil else { return [] }
        var fleet = stored
        fleet.processEnds()
        storage = .writing(nil)
        return [.store(fleet.bytes)]
    }
}
