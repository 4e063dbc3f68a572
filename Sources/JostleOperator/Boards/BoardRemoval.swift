package import JostleMessages
package import MosquittoClient

/// What a broker retains of a board, and in which order it is removed.
///
/// A value without a connection: its owner subscribes, passes on what arrives, and publishes.
package struct BoardRemoval: Sendable {
    /// The most topics that are kept: more than a board with all its announcements has.
    private static let limit = 1000

    /// What has to be subscribed.
    package let filters: [String]

    private let discoveryStart: String
    private let registry: String
    private var found: Set<String> = []

    /// Prepares the removal of the board `id`, whose announcements to Home Assistant are under `discoveryPrefix`.
    package init(of id: String, _ topics: FleetTopics, discoveryPrefix: String) {
        registry = topics.registry(id)
        discoveryStart = "\(discoveryPrefix)/"
        filters = ["\(topics.prefix)/\(id)/#", registry, "\(discoveryPrefix)/+/\(id)/#"]
    }

    /// Takes a message; returns whether it was retained, and is one of the board. What the broker forwards empty is removed.
    @discardableResult
    package mutating func take(_ message: MQTTMessage) -> Bool {
        guard filters.contains(where: { MQTTTopic.matches(message.topic, filter: $0) }) else { return false }
        if message.payload.isEmpty {
            found.remove(message.topic)
        } else if message.retain, found.count < BoardRemoval.limit {
            found.insert(message.topic)
        }
        return message.retain
    }

    /// The topics with retained messages, in the order in which they are removed: Home Assistant removes its entities before
    /// they are told that they have no state.
    package var topics: [String] {
        found.filter { $0.hasPrefix(discoveryStart) }.sorted() + found.filter { !$0.hasPrefix(discoveryStart) }.sorted()
    }

    /// The same without the groups, which the fleet gave to the board.
    package var ownTopics: [String] { topics.filter { $0 != registry } }

    /// Whether the broker holds groups of the board.
    package var hasGroups: Bool { found.contains(registry) }

    /// The message that removes what is retained on a topic.
    package static func message(clearing topic: String) -> MQTTMessage {
        MQTTMessage(topic: topic, payload: [], qos: .atLeastOnce, retain: true)
    }
}
