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

    /// The words of the contract.
    package static let words = [
        "none", "applied", "pending", "rejected", "conflict", "stale", "missing", "rolled_back",
    ]

    /// The status of a word.
    package init(_ word: String) {
        switch word {
        case "none": self = .none
        case "applied": self = .applied
        case "pending": self = .pending
        case "rejected": self = .rejected
        case "conflict": self = .conflict
        case "stale": self = .stale
        case "missing": self = .missing
        case "rolled_back": self = .rolledBack
        default: self = .other(word)
        }
    }

    /// Whether the device does not do what its fleet wants.
    package var isProblem: Bool {
        switch self {
        case .none, .applied, .pending, .other: false
        case .rejected, .conflict, .stale, .missing, .rolledBack: true
        }
    }
}
