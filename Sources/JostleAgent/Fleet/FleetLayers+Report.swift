internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore

// The members `groups`, `layers` and `registry` of the report.
extension FleetLayers {
    /// The most errors of a layer that are reported.
    private static let maximumErrors = 20

    /// What is in force from each layer, and why not.
    func report(_ stack: ConfigurationStack, at now: Timestamp) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("groups", .array(groups.map { .string($0) })),
            .init(
                "layers",
                .object(
                    records.map { record in
                        let outcome = stack.resolution.outcomes.first { $0.name == record.name.text }
                        return .init(record.name.text, report(record, outcome, at: now))
                    })),
        ]
        if let registryReport { members.append(.init("registry", registryReport)) }
        return members
    }

    private func report(_ record: LayerRecord, _ outcome: PatchOutcome?, at now: Timestamp) -> JSONValue {
        let stored = record.stored
        let number = stored.inForce?.document.revision.number
        if let offered = record.offered, record.finding == nil,
            record.offeredAt.map({ now.seconds(since: $0) >= FleetLayers.pendingTime }) ?? true
        {
            var members = status("pending", offered.revision, inForce: number)
            if let storageFailure { members.append(.init("reason", .string("cannot be saved: \(storageFailure)"))) }
            return .object(members)
        }
        switch record.finding {
        case .rejected(let revision, let problems):
            return .object(
                [.init("status", "rejected")] + (revision.map { [.init("revision", .number("\($0)"))] } ?? [])
                    + inForce(number) + highest(stored.highest, number) + [.init("errors", FleetLayers.json(problems))])
        case .conflict(let revision): return .object(status("conflict", revision, inForce: number))
        case .stale(let revision):
            return .object(status("stale", revision, inForce: number) + highest(stored.highest, number))
        case nil: break
        }
        if let undone = stored.undone {
            return .object(
                [.init("status", "rolled_back"), .init("revision", .number("\(undone.revision)"))]
                    + inForce(number) + [.init("reason", .string(undone.reason))])
        }
        guard let content = stored.inForce else {
            return .object(
                [.init("status", .string(record.isMissing ? "missing" : "none"))] + highest(stored.highest, nil))
        }
        return report(content, record, outcome)
    }

    private func report(_ content: LayerContent, _ record: LayerRecord, _ outcome: PatchOutcome?) -> JSONValue {
        let revision = content.document.revision
        guard let chosen = outcome?.chosen else {
            // It was valid before another layer or the file changed.
            return .object(
                status("rejected", revision, inForce: nil)
                    + [.init("errors", FleetLayers.json(outcome?.problems.last ?? []))])
        }
        let isCandidate = content.usesCandidate(for: id) && chosen == 0
        var members = status(record.isMissing ? "missing" : "applied", revision, inForce: nil)
        members.append(.init("candidate", .bool(isCandidate)))
        if let errors = content.candidateErrors { members.append(.init("candidate_errors", errors)) }
        if record.stored.proven != nil { members.append(.init("probation", true)) }
        if let time = record.stored.acceptedAt { members.append(.init("t", .number("\(time)"))) }
        if let seconds = record.applicationTime {
            members.append(.init("took_ms", .number("\(Int((seconds * 1000).rounded()))")))
        }
        let unknown = outcome?.ignoredKeys ?? []
        if !unknown.isEmpty { members.append(.init("unknown_keys", .array(unknown.prefix(20).map { .string($0) }))) }
        return .object(members)
    }

    private func status(_ word: String, _ revision: DocumentRevision, inForce number: Int64?) -> [JSONValue.Member] {
        let head: [JSONValue.Member] = [
            .init("status", .string(word)), .init("revision", .number("\(revision.number)")),
            .init("hash", .string(revision.shortHash)),
        ]
        return head + (number == revision.number ? [] : inForce(number))
    }

    /// The highest accepted revision, if it is not the one in force: a document needs a higher one.
    private func highest(_ revision: DocumentRevision?, _ inForce: Int64?) -> [JSONValue.Member] {
        guard let number = revision?.number, number != inForce else { return [] }
        return [.init("highest", .number("\(number)"))]
    }

    private func inForce(_ number: Int64?) -> [JSONValue.Member] {
        number.map { [.init("in_force", .number("\($0)"))] } ?? []
    }

    private var registryReport: JSONValue? {
        let accepted = registry?.revision
        let highest = highest(acceptedRegistry, accepted?.number)
        switch registryFinding {
        case .rejected(let revision, let problems):
            return .object(
                [.init("status", "rejected")] + (revision.map { [.init("revision", .number("\($0)"))] } ?? [])
                    + inForce(accepted?.number) + highest + [.init("errors", FleetLayers.json(problems))])
        case .conflict(let revision): return .object(status("conflict", revision, inForce: accepted?.number))
        case .stale(let revision): return .object(status("stale", revision, inForce: accepted?.number) + highest)
        case nil: return accepted.map { .object(status("applied", $0, inForce: nil)) }
        }
    }

    static func json(_ problems: [ConfigurationProblem]) -> JSONValue {
        .array(
            problems.prefix(maximumErrors).map { problem in
                let fields: [(name: String, text: String?)] = [
                    ("path", problem.path), ("value", problem.found), ("allowed", problem.allowed),
                    ("reason", problem.reason),
                ]
                return .object(
                    fields.compactMap { field in
                        field.text.flatMap { $0.isEmpty ? nil : JSONValue.Member(field.name, .string($0)) }
                    })
            })
    }
}
