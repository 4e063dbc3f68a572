package import JostleConfiguration
package import JostleMessages
internal import MosquittoClient
internal import MotionCore
internal import Synchronization

/// A running agent as others see it: over MQTT it is asked to do something, answers, and tells its events.
///
/// For one command that a person waits for. Waiting happens on the caller's thread, with a deadline, and ends at a signal.
package final class RemoteDevice {
    /// Seconds after which a broker throws away a command that it could not deliver: nobody waits for it any more.
    private static let expiry: UInt32 = 10

    /// Seconds between two looks at what has arrived.
    private static let pause = 0.02

    private let id: String
    private let topics: Topics
    private let replyTopic: String
    private let client: MQTTClient<Never>
    private let inbox: RemoteInbox
    private let filters: [String]

    /// Prepares to speak to the agent `id` by way of the configured broker; nothing is connected yet.
    ///
    /// - Throws: `mqtt`, `secretFile` or `privateBroker` where the configuration leads to no broker.
    package init(id: String, settings: JostleSettings) throws(RemoteDeviceError) {
        if settings.mqtt.broker == .embedded { throw .privateBroker }
        let mark = RunName.new()
        topics = Topics(prefix: settings.mqtt.prefix, id: id)
        replyTopic = "\(settings.mqtt.prefix)/_reply/\(mark)"
        filters = ["\(topics.events)#", topics.availability, replyTopic]
        let inbox = RemoteInbox(eventTopics: topics.events, availabilityTopic: topics.availability)
        client = try RemoteDevice.client(settings, mark: mark, filters: filters, inbox)
        self.id = id
        self.inbox = inbox
    }

    private static func client(
        _ settings: JostleSettings, mark: String, filters: [String], _ inbox: RemoteInbox
    ) throws(RemoteDeviceError) -> MQTTClient<Never> {
        let options: MQTTOptions
        do throws(SecretFileError) {
            options = try settings.mqttOptions(
                clientID: "ask-\(mark)", brokers: settings.brokers(embeddedPort: nil))
        } catch {
            throw .secretFile(error)
        }
        do throws(MQTTError) {
            let client = try MQTTClient<Never>(options: options) { inbox.take($0) }
            for filter in filters { try client.subscribe(to: filter, qos: .atLeastOnce) }
            return client
        } catch {
            throw .mqtt(error)
        }
    }

    deinit {
        _ = client.stop(within: .milliseconds(300))
    }

    /// Connects, sends a command and waits for its answer, all within `seconds`. To be called once.
    ///
    /// - Throws: why there is no answer. A refusal is one.
    package func ask(
        _ command: String, _ arguments: JSONObject, within seconds: Double, signals: SignalWaiter
    ) throws(RemoteDeviceError) -> RemoteAnswer {
        let deadline = WallClock.monotonic.advanced(bySeconds: seconds)
        let result = topics.result(of: command)
        do throws(MQTTError) {
            // Without response topics, as in MQTT 3.1.1, the answer comes where everybody hears it.
            try client.subscribe(to: result, qos: .atLeastOnce)
            try client.start()
        } catch {
            throw .mqtt(error)
        }
        let filters = Set(filters + [result])
        try wait(until: deadline, signals) { $0.isConnected && ($0.refused != nil || $0.granted == filters) }
        let seen = inbox.seen
        if let refused = seen.refused { throw .notAllowed(filter: refused.filter, reason: "\(refused.reason)") }
        guard seen.isConnected, seen.granted == filters else { throw .notConnected(seen.lastFailure) }

        var message = MQTTMessage(
            topic: topics.command(command), payload: arguments.bytes, qos: .atLeastOnce, retain: false)
        let mark = Array(replyTopic.utf8)
        message.properties.messageExpiry = RemoteDevice.expiry
        message.properties.responseTopic = replyTopic
        message.properties.correlationData = mark
        message.properties.userProperties = [MQTTMessage.UserProperty("from", "jostle@\(DeviceName.hostName())")]
        inbox.expect(seen.hasProperties ? replyTopic : result, mark: seen.hasProperties ? mark : nil)
        do throws(MQTTError) {
            try client.publish(message)
        } catch {
            throw .notConnected("\(error)")
        }
        try wait(until: deadline, signals) { $0.answer != nil }
        guard let answer = inbox.seen.answer else { throw .silent(id: id, availability: inbox.seen.availability) }
        return try RemoteAnswer(answer)
    }

    /// The events that came since the last call, in order.
    package func takeEvents() -> [RemoteEvent] { inbox.takeEvents() }

    /// Waits until `isDone` holds of what was seen, or for the deadline.
    private func wait(
        until deadline: Timestamp, _ signals: SignalWaiter, _ isDone: (RemoteInbox.Seen) -> Bool
    ) throws(RemoteDeviceError) {
        while !isDone(inbox.seen), WallClock.monotonic < deadline {
            if signals.wait(seconds: RemoteDevice.pause) { throw .interrupted }
        }
    }
}

/// What a client heard of a remote device: written on the network thread, read by whoever waits.
final class RemoteInbox: Sendable {
    /// What there is to know so far.
    struct Seen {
        var isConnected = false
        /// Whether the connection carries response topics: MQTT 5.
        var hasProperties = false
        var granted: Set<String> = []
        var refused: (filter: String, reason: MQTTReason)?
        var lastFailure: String?
        var availability: String?
        var answer: [UInt8]?
        var events: [RemoteEvent] = []
        /// Where the answer is to come, and what it has to bear there.
        var expected: (topic: String, mark: [UInt8]?)?
    }

    private let eventTopics: String
    private let availabilityTopic: String
    private let state = Mutex(Seen())

    init(eventTopics: String, availabilityTopic: String) {
        self.eventTopics = eventTopics
        self.availabilityTopic = availabilityTopic
    }

    var seen: Seen { state.withLock { $0 } }

    /// Says which message is the answer.
    func expect(_ topic: String, mark: [UInt8]?) {
        state.withLock { $0.expected = (topic, mark) }
    }

    func takeEvents() -> [RemoteEvent] {
        state.withLock { seen in
            defer { seen.events = [] }
            return seen.events
        }
    }

    /// Notes what the client tells.
    func take(_ event: MQTTEvent<Never>) {
        state.withLock { seen in
            switch event {
            case .connected(let connection):
                seen.isConnected = true
                seen.hasProperties = connection.version == .v5
            case .subscribed(let filter, _): seen.granted.insert(filter)
            case .subscriptionRefused(let filter, let reason): seen.refused = (filter, reason)
            case .message(let message): take(message, &seen)
            case .refused(let end), .disconnected(let end):
                seen.isConnected = false
                seen.granted = []
                let advice = end.advice.map { "; \($0)" } ?? ""
                seen.lastFailure = "\(end.broker): \(end.failure)\(advice)"
            case .connecting, .acknowledged, .rejected, .stopped: break
            }
        }
    }

    private func take(_ message: MQTTMessage, _ seen: inout Seen) {
        if let expected = seen.expected, message.topic == expected.topic, seen.answer == nil {
            guard expected.mark == nil || message.properties.correlationData == expected.mark else { return }
            seen.answer = message.payload
        } else if message.topic == availabilityTopic {
            seen.availability = String(decoding: message.payload, as: UTF8.self)
        } else if message.topic.hasPrefix(eventTopics), !message.retain {
            if let event = RemoteEvent(message.payload) { seen.events.append(event) }
        }
    }
}
