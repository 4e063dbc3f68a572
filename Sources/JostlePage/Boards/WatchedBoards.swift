internal import JostleMessages
internal import JostleOperator
internal import MosquittoClient

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
    private func filters(_ id: String) -> [WatchListener.Filter] {
        let topics = Topics(prefix: prefix, id: id)
        return [
            .init(topics.motion), .init(topics.stream), .init("\(topics.root)/near-miss"),
            .init("\(topics.root)/command/+/result", isReliable: true), .init(topics.state, isReliable: true),
            .init(topics.health), .init(topics.reported, isReliable: true),
        ]
    }

    /// A page has opened; returns the filters to subscribe.
    mutating func open(_ id: String) -> [WatchListener.Filter] {
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
    mutating func forget(at now: Double) -> [WatchListener.Filter] {
        var filters: [WatchListener.Filter] = []
        for (id, board) in boards {
            guard let abandoned = board.abandoned, now - abandoned >= WatchedBoards.patience else { continue }
            boards[id] = nil
            filters += self.filters(id)
        }
        return filters
    }

    /// Whether somebody looks at a board, or did a moment ago.
    func contains(_ id: String) -> Bool { boards[id] != nil }

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
            .availability, .reported, .health, .state, .attitude, .motion, .running,
        ]
        return order.compactMap { board.latest[$0] } + board.gestures
    }
}
