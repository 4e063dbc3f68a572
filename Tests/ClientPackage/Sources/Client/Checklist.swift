/// What has to happen before the program may end.
actor Checklist {
    private var missing: Set<String>

    init(_ items: [String]) {
        missing = Set(items)
    }

    func check(_ item: String) {
        missing.remove(item)
    }

    /// Waits until nothing is missing; returns what is still missing at the deadline.
    func waitForAll(within duration: Duration) async -> [String] {
        let deadline = ContinuousClock.now + duration
        while !missing.isEmpty, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(20))
        }
        return missing.sorted()
    }
}

/// Ends the program with a status that is not 0.
struct Failure: Error, CustomStringConvertible {
    let description: String
}

/// Throws unless `condition` holds.
func require(_ condition: Bool, _ requirement: String) throws {
    if !condition { throw Failure(description: "not true: \(requirement)") }
}
