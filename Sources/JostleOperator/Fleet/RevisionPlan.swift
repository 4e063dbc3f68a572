package import JostleMessages

/// Which revision the next document of a topic gets: the one after the document of the broker, or after the one that this
/// machine has seen if that is later.
///
/// What boards claim decides nothing, because whoever may write the topics of one board can claim anything. Only if more
/// than half of the boards that are online claim a document that the broker lacks, it has lost documents, and numbers
/// begin again in a new epoch.
package struct RevisionPlan: Equatable, Sendable {
    /// A device that reports a number.
    package struct ReportedRevision: Equatable, Sendable {
        package var id: String
        package var number: Int64
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

    /// Whether more than half of the devices that are online are among them: the broker lost documents, or got an older
    /// state back.
    package let isLost: Bool

    /// The number that most of these devices claim.
    package let lostNumber: Int64?

    /// Whether some of these devices have the candidate of the lost document: the broker lost a rollout.
    package let isLostWithCandidate: Bool

    /// Whether this machine keeps the document that the broker lost.
    package let isLostKept: Bool

    /// The last document that this machine has seen, if the broker holds an earlier one or none: the broker lost the
    /// document, got an older one back, or the document was removed.
    package let seenNewer: DocumentRevision?

    /// Whether a device holds another document than the broker under the broker's number. Only a new number resolves
    /// that, even if the content stays.
    package let hasConflict: Bool

    /// Whether a device got an older document than the one here, from another of several brokers. Only a new number
    /// reaches all of them.
    package let isOlderElsewhere: Bool

    /// Whether more than half of the devices that are online cannot have the broker's document under its number: the same
    /// content has to be published again under a new one.
    package let mustRepeat: Bool

    /// Whether devices can have the broker's document, and no newer or other one: the same content need not be published
    /// again.
    package var isUpToDate: Bool {
        !beginsEpoch && !isLost && !hasConflict && !isOlderElsewhere && (held == nil || seenNewer == nil)
    }

    /// Plans the next document. With `newEpoch` it begins an epoch in any case.
    package init(for document: FleetDocumentID, in model: FleetModel, newEpoch: Bool = false) {
        let stored = model.documents[document]
        let held = stored?.revision
        // From a machine whose clock was ahead: no board can have accepted it.
        let seen = model.seen[document].flatMap { ($0.at ?? 0) > (model.latestPublication ?? .max) ? nil : $0 }
        let isSeenLater = seen.map { $0.order(after: held) == .newer } ?? false
        // Boards may have accepted what this machine cannot use.
        let known = stored?.claimed
        var base = seen.flatMap { $0.order(after: known) == .newer ? $0 : nil } ?? known
        let boards = model.readers(of: document)
        let online = boards.count { $0.isOnline == true }
        func isMajority(_ part: [FleetBoard]) -> Bool { 2 * part.count { $0.isOnline == true } > online }

        func claims(_ isMeant: (BoardReport.Layer) -> Bool) -> [FleetBoard] {
            boards.filter { $0.status(of: document).map(isMeant) ?? false }
        }
        let later = claims { $0.claimsLater(than: held) }
        ahead = later.compactMap { board in
            board.status(of: document)?.acceptedNumber.map { ReportedRevision(id: board.id, number: $0) }
        }.sorted { ($0.number, $0.id) < ($1.number, $1.id) }
        isLost = isMajority(later)
        let counts = Dictionary(ahead.map { ($0.number, 1) }, uniquingKeysWith: +)
        let lost = isLost ? counts.max { ($0.value, $0.key) < ($1.value, $1.key) }?.key : nil
        lostNumber = lost
        isLostWithCandidate = isLost && later.contains { $0.status(of: document)?.isCandidate ?? false }
        let isSent = lost.map { model.sentNumbers[document]?.contains($0) ?? false } ?? false
        isLostKept = isSent || lost != nil && lost == seen?.number
        // What this machine sent is no claim any more.
        if isSent, let lost, lost > base?.number ?? 0 {
            base = DocumentRevision(number: lost, hash: "", epoch: base?.epoch ?? "", at: base?.at)
        }
        seenNewer = isSeenLater ? seen : nil

        let last = base
        let isOutnumbered = isMajority(claims { $0.claimsLater(than: last, isLost: last != held) })
        beginsEpoch = newEpoch || isOutnumbered || (base?.number ?? 0) >= DocumentRevision.maximum
        next = beginsEpoch ? 1 : (base?.number ?? 0) + 1
        self.base = base
        self.held = held

        guard let held else {
            (hasConflict, isOlderElsewhere, mustRepeat) = (false, false, false)
            return
        }
        let older = claims {
            $0.status == .stale && $0.acceptedEpoch == held.epoch
                && ($0.epoch != held.epoch || ($0.revision ?? held.number) < held.number)
        }.filter { $0.isOnline == true }
        let others = claims {
            $0.epoch == held.epoch && $0.revision == held.number
                && ($0.status == .conflict || !$0.hasHash(held.shortHash))
        }
        isOlderElsewhere = !older.isEmpty
        hasConflict = !others.isEmpty
        mustRepeat = isMajority(older + others)
    }
}
