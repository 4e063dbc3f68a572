internal import JostleMessages

/// Which revision number the next document of a topic gets: above what the broker holds and above what devices report.
package struct RevisionPlan: Equatable, Sendable {
    /// A device that reports a number.
    package struct Claim: Equatable, Sendable {
        package var id: String
        package var number: Int64
    }

    /// The number of the broker's document; `nil` if it has none.
    package let held: Int64?

    /// The number of the next document.
    package let next: Int64

    /// The devices that have a newer document than the broker: the broker lost it, or got an older state back.
    package let ahead: [Claim]

    /// The devices whose numbers are beyond what any device would accept. They are not counted: one device that reports
    /// a huge number must not make the next document too large a step for all others.
    package let implausible: [Claim]

    package init(for document: FleetDocumentID, in model: FleetModel) {
        let held = model.documents[document]?.number
        let boards: [FleetBoard] =
            switch document {
            case .device(let id), .registry(let id): model.boards[id].map { [$0] } ?? []
            case .all, .group: Array(model.boards.values)
            }
        let claims = boards.compactMap { board in
            board.status(of: document)?.highestNumber.map { Claim(id: board.id, number: $0) }
        }.filter { $0.number > 0 }.sorted { ($0.number, $0.id) < ($1.number, $1.id) }
        // A document that is unreadable may have any number. Devices do not accept it, so it does not count beyond what
        // they would accept.
        let isReadable = model.documents[document]?.revision != nil
        let base = (isReadable ? held : nil) ?? claims.first?.number ?? 0
        let limit = base.addingReportingOverflow(DocumentRevision.maximumStep - 1).partialValue
        let credible = claims.filter { $0.number <= limit }
        let highest = max(base, credible.last?.number ?? 0, held.map { $0 <= limit ? $0 : 0 } ?? 0)
        self.held = held
        next = highest + 1
        ahead = credible.filter { $0.number > held ?? 0 }
        implausible = claims.filter { $0.number > limit }
    }
}
