internal import Documents
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator

/// The boards that somebody looks at: their last messages as they are, for the next page that opens, and what has to be
/// subscribed for them.
struct WatchedBoards {
    /// Seconds for which a board is kept after its last page was closed.
    static let patience = 20.0
    /// The gestures that are kept.
    private static let history = 100

    private struct Board {
        var viewers = 0
        /// When the last page was closed.
        var abandoned: Double?
        var latest: [ServerSentEvent.Name: ServerSentEvent] = [:]
        var gestures: [ServerSentEvent] = []
        /// What the kept event `running` says.
        var running: RunningHours.Today?
    }

    private let prefix: String
    private var boards: [String: Board] = [:]

    init(prefix: String) {
        self.prefix = prefix
    }

    /// What one board publishes besides what is subscribed for all boards, and once more what is retained, so that the
    /// broker sends it again.
    private func filters(_ id: String) -> [BrokerView.Filter] {
        let topics = Topics(prefix: prefix, id: id)
        return [
            .init(topics.motion), .init(topics.stream), .init("\(topics.root)/near-miss"),
            .init("\(topics.root)/command/+/result", isReliable: true), .init(topics.state, isReliable: true),
            .init(topics.machine), .init(topics.health), .init(topics.reported, isReliable: true),
        ]
    }

    /// A page has opened; returns the filters to subscribe.
    mutating func open(_ id: String) -> [BrokerView.Filter] {
        let isNew = boards[id] == nil
        boards[id, default: Board()].viewers += 1
        boards[id]?.abandoned = nil
        return isNew ? filters(id) : []
    }

    /// A page has been closed.
    mutating func close(_ id: String, at now: Double) {
        boards[id]?.viewers -= 1
        if boards[id]?.viewers == 0 { boards[id]?.abandoned = now }
    }

    /// Forgets the boards at which nobody has looked for a while; returns the filters to unsubscribe.
    mutating func forget(at now: Double) -> [BrokerView.Filter] {
        var filters: [BrokerView.Filter] = []
        for (id, board) in boards {
            guard let abandoned = board.abandoned, now - abandoned >= WatchedBoards.patience else { continue }
            boards[id] = nil
            filters += self.filters(id)
        }
        return filters
    }

    /// Whether somebody looks at a board, or did a moment ago.
    func contains(_ id: String) -> Bool { boards[id] != nil }

    /// Whether nobody looks at any board.
    var isEmpty: Bool { boards.isEmpty }

    /// Keeps an event for pages that open later.
    mutating func keep(_ event: ServerSentEvent, of id: String) {
        guard boards[id] != nil else { return }
        if event.name == .gesture {
            boards[id]?.gestures.append(event)
            if let count = boards[id]?.gestures.count, count > WatchedBoards.history {
                boards[id]?.gestures.removeFirst(count - WatchedBoards.history)
            }
        } else if event.name.replacesOlder {
            boards[id]?.latest[event.name] = event
        }
    }

    /// Forgets the kept events of a board whose retained messages were removed.
    mutating func clear(_ id: String) {
        boards[id]?.latest = [:]
        boards[id]?.gestures = []
        boards[id]?.running = nil
    }

    /// Keeps an event about how long a machine has run.
    mutating func keep(_ event: ServerSentEvent, _ today: RunningHours.Today, of id: String) {
        keep(event, of: id)
        boards[id]?.running = today
    }

    /// What the kept event about the running hours says.
    func running(of id: String) -> RunningHours.Today? { boards[id]?.running }

    /// The ids of the boards.
    var ids: [String] { Array(boards.keys) }

    /// The kept events of a board: its state, then its gestures.
    func events(of id: String) -> [ServerSentEvent] {
        guard let board = boards[id] else { return [] }
        let order: [ServerSentEvent.Name] = [
            .availability, .reported, .health, .state, .machine, .attitude, .motion, .running,
        ]
        return order.compactMap { board.latest[$0] } + board.gestures
    }
}

/// Asks boards for every sample while somebody looks, by the command `stream` for half a minute, renewed in time.
///
/// A value without a clock: `due` returns what to ask now.
struct StreamLeases {
    /// Seconds for which a board is asked, and after which it is asked again.
    private static let duration = 30.0
    private static let renewal = 20.0
    /// Seconds after which a board is asked again that streams for somebody else, or has refused.
    private static let pauses = (busy: 10.0, refused: 60.0)

    /// How much an agent understands: an older one refuses arguments that it does not know.
    private enum Arguments {
        case all, withoutField, basic

        /// What to ask next an agent that refused these; `nil` if it can be asked for nothing less.
        var older: Arguments? {
            switch self {
            case .all: .withoutField
            case .withoutField: .basic
            case .basic: nil
            }
        }
    }

    private struct Lease {
        var viewers = 0
        var next: Double
        var arguments = Arguments.all
    }

    private var leases: [String: Lease] = [:]

    /// Somebody looks at a board.
    mutating func open(_ id: String, at now: Double) {
        leases[id, default: Lease(next: now)].viewers += 1
    }

    /// Somebody looks no more. What was asked for ends by itself.
    mutating func close(_ id: String) {
        leases[id]?.viewers -= 1
        if leases[id].map({ $0.viewers <= 0 }) ?? false { leases[id] = nil }
    }

    /// The board has come online: its agent knows of no stream.
    mutating func restart(_ id: String, at now: Double) { leases[id]?.next = now }

    /// The boards to ask now, with the arguments of the command.
    mutating func due(at now: Double, isOnline: (String) -> Bool) -> [(id: String, arguments: JSONObject)] {
        var due: [(id: String, arguments: JSONObject)] = []
        for (id, lease) in leases where lease.next <= now && isOnline(id) {
            var arguments = JSONObject()
            arguments.add("duration", StreamLeases.duration, decimals: 0)
            let field = lease.arguments == .all ? ["field"] : []
            arguments.add("fields", ["acceleration", "rotation", "attitude"] + field)
            if lease.arguments != .basic {
                arguments.add("interval", 0.02, decimals: 2)
                arguments.add("near_misses", true)
            }
            leases[id]?.next = now + StreamLeases.renewal
            due.append((id, arguments))
        }
        return due
    }

    /// A board has refused the command.
    mutating func refused(_ id: String, error: String, at now: Double) {
        if error == "bad_arguments", let older = leases[id]?.arguments.older {
            leases[id]?.arguments = older
            leases[id]?.next = now
            return
        }
        switch error {
        case "busy", "sensor_unavailable", "too_many": leases[id]?.next = now + StreamLeases.pauses.busy
        default: leases[id]?.next = now + StreamLeases.pauses.refused
        }
    }
}

/// A topic below a board's root, and the event of the page that carries its messages.
struct BoardTopic: Equatable {
    let board: String
    let name: ServerSentEvent.Name
    /// The gesture or the command in the topic.
    var detail = ""

    /// The events with the names of their topics.
    private static let direct: [ServerSentEvent.Name] = [
        .availability, .attitude, .motion, .state, .machine, .health, .stream, .nearMiss,
    ]

    /// Parses a topic; `nil` if it is not one that the page shows.
    init?(_ topic: String, prefix: String) {
        let separator = UInt8(ascii: "/")
        guard topic.utf8.starts(with: prefix.utf8), topic.utf8.dropFirst(prefix.utf8.count).first == separator else {
            return nil
        }
        let levels = topic.utf8.dropFirst(prefix.utf8.count + 1)
            .split(separator: separator, omittingEmptySubsequences: false).map { Substring($0) }
        guard levels.count >= 2 else { return nil }
        board = String(levels[0])
        guard JostleSettings.Device.isID(board) else { return nil }
        if levels.count == 2, let found = BoardTopic.direct.first(where: { $0.rawValue == levels[1] }) {
            name = found
        } else if levels.dropFirst() == ["config", "reported"] {
            name = .reported
        } else if levels.count == 3, levels[1] == "event" {
            name = .gesture
            detail = String(levels[2])
        } else if levels.count == 4, levels[1] == "command", levels[3] == "result" {
            name = .result
            detail = String(levels[2])
        } else {
            return nil
        }
    }
}
