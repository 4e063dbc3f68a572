internal import JostleMessages
internal import MosquittoClient

/// Brokers hold back or drop retained messages if there are very many for one subscription.
///
/// mosquitto drops what exceeds `max_queued_messages`, 1,000 by default, and does not say so. What is missing would look
/// like something that does not exist.
extension FleetSession {
    /// What is known about missing messages.
    package enum Gaps: Sendable {
        case none
        /// A filter brought so many messages that others may be missing.
        case possible
        /// Reports were missing, or as many messages came as a broker sends by default.
        case likely
    }

    /// The fewest messages for one filter after which others may be missing: mosquitto's default.
    private static let suspicious = 1000

    /// Messages that mosquitto sends by default beyond those that it queues.
    private static let inFlight = 40

    /// The most topics that are subscribed to at a time.
    private static let batch = 200

    /// Counts the retained messages by filter.
    func count(_ messages: [MQTTMessage]) {
        for message in messages where message.retain {
            for filter in documentFilters + boardFilters
            where MQTTTopic.matches(message.topic, filter: filter) {
                retainedCounts[filter, default: 0] += 1
            }
        }
    }

    /// Reads what is missing of the devices that are known, each by its own topic.
    func fillGaps() throws(FleetSessionError) {
        guard let most = retainedCounts.values.max(), most >= FleetSession.suspicious else { return }
        gaps = .possible
        let isLimit = { (count: Int) in count <= FleetSession.suspicious + FleetSession.inFlight }
        if retainedCounts.values.contains(where: { $0 >= FleetSession.suspicious && isLimit($0) }) { gaps = .likely }
        var missing: [String] = []
        for board in model.allBoards {
            if board.isOnline == nil { missing.append(Topics(prefix: topics.prefix, id: board.id).availability) }
            if board.report == nil { missing.append(topics.reported(board.id)) }
        }
        let before = model.boards.values.filter { $0.report != nil }.count
        try read(topics: missing)
        if model.boards.values.filter({ $0.report != nil }).count > before { gaps = .likely }
    }

    /// Reads documents by their own topics if they may be missing from the model.
    package func complete(_ documents: [FleetDocumentID]) throws(FleetSessionError) {
        if gaps != .none { try read(documents) }
    }

    /// Reads retained messages by their own topics.
    func read(topics: [String]) throws(FleetSessionError) {
        var rest = topics[...]
        while !rest.isEmpty {
            let filters = Array(rest.prefix(FleetSession.batch))
            rest = rest.dropFirst(FleetSession.batch)
            try subscribe(to: filters)
            try settle()
            for filter in filters where !documentFilters.contains(filter) { unsubscribe(from: filter) }
        }
    }
}
