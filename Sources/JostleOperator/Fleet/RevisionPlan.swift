internal import JostleMessages

/// Which revision number the next document of a topic gets: above what the broker holds and above what devices report.
package struct RevisionPlan: Equatable, Sendable {
    /// A device that reports a number.
    package struct ReportedRevision: Equatable, Sendable {
        package var id: String
        package var number: Int64
    }

    /// The number of the broker's document; `nil` if it has none.
    package let held: Int64?

    /// Whether devices accept the number of the broker's document. A document with a number that is too high for them is
    /// no base for others.
    package let isHeldCredible: Bool

    /// The number of the next document.
    package let next: Int64

    /// The devices that have a newer document than the broker: the broker lost it, or got an older state back.
    package let ahead: [ReportedRevision]

    /// Whether some of these devices have the candidate of the newer document: the broker lost a rollout.
    package let isAheadWithCandidate: Bool

    /// The highest number that this machine has seen, if the broker holds a lower one or none: the broker lost the
    /// document, got an older one back, or the document was removed.
    package let seenNewer: Int64?

    /// Whether this machine keeps the newest document that devices have and the broker does not.
    package let isAheadKept: Bool

    /// The devices whose numbers are beyond what most devices would accept. They are not counted: one device that reports
    /// a huge number must not make the next document too large a step for all others.
    package let implausible: [ReportedRevision]

    /// Whether a device holds another document than the broker under the broker's number. Only a new number resolves
    /// that, even if the content stays.
    package let hasConflict: Bool

    /// Whether a device got an older document than the one here, from another of several brokers. Only a new number
    /// reaches all of them.
    package let isOlderElsewhere: Bool

    /// Whether the same content has to be published again under a new number.
    package var mustRepeat: Bool { hasConflict || isOlderElsewhere }

    /// Whether devices can have the broker's document, and no newer or other one: the same content need not be published
    /// again.
    package var isUpToDate: Bool { isHeldCredible && ahead.isEmpty && !mustRepeat && !isOlderThanSeen }

    /// Whether the broker holds an older document than this machine has seen.
    package var isOlderThanSeen: Bool { held != nil && seenNewer != nil }

    package init(for document: FleetDocumentID, in model: FleetModel) {
        let stored = model.documents[document]
        let held = stored?.number
        let boards: [FleetBoard] =
            switch document {
            case .device(let id), .registry(let id): model.boards[id].map { [$0] } ?? []
            case .all, .group: Array(model.boards.values)
            }
        let reported = boards.compactMap { board in
            board.status(of: document)?.acceptedNumber.map { ReportedRevision(id: board.id, number: $0) }
        }.filter { $0.number > 0 }.sorted { ($0.number, $0.id) < ($1.number, $1.id) }
        // A number that somebody published need not be one that devices accept, and a single device may claim anything.
        let usual = reported.isEmpty ? nil : reported[(reported.count - 1) / 2].number
        let known = [stored?.revision?.number, usual].compactMap { $0 }.min() ?? 0
        let limit = min(known + DocumentRevision.maximumStep, DocumentRevision.maximum) - 1
        let isHeldCredible = held.map { $0 <= limit } ?? true
        let credible = reported.filter { $0.number <= limit }
        // What this machine has seen may be all that is left of the numbers of a device that was forgotten.
        let seen = model.seenNumbers[document] ?? 0
        let isSeenCredible = seen <= limit || known == 0 && seen < DocumentRevision.maximum
        let counted = [isHeldCredible ? held : nil, credible.last?.number, isSeenCredible ? seen : nil]
        self.held = held
        self.isHeldCredible = isHeldCredible
        next = (counted.compactMap { $0 }.max() ?? 0) + 1
        seenNewer = isSeenCredible && seen > (isHeldCredible ? held ?? 0 : 0) ? seen : nil
        let base = isHeldCredible ? held ?? 0 : 0
        ahead = credible.filter { $0.number > base }
        let highest = credible.last?.number ?? 0
        let isSent = model.sentNumbers[document]?.contains(highest) ?? false
        isAheadKept = highest > base && (highest == seenNewer || isSent)
        isAheadWithCandidate = boards.contains { board in
            guard let layer = board.status(of: document), layer.isCandidate else { return false }
            return (layer.acceptedNumber ?? 0) > base && (layer.acceptedNumber ?? 0) <= limit
        }
        implausible = reported.filter { $0.number > limit }
        isOlderElsewhere = boards.contains { board in
            guard let held, let layer = board.status(of: document), layer.status == .stale else { return false }
            return board.isOnline == true && (layer.revision ?? held) < held
        }
        hasConflict = boards.contains { board in
            guard let revision = stored?.revision, let layer = board.status(of: document),
                layer.revision == revision.number
            else { return false }
            return layer.status == .conflict || !layer.hasHash(revision.shortHash)
        }
    }
}
