internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import MosquittoClient
internal import MotionCore
internal import Synchronization

/// Connects to one broker as the agent does, but with a client id of its own, and tries what the agent does there.
///
/// Its messages are empty. They are not retained, or remove a retained message that nobody has published.
final class BrokerProbe {
    /// What was learnt.
    struct Outcome {
        /// The connection; `nil` if there was none.
        var connection: MQTTConnection?
        /// Why there is no connection.
        var failure: MQTTFailure?
        /// The filters and topics that the broker refused, with its reasons.
        var refusals: [Refusal] = []
        /// Whether the test message came back: the device may read its own topics.
        var hasEcho = false
        /// Whether somebody reads discovery messages; `nil` if the broker does not say.
        var hasDiscoveryReader: Bool?
        /// What the agent has published.
        var device: WatchedDevice
    }

    /// A subscription or a message that the broker refused.
    struct Refusal: Equatable {
        var topic: String
        var reason: String
    }

    /// The longest time that the parts of the test may take, s. The connection has a time limit of its own.
    private static let answerTime = 5.0
    private static let echoTime = 2.0
    private static let readingTime = 6.0

    private let client: MQTTClient<Token>
    private let inbox: Inbox
    private let topics: Topics
    private let discoveryPrefix: String?
    private let signals: SignalWaiter

    /// Prepares a probe. `options` are the agent's, for this broker alone.
    ///
    /// - Throws: `MQTTError` if the options are invalid.
    init(_ options: MQTTOptions, _ settings: JostleSettings, id: String, signals: SignalWaiter) throws(MQTTError) {
        topics = Topics(prefix: settings.mqtt.prefix, id: id)
        discoveryPrefix = settings.homeAssistant.discovery ? settings.homeAssistant.prefix : nil
        let inbox = Inbox(
            echo: "\(topics.events)doctor", model: WatchModel(prefix: settings.mqtt.prefix, onlyDevice: id))
        client = try MQTTClient<Token>(options: options) { inbox.take($0) }
        self.inbox = inbox
        self.signals = signals
    }

    /// Runs the test, which blocks for some seconds.
    ///
    /// - Throws: status 75 if the user interrupts.
    func run(id: String) throws(CommandFailure) -> Outcome {
        let filters = [inbox.echo] + topics.retained
        do throws(MQTTError) {
            for filter in filters { try client.subscribe(to: filter, qos: .atLeastOnce) }
            try client.start()
        } catch {
            throw CommandFailure(.configuration, "\(error)")
        }
        defer { _ = client.stop(within: .milliseconds(500)) }
        try wait(30) { $0.connection != nil || $0.isHopeless }
        guard inbox.seen.connection != nil else { return outcome(id) }
        try wait(Self.answerTime) { $0.answered.count >= filters.count }
        // Retained messages follow the answers. An agent that has just connected has not sent its report yet.
        try wait(0.5) { $0.model.devices[id]?.isOnline != nil }
        if inbox.seen.model.devices[id]?.isOnline == true {
            try wait(Self.answerTime) { $0.model.devices[id]?.health != nil }
        }
        try testEvents()
        try testDiscovery(id)
        return outcome(id)
    }

    private func outcome(_ id: String) -> Outcome {
        let seen = inbox.seen
        return Outcome(
            connection: seen.connection, failure: seen.failure, refusals: seen.refusals, hasEcho: seen.hasEcho,
            hasDiscoveryReader: seen.hasDiscoveryReader, device: seen.model.devices[id] ?? seen.model.emptyDevice(id))
    }

    /// Publishes like an event, and waits until it comes back.
    private func testEvents() throws(CommandFailure) {
        try publish(MQTTMessage(topic: inbox.echo, payload: [], qos: .atLeastOnce), .echo)
        guard inbox.seen.results[.echo] == true else { return }
        try wait(Self.echoTime) { $0.hasEcho }
    }

    /// Whether somebody reads discovery messages. MQTT 5 brokers may say of a message that nobody subscribes to its topic.
    /// A message that nobody can want shows whether this one says so.
    private func testDiscovery(_ id: String) throws(CommandFailure) {
        guard let discoveryPrefix else { return }
        let control = MQTTMessage(topic: "\(topics.events)nobody", payload: [], qos: .atLeastOnce)
        guard try isUnmatched(control, .control) == true else { return }
        let topic = "\(discoveryPrefix)/sensor/\(id)/doctor/config"
        let message = MQTTMessage(topic: topic, payload: [], qos: .atLeastOnce, retain: true)
        guard var isUnread = try isUnmatched(message, .discovery) else { return }
        // In its first seconds, the agent itself reads what the broker holds.
        if !isUnread, let device = inbox.seen.model.devices[id], device.isOnline == true,
            device.health?.uptime ?? 0 < 60
        {
            try wait(Self.readingTime) { _ in false }
            isUnread = try isUnmatched(message, .discoveryAgain) ?? false
        }
        inbox.found(discoveryReader: !isUnread)
    }

    /// Whether the broker says that nobody subscribes to the topic; `nil` if it refused the message.
    private func isUnmatched(_ message: MQTTMessage, _ token: Token) throws(CommandFailure) -> Bool? {
        let before = client.statistics.unmatched
        try publish(message, token)
        guard inbox.seen.results[token] == true else { return nil }
        return client.statistics.unmatched > before
    }

    /// Publishes a message and waits for the broker's answer.
    private func publish(_ message: MQTTMessage, _ token: Token) throws(CommandFailure) {
        do throws(MQTTError) {
            try client.publish(message, token: token)
        } catch {
            // The connection has just ended, which the outcome shows.
            return
        }
        try wait(Self.answerTime) { $0.results[token] != nil }
    }

    /// Waits until `isDone`, at most some seconds.
    private func wait(_ seconds: Double, _ isDone: (Inbox.Seen) -> Bool) throws(CommandFailure) {
        let deadline = WallClock.monotonic.advanced(bySeconds: seconds)
        while !isDone(inbox.seen), WallClock.monotonic < deadline {
            if signals.wait(seconds: 0.01) { throw CommandFailure(.temporary, "interrupted") }
        }
    }
}

// MARK: - Events

extension BrokerProbe {
    /// The messages of the test.
    enum Token: Hashable, Sendable {
        case echo
        case control
        case discovery
        case discoveryAgain
    }

    /// What the client reports: written by the network thread, read by the waiting caller.
    final class Inbox: Sendable {
        struct Seen: Sendable {
            var connection: MQTTConnection?
            var failure: MQTTFailure?
            var failures = 0
            /// The filters that the broker has answered.
            var answered: Set<String> = []
            var refusals: [Refusal] = []
            /// Whether a message was accepted.
            var results: [Token: Bool] = [:]
            var hasEcho = false
            var hasDiscoveryReader: Bool?
            var model: WatchModel

            /// Whether another attempt would fail too. The first one may only show that the broker speaks MQTT 3.1.1.
            var isHopeless: Bool {
                switch failure {
                case nil: false
                case .hostNotFound, .timedOut, .file, .refused(.badUserNameOrPassword), .refused(.notAuthorised): true
                // A name may have several addresses, and the broker may listen on one of them.
                case .network, .tls: failures > 2
                default: failures > 1
                }
            }
        }

        /// The topic of the message that comes back.
        let echo: String
        private let state: Mutex<Seen>

        init(echo: String, model: WatchModel) {
            self.echo = echo
            state = Mutex(Seen(model: model))
        }

        var seen: Seen { state.withLock { $0 } }

        func found(discoveryReader: Bool) {
            state.withLock { $0.hasDiscoveryReader = discoveryReader }
        }

        func take(_ event: MQTTEvent<Token>) {
            state.withLock { seen in
                switch event {
                case .connected(let connection): seen.connection = connection
                case .subscribed(let filter, _): seen.answered.insert(filter)
                case .subscriptionRefused(let filter, let reason):
                    seen.answered.insert(filter)
                    seen.refusals.append(Refusal(topic: filter, reason: "\(reason)"))
                case .subscriptionLeftOut(let filter, let omission):
                    seen.answered.insert(filter)
                    seen.refusals.append(Refusal(topic: filter, reason: "\(omission)"))
                case .message(let message):
                    if message.topic == echo, !message.retain { seen.hasEcho = true }
                    _ = seen.model.update(with: message, at: WallClock.monotonic)
                case .acknowledged(let token): seen.results[token] = true
                case .rejected(let token, let topic, let failure):
                    if let token { seen.results[token] = false }
                    seen.refusals.append(Refusal(topic: topic, reason: failure.messageDescription))
                case .refused(let end), .disconnected(let end):
                    seen.failures += 1
                    // One address may refuse the connection, and another one say more.
                    if case .network = end.failure, seen.failure != nil { break }
                    seen.failure = end.failure
                case .connecting, .subscriptionRestored, .stopped: break
                }
            }
        }
    }
}
