internal import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient
internal import MotionCore

/// Converts gesture events, and the actions that they trigger, to messages for the outbox.
struct EventComposer {
    private let topics: Topics
    private let forbidden: ActionTopics
    private let run: String
    private let isSimulated: Bool

    private var count: UInt64 = 0
    /// Gestures since the start: a gesture counts when it begins.
    private(set) var gestures: UInt64 = 0
    /// The event that was stamped last. Its stamp is shared by the event's message and its actions.
    private var stamped: (event: GestureEvent, stamp: EventStamp)?

    /// The maximum payload of an action's message, bytes: more than any real use needs, and less than any broker
    /// refuses.
    static let maximumPayload = 65_536

    /// `run` is a word that is unique to this start of this device; event ids begin with it.
    init(topics: Topics, prefix: String, run: String, isSimulated: Bool) {
        self.topics = topics
        self.run = run
        self.isSimulated = isSimulated
        forbidden = ActionTopics(prefix: prefix, id: topics.device)
    }

    /// The changes to the outbox for an event: its message, and whether its gesture is open.
    mutating func updates(for event: GestureEvent, at now: ClockReading) -> [Outbox.Update] {
        let fields = Payloads.fields(event, isSimulated: isSimulated || event.isSimulated).fields
        let stamp = stamp(event)
        var time = EventTime(event.timestamp, now)
        time.wall = stamp.time
        let message = Outbox.Update.add(
            OutgoingMessage(
                topic: topics.event(event.gesture), content: .event(id: stamp.id, fields: fields), time: time))
        let gesture = OpenGesture(event)
        if event.phase == .began || event.phase == .recognized { gestures += 1 }
        return switch event.phase {
        case .began: [.setGesture(gesture, isOpen: true), message]
        case .ended, .cancelled: [.setGesture(gesture, isOpen: false), message]
        case .changed, .recognized: [message]
        }
    }

    /// The message that a rule publishes for an event; `nil` if it publishes nothing.
    ///
    /// - Throws: why the message must not be published.
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

    /// The id and time of an event, the same for every message about it.
    private mutating func stamp(_ event: GestureEvent) -> EventStamp {
        if let stamped, stamped.event == event { return stamped.stamp }
        count += 1
        let stamp = EventStamp(id: "\(run)-\(count)", time: WallClock.milliseconds(at: event.timestamp))
        stamped = (event, stamp)
        return stamp
    }

    /// Rejects a message that must not be published, or that the client could never send: it would block the outbox.
    private func check(_ message: MQTTMessage) throws(ActionRefusal) {
        do throws(MQTTError) {
            try MQTTTopic.validate(name: message.topic)
        } catch {
            throw ActionRefusal(reason: "\(error)")
        }
        if message.payload.count > EventComposer.maximumPayload {
            throw ActionRefusal(
                reason: "the payload has \(message.payload.count) bytes, more than \(EventComposer.maximumPayload)")
        }
        if forbidden.isReserved(message.topic) {
            throw ActionRefusal(reason: "\(message.topic) is reserved for the device or the fleet")
        }
    }
}

/// Why an action's message was not published.
struct ActionRefusal: Error, Equatable {
    let reason: String
}

/// The id and time that identify an event in every message about it.
struct EventStamp: Equatable, Sendable {
    /// Unique among the events of all devices and starts.
    var id: String

    /// When the event was measured, milliseconds since 1970.
    var time: Int64
}
