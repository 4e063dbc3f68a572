internal import Documents
internal import JostleConfiguration
internal import LinuxSystem

/// An order to a running swarm, one line on standard input.
enum SwarmOrder: Equatable, Sendable {
    /// Boards by their number, chosen at random, or by an id.
    enum Selection: Equatable, Sendable {
        case any(Int)
        case board(String)
    }

    /// What happens to boards.
    enum Fault: String, CaseIterable, Sendable {
        /// Dropped without a DISCONNECT, and started again after a pause.
        case die
        /// Stopped, its state directory deleted, started again.
        case loseStore = "lose-store"
        case stop
        case start
        /// The sensor delivers nothing any more.
        case killSensor = "sensor-dead"
    }

    case fault(Fault, Selection)
    /// A second board with the id of another.
    case duplicate(String)
    /// Every write takes this many seconds longer.
    case slowDisk(Double)
    case status
    case quit

    /// The longest delay of `slow-disk`, s.
    private static let longestDelay = 60.0

    /// Reads an order; `nil` for an empty line.
    init?(parsing line: String) throws {
        let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" || $0 == "\r" }).map(String.init)
        guard let name = words.first else { return nil }
        let operands = words.dropFirst()
        if let fault = Fault(rawValue: name) {
            self = .fault(fault, try SwarmOrder.selection(operands, of: name))
            return
        }
        switch name {
        case "duplicate": self = .duplicate(try SwarmOrder.operand(operands, of: name, "an id"))
        case "slow-disk": self = .slowDisk(try SwarmOrder.delay(operands))
        case "status", "quit":
            guard operands.isEmpty else { throw Failure(.usage, "\(name) takes nothing after it") }
            self = name == "quit" ? .quit : .status
        default:
            let names = Fault.allCases.map(\.rawValue) + ["duplicate", "slow-disk", "status", "quit"]
            throw Failure(
                .usage,
                "there is no order \"\(name.prefix(64))\"; the orders are \(names.joined(separator: ", "))")
        }
    }

    private static func operand(
        _ operands: ArraySlice<String>, of name: String, _ what: String
    ) throws -> String {
        guard operands.count == 1, let operand = operands.first else {
            throw Failure(.usage, "\(name) needs \(what) and nothing else")
        }
        return operand
    }

    private static func selection(
        _ operands: ArraySlice<String>, of name: String
    ) throws -> Selection {
        let operand = try operand(operands, of: name, "a number of boards or an id")
        // An id may consist of digits and hyphens too, but does not start with a hyphen.
        let digits = operand.hasPrefix("-") ? operand.dropFirst() : operand[...]
        guard digits.allSatisfy({ $0.isASCII && $0.isNumber }) else { return .board(operand) }
        guard let count = Int(operand), count > 0 else {
            throw Failure(.usage, "\(name) \(operand.prefix(64)): the number of boards must be 1 or more")
        }
        return .any(count)
    }

    private static func delay(_ operands: ArraySlice<String>) throws -> Double {
        let text = try operand(operands, of: "slow-disk", "a number of seconds")
        guard let seconds = Double(text), seconds >= 0, seconds <= longestDelay else {
            throw Failure(.usage, "slow-disk \(text.prefix(64)): the seconds must be 0 to \(Int(longestDelay))")
        }
        return seconds
    }
}

/// A defect that a setting triggers in a part of a swarm: to try out what a bad configuration does to a fleet.
struct SwarmDefect: Equatable, Sendable {
    /// What goes wrong while the setting has the value.
    enum Kind: String, CaseIterable, Sendable {
        /// The sensor delivers no samples.
        case sensor
        /// The process dies a second after the setting is applied, and after every start.
        case die
        /// A shake every second.
        case shake
    }

    var kind: Kind
    /// The share of the boards that have the defect, 0 … 100 %.
    var percent: Double
    /// The setting, and its value in JSON.
    var key: String
    var value: String

    /// Reads `sensor:10%:gestures.shake.sensitivity=9`.
    init(parsing text: String) throws {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let kind = Kind(rawValue: parts[0]) else {
            let kinds = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw Failure(
                .usage,
                "\"\(text.prefix(100))\" is no defect, such as sensor:10%:gestures.shake.sensitivity=9; the kinds are \(kinds)"
            )
        }
        guard parts[1].hasSuffix("%"), let percent = Double(parts[1].dropLast()), (0...100).contains(percent) else {
            throw Failure(.usage, "\"\(parts[1].prefix(100))\" is no share of the boards from 0% to 100%")
        }
        let assignment = parts[2].split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard assignment.count == 2 else {
            throw Failure(.usage, "\"\(parts[2].prefix(100))\" is not KEY=VALUE")
        }
        guard ConfigurationSchema.keys.contains(where: { $0.path == assignment[0] }) else {
            throw Failure(.usage, "there is no key \"\(assignment[0].prefix(100))\"")
        }
        self.kind = kind
        self.percent = percent
        key = assignment[0]
        value = assignment[1]
    }

    /// Whether settings trigger it.
    func isTriggered(by settings: JostleSettings) -> Bool {
        let present = ConfigurationSchema.value(of: key, in: settings)
        return (present?.string ?? present?.compactText) == value
    }

    /// The boards that have the defect, by their numbers.
    func boards(of count: Int, seed: UInt64, stream: UInt64) -> Set<Int> {
        var chance = SwarmChance(seed: seed, stream: stream)
        let number = Int((Double(count) * percent / 100).rounded())
        return Set(chance.choose(number, of: Array(0..<count)))
    }
}

/// Reads the names of a swarm's boards and groups from the command line.
enum SwarmNames {
    /// The most groups.
    private static let maximumGroups = 10_000

    /// The groups in a list of names, or as many as a number says: `group-1` and so on.
    static func groups(_ text: String) throws -> [String] {
        if let count = Int(text) {
            guard (1...maximumGroups).contains(count) else {
                throw Failure(.usage, "the number of groups must be 1 to \(maximumGroups)")
            }
            return (1...count).map { "group-\($0)" }
        }
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        for (index, name) in names.enumerated() {
            guard JostleSettings.Device.isID(name) else {
                throw Failure(
                    .usage,
                    "\"\(name)\" is not a group's name: 1 to 64 letters, digits, _ and -, beginning with a letter or digit"
                )
            }
            if names[..<index].contains(name) { throw Failure(.usage, "the group \(name) is there twice") }
        }
        return names
    }

    /// Checks the beginning of the ids of `devices` boards.
    static func check(prefix: String, devices: Int) throws {
        let longest = "\(prefix)-\(max(1000, devices))"
        guard JostleSettings.Device.isID(longest) else {
            throw Failure(
                .usage,
                "\"\(prefix)\" does not make ids: letters, digits, _ and -, beginning with a letter or digit, and "
                    + "with the number at most 64")
        }
    }
}
