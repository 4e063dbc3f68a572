package import JostleMessages

/// Which revision the next document of a topic gets: the one after the document of the broker, or after the one that this
/// machine has seen if that is later.
///
/// What boards claim decides nothing, because whoever may write the topics of one board can claim anything. Only if more
/// than half of the boards that are online claim a document that the broker lacks, it has lost documents, and numbers
/// begin again in a new epoch, unless this machine keeps what was lost.
package struct RevisionPlan: Equatable, Sendable {
    /// A device, and the document that it reports, with an empty hash if it does not say it.
    package struct ReportedRevision: Equatable, Sendable {
        package var id: String
        package var revision: DocumentRevision
    }

    /// Why the same content has to be published again under a new number: what more than half of the devices that are
    /// online have shows it.
    package enum Repetition: String, Sendable {
        /// They have another document than the broker under its number.
        case conflict = "held in two versions"
        /// They got an older document than the one here, from another of several brokers.
        case olderElsewhere = "older at another broker"
    }

    /// The broker's document; `nil` if it has none that can be used.
    package let held: DocumentRevision?

    /// The document that the next one follows; `nil` if none is known.
    package let base: DocumentRevision?

    /// The number of the next document.
    package let next: Int64

    /// Whether it begins an epoch: its numbers do not follow those of any other document.
    package let beginsEpoch: Bool

    /// The devices that claim a later document than the broker's, those with the highest numbers at the end.
    package let ahead: [ReportedRevision]

    /// The document that most of these devices claim, if they are more than half of those that are online: the broker lost
    /// it, or got an older state back. Its hash is empty if they do not say it.
    package let lost: DocumentRevision?

    /// The lost document, if this machine keeps it: the only one that fits what the devices claim.
    package let kept: DocumentRevision?

    /// Whether some of these devices have the candidate of the lost document: the broker lost a rollout.
    package let isLostWithCandidate: Bool

    /// The last document that this machine has seen, if the broker holds an earlier one or none: the broker lost the
    /// document, got an older one back, or the document was removed.
    package let seenNewer: DocumentRevision?

    /// Why the same content has to be published again; `nil` if it need not be.
    package let repetition: Repetition?

    /// Whether the same content need not be published again: most devices can have the broker's document, and no newer or
    /// other one.
    package var isUpToDate: Bool {
        !beginsEpoch && lost == nil && repetition == nil && (held == nil || seenNewer == nil)
    }

    /// The devices that ignore the next document if it is true what they claim: they have its number, a later one, or a
    /// document of another epoch.
    package var unreached: [ReportedRevision] {
        guard !beginsEpoch else { return [] }
        return ahead.filter { $0.revision.epoch != base?.epoch ?? "" || $0.revision.number >= next }
    }

    /// The time of the next document, milliseconds since 1970; `nil` for none. That of an epoch is later than what any device
    /// can have accepted. While devices claim another epoch, which decides nothing, it is not later than that: they would take
    /// a document that was not made from theirs.
    ///
    /// A claim counts up to an hour before the latest time that devices accept: their clocks may be behind.
    package func time(now: Int64) -> Int64? {
        if !beginsEpoch, ahead.contains(where: { $0.revision.epoch != base?.epoch ?? "" }) {
            return base?.at.map { $0 + 1 }
        }
        let earlier = beginsEpoch ? earlierTimes : [base?.at].compactMap { $0 }
        let limit = now + DocumentRevision.clockTolerance - 3_600_000
        return earlier.filter { $0 < limit }.max().map { max(now, $0 + 1) } ?? now
    }

    /// The times of all documents that this machine or devices know.
    private let earlierTimes: [Int64]

    /// Plans the next document. With `newEpoch` it begins an epoch in any case.
    package init(for document: FleetDocumentID, in model: FleetModel, newEpoch: Bool = false) {
        let stored = model.documents[document]
        let held = stored?.revision
        // From a machine whose clock was ahead: no board can have accepted it.
        let seen = model.seen[document].flatMap { ($0.at ?? 0) > (model.latestPublication ?? .max) ? nil : $0 }
        seenNewer = seen.flatMap { $0.order(after: held) == .newer ? $0 : nil }
        // Boards may have accepted what this machine cannot use.
        let known = stored?.claimed
        var base = seen.flatMap { $0.order(after: known) == .newer ? $0 : nil } ?? known

        let readers = model.readers(of: document)
        ahead = readers.compactMap { board in
            guard let layer = board.status(of: document), layer.claimsLater(than: known) else { return nil }
            return layer.accepted.map { ReportedRevision(id: board.id, revision: $0) }
        }.sorted { ($0.revision.number, $0.id) < ($1.revision.number, $1.id) }

        let voters = model.voters(on: document)
        let online = voters.boards.filter { $0.isOnline == true }
        let reports = online.compactMap { $0.status(of: document) }
        func isMajority(_ part: [BoardReport.Layer]) -> Bool { 2 * part.count > online.count }

        let later = reports.filter { $0.claimsLater(than: known) }
        let counts = Dictionary(later.compactMap(\.accepted).map { ($0, 1) }, uniquingKeysWith: +)
        let most = counts.max { ($0.value, $0.key.number, $0.key.hash) < ($1.value, $1.key.number, $1.key.hash) }
        let claimed = isMajority(later) ? most?.key : nil
        let fitting = (model.kept[document] ?? []).union(seen.map { [$0] } ?? []).filter { claimed?.fits($0) == true }
        let only = Set(fitting.map(\.hash)).count == 1 ? fitting.max { ($0.at ?? -1) < ($1.at ?? -1) } : nil
        // Whoever claims a number without a hash would choose which of the kept documents is published again.
        let isExact = claimed?.hash.isEmpty == false && only.map { $0.order(after: seen) != .older } ?? false
        let isBelieved = claimed != nil && (voters.areCertain || isExact || model.hasLostStore)
        let lost = isBelieved ? claimed : nil
        kept = isBelieved ? only : nil
        isLostWithCandidate = lost != nil && later.contains { $0.isCandidate && $0.accepted == lost }
        // What this machine knows is no claim any more.
        if let kept, kept.order(after: base) == .newer { base = kept }

        let last = base
        let beyond = later.filter { layer in
            layer.accepted.map { $0.epoch != last?.epoch ?? "" || $0.number > last?.number ?? 0 } ?? false
        }
        beginsEpoch =
            newEpoch || lost != nil && isMajority(beyond) || (last?.number ?? 0) >= DocumentRevision.maximum
        next = beginsEpoch ? 1 : (last?.number ?? 0) + 1
        let claims = readers.map { $0.status(of: document)?.acceptedAt }
        earlierTimes = (claims + [last?.at, known?.at, seen?.at]).compactMap { $0 }
        self.base = last
        self.held = held
        self.lost = lost

        guard let held, voters.areCertain else {
            repetition = nil
            return
        }
        let older = reports.filter {
            $0.status == .stale && $0.acceptedEpoch == held.epoch
                && ($0.epoch != held.epoch || ($0.revision ?? held.number) < held.number)
        }
        let others = reports.filter {
            $0.epoch == held.epoch && $0.revision == held.number
                && ($0.status == .conflict || !$0.hasHash(held.shortHash))
        }
        let isRepeated = isMajority(older + others)
        repetition = isRepeated ? others.count > older.count ? .conflict : .olderElsewhere : nil
    }
}

extension DocumentRevision {
    /// Whether a kept document can be this one, of which a report may not say the hash.
    fileprivate func fits(_ kept: DocumentRevision) -> Bool {
        epoch == kept.epoch && number == kept.number && (hash.isEmpty || hash == kept.shortHash)
    }
}
