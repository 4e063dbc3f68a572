package import Documents
package import JostleConfiguration
package import JostleMessages
internal import MosquittoClient
internal import MotionCore
internal import Synchronization

/// Sends one command to a running agent over MQTT, waits for its answer and collects its events.
///
/// Meant for a command line: it blocks the caller's thread until a deadline or a signal.
package final class RemoteDevice {
    /// Seconds after which the broker discards an undelivered command, because the caller has stopped waiting for it.
    private static let expiry: UInt32 = 10

    /// Seconds within which retained messages arrive.
    private static let retainedTime = 1.0

    /// Seconds between two polls of the inbox.
    private static let pause = 0.02

    private let id: String
    private let topics: Topics
    private let replyTopic: String
    private let client: MQTTClient<Never>
    private let inbox: RemoteInbox
    private let filters: [String]

    /// Prepares a connection to the agent `id` over the configured broker. `request` connects.
    ///
    /// - Throws: if the configuration does not lead to a broker.
    package init(id: String, settings: JostleSettings) throws {
        let settings = settings.forCommands
        if settings.mqtt.broker == .embedded { throw BrokerError.privateAgentBroker }
        let runName = RunName.new()
        let options = try settings.mqttOptions(
            clientID: "ask-\(runName)", brokers: settings.brokers(embeddedPort: nil))
        topics = Topics(prefix: settings.mqtt.prefix, id: id)
        replyTopic = ReplyTopic.make(
            prefix: settings.mqtt.prefix, requester: settings.requester(userName: options.credentials?.userName),
            run: runName)
        filters = ["\(topics.events)#", topics.availability, replyTopic]
        let inbox = RemoteInbox(topics: topics)
        client = try MQTTClient<Never>(options: options) { inbox.handle($0) }
        for filter in filters { try client.subscribe(to: filter, qos: .atLeastOnce) }
        self.id = id
        self.inbox = inbox
    }

    deinit {
        _ = client.stop(within: .milliseconds(300))
    }

    /// Connects, sends a command and waits for the answer, at most `seconds` in all. Call it once.
    ///
    /// - Throws: if no answer arrives. A refused command is an answer, not an error.
    package func request(
        _ command: String, _ arguments: JSONObject, within seconds: Double, signals: SignalWaiter
    ) throws -> RemoteAnswer {
        let deadline = WallClock.monotonic.advanced(bySeconds: seconds)
        let result = topics.result(of: command)
        // MQTT 3.1.1 has no response topics: there the answer goes to the command's public result topic.
        try connect(subscribingTo: result, until: deadline, signals)

        var message = MQTTMessage(
            topic: topics.command(command), payload: arguments.bytes, qos: .atLeastOnce, retain: false)
        let correlationData = Array(replyTopic.utf8)
        message.properties.messageExpiry = RemoteDevice.expiry
        message.properties.responseTopic = replyTopic
        message.properties.correlationData = correlationData
        message.properties.userProperties = [MQTTMessage.UserProperty("from", "jostle@\(DeviceName.hostName())")]
        if inbox.seen.hasProperties {
            inbox.expectAnswer(on: replyTopic, correlationData: correlationData)
        } else {
            inbox.expectAnswer(on: result, correlationData: nil)
        }
        try publish(message)
        try wait(until: deadline, signals) { $0.answer != nil }
        if let answer = inbox.seen.answer { return try RemoteAnswer(answer) }
        throw try silence(signals)
    }

    private func publish(_ message: MQTTMessage) throws {
        do { try client.publish(message) } catch { throw BrokerError.notConnected("\(error)") }
    }

    /// Why no answer came. If the broker knows no such device, the error names those that it knows.
    private func silence(_ signals: SignalWaiter) throws -> BrokerError {
        let availability = inbox.seen.availability
        guard availability == nil else { return .silent(id: id, availability: availability) }
        let filter = topics.everyAvailability
        do {
            try client.subscribe(to: filter, qos: .atLeastOnce)
        } catch {
            return .silent(id: id, availability: nil)
        }
        // A user may be allowed to see only this device; then nothing arrives.
        let deadline = WallClock.monotonic.advanced(bySeconds: RemoteDevice.retainedTime)
        try wait(until: deadline, signals) { $0.refused?.filter == filter }
        return .unknown(id: id, known: inbox.seen.known.sorted())
    }

    /// Removes values that were set over MQTT, and waits until the device reports it, at most `seconds` in all. Call it
    /// once, instead of `request`.
    ///
    /// - Returns: the values that are in force then, by their keys.
    /// - Throws: if the device is not online, or does not confirm.
    package func clear(
        _ keys: [String], within seconds: Double, signals: SignalWaiter
    ) throws -> [String: JSONValue] {
        let deadline = WallClock.monotonic.advanced(bySeconds: seconds)
        try connect(subscribingTo: topics.reported, until: deadline, signals)
        // Both are retained, so they arrive at once or not at all.
        let patience = min(deadline, WallClock.monotonic.advanced(bySeconds: RemoteDevice.retainedTime))
        try wait(until: patience, signals) { $0.availability != nil && $0.report != nil }
        guard inbox.seen.availability == "online" else {
            throw BrokerError.silent(id: id, availability: inbox.seen.availability)
        }
        for key in keys {
            var message = MQTTMessage(topic: topics.set(key), payload: [], qos: .atLeastOnce, retain: false)
            message.properties.messageExpiry = RemoteDevice.expiry
            message.properties.userProperties = [
                MQTTMessage.UserProperty("from", "jostle@\(DeviceName.hostName())")
            ]
            try publish(message)
        }
        try wait(until: deadline, signals) { RemoteDevice.settings($0, without: keys) != nil }
        guard let settings = RemoteDevice.settings(inbox.seen, without: keys) else {
            throw BrokerError.silent(id: id, availability: "online")
        }
        return Dictionary(
            settings.values.filter { keys.contains($0.key) }.map { ($0.key, $0.value) },
            uniquingKeysWith: { _, last in last })
    }

    /// The reported settings, if none of the keys was set at home; `nil` without such a report.
    private static func settings(_ seen: RemoteInbox.Seen, without keys: [String]) -> BoardReport.Settings? {
        guard let report = seen.report, let settings = try? BoardReport(reading: report).settings() else { return nil }
        return keys.allSatisfy { settings.origins[$0] != "local" } ? settings : nil
    }

    /// Connects, and waits until all subscriptions are granted.
    private func connect(
        subscribingTo topic: String, until deadline: Timestamp, _ signals: SignalWaiter
    ) throws {
        try client.subscribe(to: topic, qos: .atLeastOnce)
        try client.start()
        let filters = Set(filters + [topic])
        try wait(until: deadline, signals) {
            $0.isConnected && ($0.refused != nil || $0.granted.isSuperset(of: filters))
        }
        let seen = inbox.seen
        if let refused = seen.refused {
            throw BrokerError.notAllowed(filter: refused.filter, reason: "\(refused.reason)")
        }
        guard seen.isConnected, seen.granted.isSuperset(of: filters) else {
            throw BrokerError.notConnected(seen.lastFailure)
        }
    }

    /// Returns and removes the events received since the last call, in order.
    package func takeEvents() -> (events: [RemoteEvent], dropped: Int) { inbox.takeEvents() }

    /// Waits until `isDone` returns true, or until the deadline.
    private func wait(
        until deadline: Timestamp, _ signals: SignalWaiter, _ isDone: (RemoteInbox.Seen) -> Bool
    ) throws {
        while !isDone(inbox.seen), WallClock.monotonic < deadline {
            if signals.wait(seconds: RemoteDevice.pause) { throw BrokerError.interrupted }
        }
    }
}

/// What the client received: written by the network thread, read by the waiting caller.
final class RemoteInbox: Sendable {
    /// A snapshot of the inbox.
    struct Seen {
        var isConnected = false
        /// Whether the connection supports response topics, as MQTT 5 does.
        var hasProperties = false
        var granted: Set<String> = []
        var refused: (filter: String, reason: MQTTReason)?
        var lastFailure: String?
        var availability: String?
        /// The ids of devices, at most a thousand.
        var known: Set<String> = []
        /// The device's last `config/reported`.
        var report: [UInt8]?
        var answer: [UInt8]?
        var events: [RemoteEvent] = []
        /// The number of events that were dropped since the last were taken.
        var droppedEvents = 0
        /// The answer's topic and, with MQTT 5, its correlation data.
        var expected: (topic: String, correlationData: [UInt8]?)?
    }

    /// The most events that wait to be taken, and the longest event, bytes.
    private static let mostEvents = 1000
    private static let longestEvent = WatchListener.maximumMessage

    private let eventTopics: String
    private let availabilityTopic: String
    private let reportedTopic: String
    private let state = Mutex(Seen())

    init(topics: Topics) {
        eventTopics = topics.events
        availabilityTopic = topics.availability
        reportedTopic = topics.reported
    }

    var seen: Seen { state.withLock { $0 } }

    /// Sets which message is the answer.
    func expectAnswer(on topic: String, correlationData: [UInt8]?) {
        state.withLock { $0.expected = (topic, correlationData) }
    }

    func takeEvents() -> (events: [RemoteEvent], dropped: Int) {
        let taken = state.withLock { seen in
            let taken = seen
            seen.events = []
            seen.droppedEvents = 0
            return taken
        }
        return (taken.events, taken.droppedEvents)
    }

    /// Records an event of the client. Called on the network thread.
    func handle(_ event: MQTTEvent<Never>) {
        state.withLock { seen in
            switch event {
            case .connected(let connection):
                seen.isConnected = true
                seen.hasProperties = connection.version == .v5
            case .subscribed(let filter, _): seen.granted.insert(filter)
            case .subscriptionRefused(let filter, let reason): seen.refused = (filter, reason)
            case .subscriptionLeftOut(let filter, let omission): seen.refused = (filter, omission.reason)
            case .message(let message): handle(message, &seen)
            case .refused(let end), .disconnected(let end):
                seen.isConnected = false
                seen.granted = []
                let advice = end.advice.map { "; \($0)" } ?? ""
                seen.lastFailure = "\(end.broker): \(end.failure)\(advice)"
            case .connecting, .subscriptionRestored, .acknowledged, .rejected, .stopped: break
            }
        }
    }

    private func handle(_ message: MQTTMessage, _ seen: inout Seen) {
        if let expected = seen.expected, message.topic == expected.topic, seen.answer == nil {
            guard
                expected.correlationData == nil
                    || message.properties.correlationData == expected.correlationData
            else { return }
            seen.answer = message.payload
        } else if message.topic == availabilityTopic {
            // An empty one removes the retained message.
            seen.availability = message.payload.isEmpty ? nil : String(decoding: message.payload, as: UTF8.self)
        } else if message.topic == reportedTopic {
            seen.report = message.payload
        } else if message.topic.hasSuffix("/availability"), !message.payload.isEmpty, seen.known.count < 1000 {
            seen.known.insert(Topics(root: String(message.topic.dropLast("/availability".count))).device)
        } else if message.topic.hasPrefix(eventTopics), !message.retain {
            // Whoever takes the events may wait for a full pipe.
            guard message.payload.count <= RemoteInbox.longestEvent, seen.events.count < RemoteInbox.mostEvents else {
                seen.droppedEvents += 1
                return
            }
            if let event = RemoteEvent(message.payload) { seen.events.append(event) }
        }
    }
}
