internal import JostleConfiguration

/// A defect that a setting triggers in a part of a swarm: to try out what a bad configuration does to a fleet.
package struct SwarmDefect: Equatable, Sendable {
    /// What goes wrong while the setting has the value.
    package enum Kind: String, CaseIterable, Sendable {
        /// The sensor delivers no samples.
        case sensor
        /// The process dies a second after the setting is applied, and after every start.
        case die
        /// A shake every second.
        case shake
    }

    package var kind: Kind
    /// The share of the boards that have the defect, 0 … 100 %.
    package var percent: Double
    /// The setting, and its value in JSON.
    package var key: String
    package var value: String

    /// Reads `sensor:10%:gestures.shake.sensitivity=9`.
    package init(parsing text: String) throws(SwarmDefectError) {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let kind = Kind(rawValue: parts[0]) else {
            let kinds = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw SwarmDefectError(
                "\"\(text.prefix(100))\" is no defect, such as sensor:10%:gestures.shake.sensitivity=9; the kinds are \(kinds)"
            )
        }
        guard parts[1].hasSuffix("%"), let percent = Double(parts[1].dropLast()), (0...100).contains(percent) else {
            throw SwarmDefectError("\"\(parts[1].prefix(100))\" is no share of the boards from 0% to 100%")
        }
        let assignment = parts[2].split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard assignment.count == 2 else {
            throw SwarmDefectError("\"\(parts[2].prefix(100))\" is not KEY=VALUE")
        }
        guard ConfigurationSchema.keys.contains(where: { $0.path == assignment[0] }) else {
            throw SwarmDefectError("there is no key \"\(assignment[0].prefix(100))\"")
        }
        self.kind = kind
        self.percent = percent
        key = assignment[0]
        value = assignment[1]
    }

    /// Whether settings trigger it.
    func isTriggered(by settings: JostleSettings) -> Bool {
        switch ConfigurationSchema.value(of: key, in: settings) {
        case .string(let text)?: text == value
        case let present?: present.compactText == value
        case nil: false
        }
    }

    /// The boards that have the defect, by their numbers.
    func boards(of count: Int, seed: UInt64, stream: UInt64) -> Set<Int> {
        var chance = SwarmChance(seed: seed, stream: stream)
        let number = Int((Double(count) * percent / 100).rounded())
        return Set(chance.choose(number, of: Array(0..<count)))
    }
}

/// Why a text describes no defect.
package struct SwarmDefectError: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
