internal import Glibc
package import JostleConfiguration
internal import JostleMessages
internal import JostleRuntime
package import LinuxSystem
package import MosquittoClient
package import MotionCore

/// A connection of a program for people to the configured broker: what the broker said, and what arrived.
///
/// It reconnects until it is stopped. The network thread fills it; the program takes from it, or waits.
package final class BrokerView: Sendable {
    /// The largest message of a device that is read, bytes: ten times an agent's longest.
    static let maximumMessage = 1 << 16

    /// How long a broker may leave a CONNECT of MQTT 5 unanswered: a person waits, and most commands wait for 5 s in all.
    private static let trialTimeout = Duration.seconds(2)

    /// The pause between two reads while only the newest messages are kept.
    private static let readingPause = Duration.milliseconds(250)

    /// What happened, in order.
    package enum Report: Sendable {
        case connecting(broker: String)
        case connected(broker: String, version: String)
        /// Why there is no connection, and the seconds until the next attempt.
        case failed(String, retryAfter: Double?)
        /// The broker refused a subscription.
        case refused(filter: String, reason: String)
        /// Every awaited subscription was granted or refused.
        case listening
        case message(MQTTMessage)
    }

    /// The newest message of a topic, and when it arrived.
    package struct Newest: Sendable {
        package let message: MQTTMessage
        package let arrival: Timestamp
    }

    /// A topic filter.
    package struct Filter: Hashable, Sendable {
        package var text: String
        /// Whether to ask for messages that are repeated until they are acknowledged.
        package var isReliable: Bool
        /// Whether it is no problem if the broker refuses it: nothing is reported then.
        var isOptional: Bool

        package init(_ text: String, isReliable: Bool = false, isOptional: Bool = false) {
            self.text = text
            self.isReliable = isReliable
            self.isOptional = isOptional
        }
    }

    /// What the broker has said so far.
    package struct Status: Sendable {
        package fileprivate(set) var isConnected = false
        /// The present connection, or the last one; `nil` before the first.
        package fileprivate(set) var connection: MQTTConnection?
        /// The number of connections so far.
        package fileprivate(set) var connections = 0
        /// Why the last connection ended or could not be made, in one line.
        package fileprivate(set) var lastFailure: String?
        /// How the last attempts at each broker ended since there was a connection.
        fileprivate var ends: [MosquittoClient.BrokerAddress: [MQTTDisconnection]] = [:]
        fileprivate let brokers: [MosquittoClient.BrokerAddress]
        /// The awaited filters that the broker has not answered on this connection.
        package fileprivate(set) var pending: Set<String> = []
        /// The filters that the broker refused, or that cannot be asked for.
        package fileprivate(set) var refused: [String: MQTTReason] = [:]
        /// The messages that the broker has acknowledged or refused, by their tokens.
        package fileprivate(set) var acknowledged: Set<MQTTToken> = []
        package fileprivate(set) var rejected: [MQTTToken: MQTTFailure] = [:]

        /// Whether the connection supports response topics, as MQTT 5 does.
        package var hasProperties: Bool { connection?.version == .v5 }

        /// Whether a broker refused the user, so that another attempt would not help.
        package var isBarred: Bool {
            ends.values.joined().contains {
                [.refused(.notAuthorised), .refused(.badUserNameOrPassword)].contains($0.failure)
            }
        }

        /// Whether further attempts would fail too, at each of the brokers.
        package var isHopeless: Bool {
            brokers.allSatisfy { broker in
                // An attempt after which the client tries another version of MQTT or another address shows nothing.
                let failures = ends[broker, default: []].filter { !$0.triesMore }.map(\.failure)
                return failures.contains { failure in
                    switch failure {
                    case .hostNotFound, .timedOut, .file, .refused(.badUserNameOrPassword), .refused(.notAuthorised):
                        true
                    // A name may have several addresses, and the broker may listen on one of them.
                    case .network, .tls: failures.count > 2
                    default: failures.count > 1
                    }
                }
            }
        }

        /// Of the failures since there was a connection, the one that says most.
        package var failure: MQTTFailure? {
            let failures = ends.values.joined().map(\.failure)
            // One address may refuse the connection, and another one say more.
            return failures.last { if case .network = $0 { false } else { true } } ?? failures.first
        }
    }

    fileprivate struct State {
        /// The largest size of the reports that wait to be taken, bytes.
        let capacity: Int
        var status: Status
        /// The filters whose answers are awaited, with whether their refusal is reported.
        var awaited: [String: Bool] = [:]
        var reports: [Report] = []
        /// The size of the reports.
        var bytes = 0
        var dropped = 0
        var nextToken: Int64 = 0
        /// The end of the topics of which only the newest message is kept, these messages with their arrival and size, and
        /// how many came.
        var newestEnd: String?
        var newest: [String: Newest] = [:]
        var newestBytes = 0
        var newestCount = 0
    }

    /// What a report takes in memory besides its message, bytes.
    fileprivate static let reportSize = 256

    /// The memory beyond the capacity for reports that are no messages, bytes.
    fileprivate static let reserve = 1 << 20

    /// The most failures of a broker that are kept.
    fileprivate static let mostFailures = 10

    /// Wakes the program when there are reports.
    package let wake: WakeSignal
    /// A topic for answers to this program's commands.
    let replyTopic: String
    private let client: MQTTClient
    /// The client's handler refers to it, and not to the view.
    private let state: Locked<State>

    /// Prepares a connection. `start` connects.
    ///
    /// - Parameters:
    ///   - settings: the configuration of an agent; its broker for commands is used.
    ///   - name: a part of the client id, in the place of a device's id.
    ///   - longestPause: between two attempts, s: short, because a person is waiting.
    ///   - capacity: the most bytes of messages that wait to be taken; further ones are dropped.
    ///   - queue: the most messages that wait to be sent.
    ///   - maximumMessage: the largest message that the broker may send, bytes.
    ///   - ifEmbedded: the error if the broker is embedded in an agent.
    /// - Throws: if the configuration does not lead to a broker.
    package convenience init(
        _ settings: JostleSettings, name: String, longestPause: Double = 5, capacity: Int = 8 << 20,
        queue: Int = 1000, maximumMessage: Int? = BrokerView.maximumMessage,
        ifEmbedded: BrokerError = .privateAgentBroker
    ) throws {
        let settings = settings.forCommands
        if settings.mqtt.broker == .embedded { throw ifEmbedded }
        var options = try settings.mqttOptions(
            name: "\(name)-\(RunName.new())", brokers: settings.brokers(embeddedPort: nil))
        options.backoff.cap = .seconds(longestPause)
        // The agent of a user's board comes first.
        options.backoff.takeoverFactor = 60
        options.queueCapacity = queue
        if let maximumMessage { options.maximumPacketSize = maximumMessage }
        let replyTopic = ReplyTopic.make(
            prefix: settings.mqtt.prefix, requester: settings.requester(userName: options.credentials?.userName),
            run: RunName.new())
        try self.init(options, replyTopic: replyTopic, capacity: capacity)
    }

    /// Prepares a connection with these options.
    ///
    /// - Throws: if they are invalid.
    package init(_ options: MQTTOptions, replyTopic: String = "", capacity: Int = 8 << 20) throws {
        guard let wake = WakeSignal() else { throw MQTTError.system("eventfd", code: errno) }
        var options = options
        options.trialTimeout = BrokerView.trialTimeout
        let state = Locked(State(capacity: capacity, status: Status(brokers: options.brokers)))
        options.takesMessage = { message in
            guard let isMuch = state.withLock({ $0.takeNewest(message) }) else { return false }
            if isMuch { wake.signal() }
            return true
        }
        client = try MQTTClient(options: options) { event in
            state.withLock { $0.note(event) }
            wake.signal()
        }
        self.wake = wake
        self.replyTopic = replyTopic
        self.state = state
    }

    deinit {
        stop()
    }

    /// Connects.
    package func start() throws { try client.start() }

    /// Ends the connection.
    package func stop() { _ = client.stop(within: .milliseconds(300)) }

    package var status: Status { state.withLock { $0.status } }

    /// The counters of the connection.
    package var statistics: MQTTStatistics { client.statistics }

    // MARK: Subscriptions

    /// Subscribes, or subscribes again to get the retained messages again.
    ///
    /// With `awaitsAnswer`, `status` and reports tell what the broker says.
    package func subscribe(to filters: [Filter], awaitsAnswer: Bool = true) throws {
        for filter in filters {
            if awaitsAnswer {
                state.withLock { state in
                    state.awaited[filter.text] = !filter.isOptional
                    state.status.pending.insert(filter.text)
                    state.status.refused[filter.text] = nil
                }
            }
            try client.subscribe(to: filter.text, qos: filter.isReliable ? .atLeastOnce : .atMostOnce)
        }
    }

    /// Ends subscriptions.
    package func unsubscribe(from filters: [Filter]) {
        for filter in filters { client.unsubscribe(from: filter.text) }
        state.withLock { state in
            for filter in filters {
                state.awaited[filter.text] = nil
                state.status.pending.remove(filter.text)
            }
        }
    }

    // MARK: Messages

    /// Publishes a message.
    ///
    /// - Returns: the token under which `status` tells the broker's answer.
    package func publish(_ message: MQTTMessage) throws(MQTTError) -> MQTTToken {
        let token = state.withLock { state in
            defer { state.nextToken += 1 }
            return MQTTToken(state.nextToken)
        }
        try client.publish(message, token: token)
        return token
    }

    /// Publishes a message whose outcome nobody waits for.
    package func send(_ message: MQTTMessage) throws(MQTTError) { try client.publish(message) }

    /// A message to a device, in the name of this user. After `lifetime` seconds without a taker, the broker drops it: a
    /// command that waits longer does something that nobody expects any more.
    package static func request(_ topic: String, _ payload: [UInt8], lifetime: Double = 10) -> MQTTMessage {
        var message = MQTTMessage(topic: topic, payload: payload, qos: .atLeastOnce, retain: false)
        message.properties.userProperties = [MQTTMessage.UserProperty("from", "jostle@\(DeviceName.hostName())")]
        message.properties.messageExpiry = UInt32(max(1, min(lifetime, 3600).rounded(.up)))
        return message
    }

    /// Returns and removes the reports since the last call, in order, with the number of dropped ones.
    package func takeReports() -> (reports: [Report], dropped: Int) {
        state.withLock { state in
            defer {
                state.reports = []
                state.bytes = 0
                state.dropped = 0
            }
            return (state.reports, state.dropped)
        }
    }

    /// From now on, keeps only the newest message of each topic that ends so, and wakes nobody for it until they take a
    /// quarter of the capacity. As nobody looks then, what arrives is read a few times a second. `nil` keeps all.
    package func keepNewest(ofTopicsEndingWith end: String?) {
        state.withLock { $0.newestEnd = end }
        client.pauseReading(for: end == nil ? nil : BrokerView.readingPause)
    }

    /// Returns and removes the messages of which only the newest were kept, with their arrival; and how many came.
    package func takeNewest() -> (messages: [Newest], count: Int) {
        state.withLock { state in
            defer { (state.newest, state.newestBytes, state.newestCount) = ([:], 0, 0) }
            return (Array(state.newest.values), state.newestCount)
        }
    }

    /// Waits until `isDone`, which takes the reports, or until the deadline. It is asked again after each event.
    ///
    /// - Throws: `interrupted` if a signal arrives.
    package func wait(until deadline: Timestamp, _ signals: SignalWaiter, _ isDone: () throws -> Bool) throws {
        while try !isDone() {
            let rest = deadline.remaining(at: WallClock.monotonic)
            guard rest > 0 else { return }
            if signals.wait(seconds: rest, or: wake) { throw BrokerError.interrupted }
        }
    }
}

// MARK: From the network thread

extension BrokerView.State {
    /// Keeps a message in the place of the last one, if its topic is one of those; returns whether the program must be woken,
    /// before what is kept takes the room of what happens next, or `nil` if the message is another one.
    fileprivate mutating func takeNewest(_ message: MQTTMessage) -> Bool? {
        guard let newestEnd, message.topic.hasSuffix(newestEnd) else {
            if !newest.isEmpty, let old = newest.removeValue(forKey: message.topic) {
                newestBytes -= size(of: old.message)
            }
            return nil
        }
        guard bytes + newestBytes + size(of: message) <= capacity else {
            dropped += 1
            return newestBytes > capacity / 4
        }
        newestCount += 1
        newestBytes += size(of: message)
        let new = BrokerView.Newest(message: message, arrival: WallClock.monotonic)
        if let old = newest.updateValue(new, forKey: message.topic) {
            newestBytes -= size(of: old.message)
        }
        return newestBytes > capacity / 4
    }

    private func size(of message: MQTTMessage) -> Int {
        message.payload.count + message.topic.utf8.count + BrokerView.reportSize
    }

    fileprivate mutating func note(_ event: MQTTEvent) {
        switch event {
        case .connecting(let broker, _): add(.connecting(broker: "\(broker)"))
        case .connected(let connection):
            status.isConnected = true
            status.connection = connection
            status.connections += 1
            status.ends = [:]
            status.pending = Set(awaited.keys)
            add(.connected(broker: "\(connection.broker)", version: "\(connection.version)"))
        case .subscribed(let filter, _): settle(filter)
        case .subscriptionRefused(let filter, let reason): refuse(filter, reason, "\(reason)")
        case .subscriptionLeftOut(let filter, let omission): refuse(filter, omission.reason, "\(omission)")
        case .message(let message): add(.message(message), message.payload.count + message.topic.utf8.count)
        case .acknowledged(let token): status.acknowledged.insert(token)
        case .rejected(let token, _, let failure): if let token { status.rejected[token] = failure }
        case .disconnected(let end):
            status.isConnected = false
            var ends = status.ends[end.broker, default: []]
            if ends.count == BrokerView.mostFailures { ends.removeFirst() }
            status.ends[end.broker] = ends + [end]
            var advice = end.advice.map { "; \($0)" } ?? ""
            if end.isTakeover { advice += ", or set mqtt.command_broker to a port that admits a user twice" }
            let reason = ForeignText.oneLine("\(end.broker): \(end.failure)\(advice)")
            status.lastFailure = reason
            add(.failed(reason, retryAfter: end.retryAfter.map { $0 / .seconds(1) }))
        case .subscriptionRestored, .stopped: break
        }
    }

    private mutating func refuse(_ filter: String, _ reason: MQTTReason, _ text: String) {
        guard let isReported = awaited[filter] else { return }
        status.refused[filter] = reason
        if isReported { add(.refused(filter: filter, reason: text)) }
        settle(filter)
    }

    private mutating func settle(_ filter: String) {
        guard status.pending.remove(filter) != nil, status.pending.isEmpty else { return }
        add(.listening)
    }

    private mutating func add(_ report: BrokerView.Report, _ size: Int = 0) {
        // What happens to the connection is not lost behind messages.
        let limit = if case .message = report { capacity } else { capacity + BrokerView.reserve }
        let size = size + BrokerView.reportSize
        guard bytes + newestBytes + size <= limit else {
            dropped += 1
            return
        }
        reports.append(report)
        bytes += size
    }
}
