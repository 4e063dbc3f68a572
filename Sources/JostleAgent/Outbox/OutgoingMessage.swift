internal import JostleMessages
internal import MosquittoClient

/// A message on its way to the broker, as it is kept until the broker has it.
struct OutgoingMessage: Equatable, Sendable {
    /// What it says.
    enum Content: Equatable, Sendable {
        /// A gesture's event: the fields of its JSON after `id` and `t`. Those are put before them when it is sent, since
        /// the time may be known better by then.
        case event(id: String, fields: String)
        /// Bytes that stay as they are: the message of an action.
        case fixed([UInt8])
    }

    var topic: String
    var content: Content
    var qos = MQTTQoS.atLeastOnce
    var isRetained = false

    /// When what it tells of was measured.
    var time: EventTime

    /// Seconds from then on after which it is not sent any more; `nil` is never.
    var lifetime: Double?

    /// Seconds after which an event that is only sent now says so: it is no reason to switch a lamp any more.
    static let delay = 10.0

    /// Bytes that it takes, topic and content.
    var size: Int {
        switch content {
        case .event(let id, let fields): topic.utf8.count + id.utf8.count + fields.utf8.count
        case .fixed(let bytes): topic.utf8.count + bytes.count
        }
    }

    /// Whether it is too old to be sent, by its own lifetime or by the limit for all.
    func isExpired(at clocks: ClockReading, maximumAge: Double) -> Bool {
        guard let age = time.age(at: clocks) else { return false }
        return age >= min(lifetime ?? .infinity, maximumAge)
    }

    /// The message as it is sent now; a broker keeps an event for `eventExpiry` seconds for those who are not there.
    func message(at clocks: ClockReading, eventExpiry: Double?) -> MQTTMessage {
        var message = MQTTMessage(topic: topic, payload: payload(at: clocks), qos: qos, retain: isRetained)
        // Nobody acts on what comes late: a backlog goes as fast as it can.
        message.isSpaced = !isDelayed(at: clocks)
        if let lifetime {
            let left = lifetime - (time.age(at: clocks) ?? 0)
            message.properties.messageExpiry = UInt32(min(max(left.rounded(.up), 1), 4e9))
        } else if case .event = content, let eventExpiry {
            message.properties.messageExpiry = UInt32(min(max(eventExpiry.rounded(.up), 1), 4e9))
        }
        return message
    }

    /// Whether it is too late to act on it. Of another boot: whoever made the movement has long gone away.
    private func isDelayed(at clocks: ClockReading) -> Bool {
        time.boot != clocks.boot || (time.age(at: clocks) ?? 0) > OutgoingMessage.delay
    }

    private func payload(at clocks: ClockReading) -> [UInt8] {
        switch content {
        case .fixed(let bytes): return bytes
        case .event(let id, let fields):
            let told = time.corrected(clocks)
            var object = Payloads.head(id: id, at: told.wall)
            if !told.isClockSet { object.add("clock", "unset") }
            if isDelayed(at: clocks) { object.add("delayed", true) }
            object.add(fields: fields)
            return object.bytes
        }
    }
}
