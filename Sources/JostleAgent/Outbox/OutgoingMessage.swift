internal import Documents
internal import JostleMessages
internal import MosquittoClient

/// A message for the broker, as the outbox stores it.
struct OutgoingMessage: Equatable, Sendable {
    /// The message's payload.
    enum Content: Equatable, Sendable {
        /// A gesture's event: the fields of its JSON object after `id` and `t`. Those two are added when the message is
        /// sent, because the time may have been corrected by then.
        case event(id: String, fields: String)
        /// A fixed payload: the message of an action.
        case fixed([UInt8])
    }

    var topic: String
    var content: Content
    var qos = MQTTQoS.atLeastOnce
    var isRetained = false

    /// When the event was measured.
    var time: EventTime

    /// Seconds after `time` at which the message expires; `nil` for never.
    var lifetime: Double?

    /// Seconds after which an event is marked as delayed when it is sent. Automations then ignore it.
    static let delay = 10.0

    /// The size of topic and content, bytes.
    var size: Int {
        switch content {
        case .event(let id, let fields): topic.utf8.count + id.utf8.count + fields.utf8.count
        case .fixed(let bytes): topic.utf8.count + bytes.count
        }
    }

    /// Whether the message has exceeded its own lifetime or the general limit.
    func isExpired(at clocks: ClockReading, maximumAge: Double) -> Bool {
        guard let age = time.age(at: clocks) else { return false }
        return age >= min(lifetime ?? .infinity, maximumAge)
    }

    /// The MQTT message to send now. The broker keeps an event for `eventExpiry` seconds for offline subscribers.
    ///
    /// An event that others have overtaken is marked as delayed even if it is not old.
    func message(at clocks: ClockReading, eventExpiry: Double?, isOvertaken: Bool = false) -> MQTTMessage {
        let isDelayed = isOvertaken || isDelayed(at: clocks)
        var message = MQTTMessage(
            topic: topic, payload: payload(at: clocks, isDelayed: isDelayed), qos: qos, retain: isRetained)
        // Delayed messages are not urgent for any receiver, so a backlog is sent without pauses between messages.
        message.isSpaced = !isDelayed
        if let lifetime {
            let left = lifetime - (time.age(at: clocks) ?? 0)
            message.properties.messageExpiry = UInt32(min(max(left.rounded(.up), 1), 4e9))
        } else if case .event = content, let eventExpiry {
            message.properties.messageExpiry = UInt32(min(max(eventExpiry.rounded(.up), 1), 4e9))
        }
        return message
    }

    /// Whether the event is too old to act on. An event of another boot always is.
    private func isDelayed(at clocks: ClockReading) -> Bool {
        time.boot != clocks.boot || (time.age(at: clocks) ?? 0) > OutgoingMessage.delay
    }

    private func payload(at clocks: ClockReading, isDelayed: Bool) -> [UInt8] {
        switch content {
        case .fixed(let bytes): return bytes
        case .event(let id, let fields):
            let corrected = time.corrected(clocks)
            var object = Payloads.head(id: id, at: corrected.wall)
            if !corrected.isClockSet { object.add("clock", "unset") }
            if isDelayed { object.add("delayed", true) }
            object.add(fields: fields)
            return object.bytes
        }
    }
}
