internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore

// Judging, storing and applying.
extension FleetLayers {
    /// Judges the waiting documents together with all layers, and begins to store what is accepted.
    mutating func evaluate(_ stack: inout ConfigurationStack, at now: ClockReading) -> [Step] {
        guard case .idle = storage else { return [] }
        let (trial, rejections) = judge(stack)
        var steps: [Step] = []
        var stored = records.map(\.stored)
        var accepted: [LayerRecord] = []
        for index in records.indices {
            guard let offered = records[index].offered else { continue }
            if let problems = rejections[index] {
                let finding = LayerRecord.Finding.rejected(revision: offered.revision.number, problems)
                guard records[index].finding != finding else { continue }
                records[index].finding = finding
                hasNews = true
                steps += logFinding(of: records[index])
            } else {
                let isFirstChoice = trial.resolution.outcomes[index].chosen == 0
                let skipsCandidate = !isFirstChoice && offered.candidate?.selects(id) == true
                records[index].finding = nil
                stored[index].accept(LayerContent(document: offered, skipsCandidate: skipsCandidate), at: now.wall)
                accepted.append(records[index])
            }
        }
        guard !accepted.isEmpty || trial.patches != stack.patches else { return steps }
        let changes = ConfigurationStack.changedKeys(stack.resolution.settings, trial.resolution.settings)
        return steps + stage(trial, stored, changes, accepted, at: now)
    }

    /// The stack with every waiting document that fits the layers below it, and the problems of the others by index.
    private func judge(_ stack: ConfigurationStack) -> (
        trial: ConfigurationStack, rejections: [Int: [ConfigurationProblem]]
    ) {
        var rejections: [Int: [ConfigurationProblem]] = [:]
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

    private mutating func stage(
        _ trial: ConfigurationStack, _ layers: [StoredLayer], _ changes: [ConfigurationChange],
        _ accepted: [LayerRecord], at now: ClockReading
    ) -> [Step] {
        var fleet = stored
        for (record, layer) in zip(records, layers) where layer != StoredLayer(layer.name) {
            fleet.layers[record.topic] = layer
        }
        if changes.isEmpty, fleet.probation == nil {
            // A revision that changes nothing needs no trial.
            fleet.endProbation()
        } else if !changes.isEmpty {
            fleet.probation = StoredProbation(
                boot: now.boot, hadSamples: hasSamples(at: now.monotonic),
                touchesNetwork: changes.contains(where: \.touchesNetwork) || fleet.probation?.touchesNetwork == true)
        }
        storage = .writing(Staged(stored: fleet, stack: trial, changes: changes, accepted: accepted))
        mustStore = false
        return [.store(fleet.bytes)]
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
        if records.contains(where: \.isWaiting), reading?.isFirst != true { steps += evaluate(&stack, at: now) }
        return steps + storeIfNeeded()
    }

    /// Puts a stored state in force.
    private mutating func commit(
        _ staged: Staged, _ stack: inout ConfigurationStack, at now: ClockReading
    ) -> [Step] {
        var steps: [Step] = []
        hasNews = true
        for index in records.indices {
            // A group may have been left meanwhile.
            guard let layer = staged.stored.layers[records[index].topic] else { continue }
            records[index].stored = layer
            guard let before = staged.accepted.first(where: { $0.topic == records[index].topic }) else { continue }
            if records[index].offered?.revision == before.offered?.revision { records[index].offered = nil }
            records[index].applicationTime = before.offeredAt.map { now.monotonic.seconds(since: $0) }
            steps.append(.log(.info, FleetLayers.line(acceptedIn: layer)))
        }
        storedProbation = staged.stored.probation
        if stack.layers == staged.stack.layers {
            stack = staged.stack
        } else {
            // Values were set at home meanwhile.
            stack.setPatches(staged.stack.patches)
        }
        guard !staged.changes.isEmpty else { return steps }
        steps += staged.changes.prefix(20).map {
            .log(.info, "\($0.key): \($0.old.compactText) -> \($0.new.compactText)")
        }
        beginProbation(at: now.monotonic)
        return steps + [.apply(staged.changes)]
    }

    private static func line(acceptedIn layer: StoredLayer) -> String {
        guard let document = layer.inForce?.document else { return "layer \(layer.name.text): nothing in force" }
        let by = document.envelope.by.map { " by \(ConfigurationProblem.escaped($0))" } ?? ""
        let note = document.envelope.note.map { ": \(ConfigurationProblem.escaped($0))" } ?? ""
        return "layer \(layer.name.text): revision \(document.revision.number) is in force\(by)\(note)"
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
