/// An order to a running swarm, one line on standard input.
package enum SwarmOrder: Equatable, Sendable {
    /// Boards by their number, chosen at random, or by an id.
    package enum Selection: Equatable, Sendable {
        case any(Int)
        case board(String)
    }

    /// What happens to boards.
    package enum Fault: String, CaseIterable, Sendable {
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
    package init?(parsing line: String) throws(SwarmOrderError) {
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
            guard operands.isEmpty else { throw SwarmOrderError("\(name) takes nothing after it") }
            self = name == "quit" ? .quit : .status
        default:
            let names = Fault.allCases.map(\.rawValue) + ["duplicate", "slow-disk", "status", "quit"]
            throw SwarmOrderError(
                "there is no order \"\(name.prefix(64))\"; the orders are \(names.joined(separator: ", "))")
        }
    }

    private static func operand(
        _ operands: ArraySlice<String>, of name: String, _ what: String
    ) throws(SwarmOrderError) -> String {
        guard operands.count == 1, let operand = operands.first else {
            throw SwarmOrderError("\(name) needs \(what) and nothing else")
        }
        return operand
    }

    private static func selection(
        _ operands: ArraySlice<String>, of name: String
    ) throws(SwarmOrderError) -> Selection {
        let operand = try operand(operands, of: name, "a number of boards or an id")
        // An id may consist of digits and hyphens too, but does not start with a hyphen.
        let digits = operand.hasPrefix("-") ? operand.dropFirst() : operand[...]
        guard digits.allSatisfy({ $0.isASCII && $0.isNumber }) else { return .board(operand) }
        guard let count = Int(operand), count > 0 else {
            throw SwarmOrderError("\(name) \(operand.prefix(64)): the number of boards must be 1 or more")
        }
        return .any(count)
    }

    private static func delay(_ operands: ArraySlice<String>) throws(SwarmOrderError) -> Double {
        let text = try operand(operands, of: "slow-disk", "a number of seconds")
        guard let seconds = Double(text), seconds >= 0, seconds <= longestDelay else {
            throw SwarmOrderError("slow-disk \(text.prefix(64)): the seconds must be 0 to \(Int(longestDelay))")
        }
        return seconds
    }
}

/// Why an order is not carried out. It has then changed nothing.
package struct SwarmOrderError: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
