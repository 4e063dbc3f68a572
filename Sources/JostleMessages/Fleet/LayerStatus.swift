/// What became of a layer on a device, or of its groups.
package enum LayerStatus: Equatable, Sendable {
    case none, applied, pending, rejected, conflict, stale, missing, rolledBack
    /// A word that this program does not know.
    case other(String)

    /// The word in reports.
    package var word: String {
        switch self {
        case .none: "none"
        case .applied: "applied"
        case .pending: "pending"
        case .rejected: "rejected"
        case .conflict: "conflict"
        case .stale: "stale"
        case .missing: "missing"
        case .rolledBack: "rolled_back"
        case .other(let word): word
        }
    }

    /// Those of the contract.
    private static let known: [LayerStatus] = [
        .none, .applied, .pending, .rejected, .conflict, .stale, .missing, .rolledBack,
    ]

    /// The words of the contract.
    package static let words = known.map(\.word)

    /// The status of a word.
    package init(_ word: String) { self = LayerStatus.known.first { $0.word == word } ?? .other(word) }

    /// Whether the device does not do what its fleet wants.
    package var isProblem: Bool {
        switch self {
        case .none, .applied, .pending, .other: false
        case .rejected, .conflict, .stale, .missing, .rolledBack: true
        }
    }
}
