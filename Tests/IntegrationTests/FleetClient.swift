import BrokerTestSupport
import MosquittoClient
import Synchronization
import Testing

/// A client of a `FleetBroker`, which subscribes to everything and stores what it receives.
final class FleetClient: Sendable {
    private let client: MQTTClient
    private let log: Log

    private final class Log: Sendable {
        let entries = Mutex(Entries())
    }

    private struct Entries {
        var connections = 0
        var losses = 0
        var isRefused = false
        var subscribed: Set<String> = []
        var messages: [MQTTMessage] = []
        var sent: Int64 = 0
        var answered: Int64 = 0
        var rejected: Set<String> = []
    }

    /// Starts to connect.
    init(_ options: MQTTOptions) throws {
        let log = Log()
        self.log = log
        client = try MQTTClient(options: options) { event in
            log.entries.withLock { entries in
                switch event {
                case .connected: entries.connections += 1
                case .disconnected(let end):
                    if case .refused = end.failure {
                        entries.isRefused = true
                    } else {
                        entries.losses += end.wasConnected ? 1 : 0
                    }
                case .subscribed(let filter, _): entries.subscribed.insert(filter)
                case .message(let message): entries.messages.append(message)
                case .acknowledged: entries.answered += 1
                case .rejected(_, let topic, _):
                    entries.answered += 1
                    entries.rejected.insert(topic)
                case .connecting, .subscriptionRefused, .subscriptionLeftOut, .subscriptionRestored, .stopped: break
                }
            }
        }
        for filter in FleetClient.filters { try client.subscribe(to: filter, qos: .atLeastOnce) }
        try client.start()
    }

    private static let filters: Set = ["#", "$SYS/#"]

    /// Waits for the subscriptions.
    func connected() async throws -> FleetClient {
        try #require(await eventually { log.entries.withLock { $0.subscribed == FleetClient.filters } })
        return self
    }

    /// How often the broker has accepted the connection, and how often it has ended an accepted one.
    var connections: Int { log.entries.withLock { $0.connections } }
    var losses: Int { log.entries.withLock { $0.losses } }

    /// Whether the broker has refused a connection.
    var isRefused: Bool { log.entries.withLock { $0.isRefused } }

    func publish(_ topic: String, _ text: String = "x", retain: Bool = false) throws {
        let number = log.entries.withLock { entries in
            entries.sent += 1
            return entries.sent
        }
        try client.publish(
            MQTTMessage(topic: topic, text: text, qos: .atLeastOnce, retain: retain), token: MQTTToken(number))
    }

    /// Waits until the broker has answered every message.
    func settled() async -> Bool { await eventually { log.entries.withLock { $0.answered == $0.sent } } }

    /// The topics of messages that the broker said it had rejected, as it does with MQTT 5.
    var rejected: Set<String> { log.entries.withLock { $0.rejected } }

    var messages: [MQTTMessage] { log.entries.withLock { $0.messages } }

    /// The topics of the messages received.
    var topics: Set<String> { Set(messages.map(\.topic)) }

    /// The topics of the messages with this text.
    func topics(of text: String) -> Set<String> {
        Set(messages.filter { String(decoding: $0.payload, as: UTF8.self) == text }.map(\.topic))
    }

    /// Waits for a message on a topic.
    func receives(_ topic: String) async -> Bool { await eventually { topics.contains(topic) } }

    func end() { _ = client.stop(within: .milliseconds(300)) }
}
