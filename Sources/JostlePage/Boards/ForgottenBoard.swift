internal import Documents
internal import JostleMessages
internal import JostleOperator
internal import MosquittoClient

/// Removes what the broker retains of a board, as `jostle fleet forget` does, but for the groups that the fleet gave to it.
///
/// It never waits: the server passes on what arrives, and calls `advance` again and again until there is an outcome.
struct ForgottenBoard {
    /// Seconds: without a retained message, after which all have arrived; the longest that reading and removing may take.
    private static let times = (quiet: 0.5, reading: 10.0, removing: 5.0)
    /// The most topics that an outcome names.
    private static let mostNamed = 5

    /// What became of it.
    struct Outcome: Equatable {
        /// How many messages were removed.
        var removed = 0
        /// Whether the broker holds groups of the board, which stay.
        var hasGroups = false
        /// Why something is still there, or all; `nil` if nothing is.
        var failure: String?

        /// The answer for the page.
        var json: JSONObject {
            var object = JSONObject()
            object.add("ok", failure == nil)
            if failure != nil { object.add("error", "not_removed") }
            object.add("message", failure)
            object.add("removed", Int64(removed))
            object.add("groups", hasGroups)
            return object
        }
    }

    let id: String
    private let view: BrokerView
    private let connection: Int
    private var removal: BoardRemoval
    /// When what was asked for is complete, if nothing comes until then, and when it takes too long; seconds.
    private var quiet: Double
    private var end: Double
    /// How many messages there were, and those that were sent to remove them; `nil` while they are read.
    private var all = 0
    private var sent: [String: MQTTToken]?

    /// Asks the broker for what it retains.
    ///
    /// - Throws: why the broker cannot be asked.
    init(_ id: String, _ topics: FleetTopics, discoveryPrefix: String, _ view: BrokerView, at now: Double) throws {
        self.id = id
        self.view = view
        connection = view.status.connections
        removal = BoardRemoval(of: id, topics, discoveryPrefix: discoveryPrefix)
        quiet = now + ForgottenBoard.times.quiet
        end = now + ForgottenBoard.times.reading
        try view.subscribe(to: filters)
    }

    private var filters: [BrokerView.Filter] {
        removal.filters.map { BrokerView.Filter($0, isReliable: true, isOptional: true) }
    }

    /// Takes a message of the broker.
    mutating func take(_ message: MQTTMessage, at now: Double) {
        if removal.take(message) { quiet = now + ForgottenBoard.times.quiet }
    }

    /// Goes on. `isOnline`: whether the board is online by now.
    ///
    /// - Returns: what became of it; `nil` if it is not over.
    mutating func advance(at now: Double, isOnline: Bool) -> Outcome? {
        let status = view.status
        guard status.isConnected, status.connections == connection else {
            return finish("the connection to the broker was lost")
        }
        if let sent {
            let refused = removal.ownTopics.compactMap { topic in
                sent[topic].flatMap { status.rejected[$0] }.map { "\(topic): \($0.messageDescription)" }
            }
            let left = removal.ownTopics.count
            guard left == 0 || refused.count == left || now >= end else { return nil }
            // A broker with MQTT 3.1.1 does not say what it denies: it only does not do it.
            let silent = removal.ownTopics.filter { sent[$0].map { status.rejected[$0] == nil } ?? true }
                .map { "\($0): the broker has not removed it" }
            return finish(left == 0 ? nil : ForgottenBoard.list(refused + silent))
        }
        if isOnline { return finish("it is online again") }
        if let filter = removal.filters.first(where: { status.refused[$0] != nil }) {
            return finish("the broker does not permit reading \(filter)")
        }
        guard status.pending.isDisjoint(with: removal.filters) else {
            quiet = now + ForgottenBoard.times.quiet
            return now >= end ? finish("the broker does not answer") : nil
        }
        guard now >= min(quiet, end) else { return nil }
        remove(at: now)
        return nil
    }

    private mutating func remove(at now: Double) {
        end = now + ForgottenBoard.times.removing
        all = removal.ownTopics.count
        var tokens: [String: MQTTToken] = [:]
        for topic in removal.ownTopics {
            do {
                tokens[topic] = try view.publish(BoardRemoval.message(clearing: topic))
            } catch {
                // What finds no room in the queue is still there at the end.
                break
            }
        }
        sent = tokens
    }

    private func finish(_ reason: String?) -> Outcome {
        view.unsubscribe(from: filters)
        let left = removal.ownTopics.count
        let removed = sent == nil ? 0 : all - left
        let failure = reason.map { reason in
            removed == 0
                ? "\(id) is not forgotten: \(reason)"
                : "\(removed) of \(all) messages of \(id) were removed, and \(left) were not: \(reason)"
        }
        return Outcome(removed: removed, hasGroups: removal.hasGroups, failure: failure)
    }

    private static func list(_ reasons: [String]) -> String {
        let more = reasons.count - mostNamed
        return reasons.prefix(mostNamed).joined(separator: "; ") + (more > 0 ? "; and \(more) more" : "")
    }
}
