internal import Documents
internal import Glibc
internal import JostleAgent
internal import JostleCommandLine
internal import JostleMessages
internal import LinuxSystem
internal import MotionCore

/// Shows the figures of a swarm: a live line on a terminal, a line of JSON every second, or only what happens.
struct SwarmView {
    /// Where the figures go.
    enum Format {
        case live
        case json
        case events
    }

    /// Seconds between figures.
    private static let period = 1.0
    /// The most ids that a line for people lists.
    private static let listedBoards = 20

    private let format: Format
    private var next: Timestamp
    private var last: (time: Double, sent: Int, received: Int)?

    init(_ format: Format, at now: Timestamp) {
        self.format = format
        next = now
    }

    /// When figures are due.
    var nextDeadline: Timestamp { next }

    /// Whether all boards were online once.
    private(set) var wereAllOnline = false

    /// Shows what is due.
    ///
    /// - Throws: status 73 if standard output cannot be written.
    mutating func show(_ swarm: Swarm, at now: Timestamp) throws {
        guard now >= next || !wereAllOnline else { return }
        let statistics = swarm.statistics()
        if let time = statistics.onlineAfter, !wereAllOnline {
            wereAllOnline = true
            if format != .json {
                try line("all \(statistics.boards) boards are online after \(formatted(time, "%.1f")) s")
            }
        }
        guard now >= next else { return }
        next = max(next.advanced(bySeconds: SwarmView.period), now.advanced(bySeconds: SwarmView.period / 2))
        switch format {
        case .json: try json(statistics.json(details: false))
        case .live: showLive(statistics)
        case .events: break
        }
    }

    private mutating func showLive(_ statistics: SwarmStatistics) {
        let seconds = max(1e-3, statistics.uptime - (last?.time ?? 0))
        let sent = Double(statistics.sent - (last?.sent ?? 0)) / seconds
        let received = Double(statistics.received - (last?.received ?? 0)) / seconds
        last = (statistics.uptime, statistics.sent, statistics.received)
        Output.live(
            "online \(statistics.online) of \(statistics.boards)   reported \(statistics.reported)   "
                + "deaths \(statistics.deaths)   messages/s: out \(formatted(sent, "%.0f")), "
                + "in \(formatted(received, "%.0f"))")
    }

    /// Writes the figures with all details.
    func status(_ swarm: Swarm) throws {
        try json(swarm.statistics().json(details: true))
    }

    /// Writes which boards an order concerned.
    func carriedOut(_ order: SwarmOrder, _ boards: [String]) throws {
        if format == .json {
            var object = JSONObject()
            object.add("order", order.name)
            object.add("boards", boards)
            return try json(object)
        }
        let listed = boards.prefix(SwarmView.listedBoards).joined(separator: ", ")
        let rest = boards.count > SwarmView.listedBoards ? " and \(boards.count - SwarmView.listedBoards) more" : ""
        try line(boards.isEmpty ? order.name : "\(order.name): \(listed)\(rest)")
    }

    private func line(_ text: String) throws {
        if !Output.writes(line: text) { throw SwarmView.outputFailure() }
    }

    private func json(_ object: JSONObject) throws {
        if !Output.writes(json: object.description) { throw SwarmView.outputFailure() }
    }

    private static func outputFailure() -> Failure {
        Failure(.cannotCreate, "cannot write to standard output: \(String(cString: strerror(errno)))")
    }
}

extension SwarmOrder {
    /// The order's word.
    fileprivate var name: String {
        switch self {
        case .fault(let fault, _): fault.rawValue
        case .duplicate: "duplicate"
        case .slowDisk(let seconds): "slow-disk \(formatted(seconds, "%g"))"
        case .status: "status"
        case .quit: "quit"
        }
    }
}
