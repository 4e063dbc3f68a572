import BrokerTestSupport

extension String {
    /// The text without what differs in each run: who published a document and when, and hashes that depend on it.
    func withoutRun(hasFixedHashes: Bool = false) -> String {
        let text = replacing(/("by": ?)"(?!ada@desk")[^"]*"/) { "\($0.output.1)\"BY\"" }
            .replacing(/("at": ?)(?!1795182603123)[0-9]{13}/) { "\($0.output.1)AT" }
        return hasFixedHashes ? text : text.replacing(/("hash": ?)"[0-9a-f]{16}"/) { "\($0.output.1)\"HASH\"" }
    }

    /// The text without the version of Jostle.
    var withoutVersion: String {
        replacing(/("(?:version|jostle)": ?)"[0-9][^"]*"/) { "\($0.output.1)\"VERSION\"" }
    }
}

extension GoldenText {
    /// Adds what a program printed, and its exit status unless that is 0.
    mutating func add(_ name: String, _ outcome: Outcome, _ change: (String) -> String = { $0 }) {
        let status = outcome.status == 0 ? "" : " (status \(outcome.status.map { "\($0)" } ?? "none"))"
        add(name + status, change(outcome.output))
    }
}
