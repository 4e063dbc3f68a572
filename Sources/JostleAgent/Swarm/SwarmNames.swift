internal import JostleConfiguration

/// Reads the names of a swarm's boards and groups from the command line.
package enum SwarmNames {
    /// The most groups.
    private static let maximumGroups = 10_000

    /// The groups in a list of names, or as many as a number says: `group-1` and so on.
    package static func groups(_ text: String) throws(SwarmNameError) -> [String] {
        if let count = Int(text) {
            guard (1...maximumGroups).contains(count) else {
                throw SwarmNameError("the number of groups must be 1 to \(maximumGroups)")
            }
            return (1...count).map { "group-\($0)" }
        }
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        for (index, name) in names.enumerated() {
            guard JostleSettings.Device.isID(name) else {
                throw SwarmNameError(
                    "\"\(name)\" is not a group's name: 1 to 64 letters, digits, _ and -, beginning with a letter or digit"
                )
            }
            if names[..<index].contains(name) { throw SwarmNameError("the group \(name) is there twice") }
        }
        return names
    }

    /// Checks the beginning of the ids of `devices` boards.
    package static func check(prefix: String, devices: Int) throws(SwarmNameError) {
        let longest = "\(prefix)-\(max(1000, devices))"
        guard JostleSettings.Device.isID(longest) else {
            throw SwarmNameError(
                "\"\(prefix)\" does not make ids: letters, digits, _ and -, beginning with a letter or digit, and "
                    + "with the number at most 64")
        }
    }
}

/// Why a name cannot be used.
package struct SwarmNameError: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
