/// What became of a layer on a device, or of its groups.
package enum LayerStatus: Hashable, Sendable {
    case none, applied, pending, rejected, conflict, stale, missing, rolledBack
    /// A word that this program does not know.
    case other(String)

    /// The statuses of the contract with their words in reports and their ranks from the worst, and whether the device does
    /// not do what its fleet wants.
    private static let contract: [(status: LayerStatus, word: String, rank: Int, isProblem: Bool)] = [
        (.none, "none", 7, false), (.applied, "applied", 6, false), (.pending, "pending", 5, false),
        (.rejected, "rejected", 1, true), (.conflict, "conflict", 2, true), (.stale, "stale", 3, true),
        (.missing, "missing", 4, true), (.rolledBack, "rolled_back", 0, true),
    ]

    private var entry: (status: LayerStatus, word: String, rank: Int, isProblem: Bool)? {
        LayerStatus.contract.first { $0.status == self }
    }

    /// The words of the contract.
    package static var words: [String] { contract.map(\.word) }

    /// The words of the contract from the worst; the last is `none`.
    package static var wordsFromWorst: [String] { contract.sorted { $0.rank < $1.rank }.map(\.word) }

    /// The status of a word.
    package init(_ word: String) {
        self = LayerStatus.contract.first { $0.word == word }?.status ?? .other(word)
    }

    /// The word in reports.
    package var word: String {
        if case .other(let word) = self { word } else { entry?.word ?? "" }
    }

    /// The place among the statuses from the worst, 0; also of a word that this program does not know, so that it is seen.
    package var rank: Int { entry?.rank ?? 0 }

    /// Whether the device does not do what its fleet wants.
    package var isProblem: Bool { entry?.isProblem ?? false }
}
