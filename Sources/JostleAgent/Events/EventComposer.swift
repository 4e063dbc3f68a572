internal import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient
internal import MotionCore

/// Turns gestures, and the rules that act on them, into messages for the outbox.
struct EventComposer {
    private let topics: Topics
    private let forbidden: ActionTopics
    private let run: String
    private let isSimulated: Bool

    private var count: UInt64 = 0
    /// The event that was stamped last, for an action or for itself.
    private var stamped: (event: GestureEvent, stamp: EventStamp)?

    /// Bytes that an action's message may have: more than anybody writes, less than any broker refuses.
    static let largestPayload = 65_536

    /// `run` is a word that no other start of any device has: events are numbered after it.
    init(topics: Topics, prefix: String, run: String, isSimulated: Bool) {
        self.topics = topics
        self.run = run
        self.isSimulated = isSimulated
        forbidden = ActionTopics(prefix: prefix, id: topics.device)
    }

    /// An event's message, and whether its gesture is open from now on.
    mutating func orders(for event: GestureEvent, at now: ClockReading) -> [Outbox.Order] {
        let fields = Payloads.fields(event, isSimulated: isSimulated || event.isSimulated).fields
        let stamp = stamp(event)
        var time = EventTime(event.timestamp, now)
        time.wall = stamp.time
        let message = Outbox.Order.add(
            OutgoingMessage(
                topic: topics.event(event.gesture), content: .event(id: stamp.id, fields: fields), time: time))
        let gesture = OpenGesture(gesture: event.gesture, isSimulated: event.isSimulated)
        return switch event.phase {
        case .began: [.note(gesture, isOpen: true), message]
        case .ended, .cancelled: [.note(gesture, isOpen: false), message]
        case .changed, .recognized: [message]
        }
    }

    /// What a rule publishes about an event, `nil` if it publishes nothing.
    ///
    /// - Throws: why it may not be published.
    mutating func message(
        for action: JostleSettings.Action, on event: GestureEvent, at now: ClockReading
    ) throws(ActionRefusal) -> OutgoingMessage? {
        guard let topic = action.publish.topic else { return nil }
        let facts = EventFacts(
            event: event, stamp: stamp(event), device: topics.device, isSimulated: isSimulated || event.isSimulated)
        let message = MQTTMessage(
            topic: topic.text(of: facts), text: action.publish.payload.text(of: facts),
            qos: action.publish.qos == 0 ? .atMostOnce : .atLeastOnce, retain: action.publish.isRetained)
        try check(message)
        return OutgoingMessage(
            topic: message.topic, content: .fixed(message.payload), qos: message.qos, isRetained: message.retain,
            time: EventTime(event.timestamp, now), lifetime: action.publish.lifetime)
    }

    /// The id and the time by which an event is known, whoever asks for them first.
    private mutating func stamp(_ event: GestureEvent) -> EventStamp {
        if let stamped, stamped.event == event { return stamped.stamp }
        count += 1
        let stamp = EventStamp(id: "\(run)-\(count)", time: WallClock.milliseconds(at: event.timestamp))
        stamped = (event, stamp)
        return stamp
    }

    /// Refuses what may not be published; what the client would never take must not stand before others in the outbox.
    private func check(_ message: MQTTMessage) throws(ActionRefusal) {
        do throws(MQTTError) {
            try MQTTTopic.validate(name: message.topic)
        } catch {
            throw ActionRefusal(reason: "\(error)")
        }
        if message.payload.count > EventComposer.largestPayload {
            throw ActionRefusal(
                reason: "the payload has \(message.payload.count) bytes, more than \(EventComposer.largestPayload)")
        }
        if forbidden.isReserved(message.topic) {
            throw ActionRefusal(reason: "\(message.topic) is the device's own or the fleet's")
        }
    }
}

/// Why a rule's message is not published.
struct ActionRefusal: Error, Equatable {
    let reason: String
}

/// What an event is known by, in whatever is published about it.
struct EventStamp: Equatable, Sendable {
    /// Unique among all events of all devices and starts.
    var id: String

    /// When it was measured, milliseconds since 1970.
    var time: Int64
}
