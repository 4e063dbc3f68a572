internal import Documents
internal import JostleConfiguration
internal import JostleMessages
internal import JostleRuntime
internal import LinuxSystem
internal import MosquittoClient
internal import MotionCore

/// Converts gesture events, and the actions that they trigger, to messages for the outbox.
struct EventComposer {
    private let topics: Topics
    private let forbidden: ActionTopics
    private let run: String
    private let isSimulated: Bool

    /// The recording in which an event will be, which it then names; asked once for each event.
    var recording: ((GestureEvent) -> String?)?

    /// Whether the phase is also published as plain text.
    var publishesPlain = false

    /// Seconds after which a plain phase that was not delivered is dropped: it does not say when it was.
    private static let plainLifetime = 30.0

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
        let stamp = stamp(event)
        let fields = Payloads.fields(
            event, isSimulated: isSimulated(event), recording: stamp.recording
        ).fields
        var time = EventTime(event.timestamp, now)
        time.wall = stamp.time
        let message = Outbox.Update.add(
            OutgoingMessage(
                topic: topics.event(event.kind), content: .event(id: stamp.id, fields: fields), time: time))
        let gesture = OpenGesture(event)
        if event.phase == .began || event.phase == .recognized { gestures += 1 }
        let messages = [message] + plain(event, at: time)
        return switch event.phase {
        case .began: [.setGesture(gesture, isOpen: true)] + messages
        case .ended, .cancelled: [.setGesture(gesture, isOpen: false)] + messages
        case .changed, .recognized: messages
        }
    }

    /// The changes to the outbox when the machine begins to deviate from its earlier runs, or ceases to.
    mutating func updates(
        for deviation: MachineDeviation, began: Bool, since: Int64?, recording: String?, at timestamp: Timestamp,
        now: ClockReading
    ) -> [Outbox.Update] {
        count += 1
        var fields = JSONObject()
        fields.add("gesture", Topics.machineEventName)
        fields.add("phase", began ? "began" : "ended")
        fields.add(contentsOf: Payloads.deviation(deviation, since: since))
        if isSimulated { fields.add("simulated", true) }
        fields.add("recording", recording)
        let message = OutgoingMessage(
            topic: topics.machineEvent, content: .event(id: "\(run)-\(count)", fields: fields.fields),
            time: EventTime(timestamp, now))
        return [.add(message)]
    }

    private func plain(_ event: GestureEvent, at time: EventTime) -> [Outbox.Update] {
        guard publishesPlain else { return [] }
        return [
            .add(
                OutgoingMessage(
                    topic: topics.plain(event.kind), content: .fixed(Array(event.phase.word.utf8)), time: time,
                    lifetime: EventComposer.plainLifetime))
        ]
    }

    /// The message that a rule publishes for an event; `nil` if it publishes nothing.
    ///
    /// - Throws: why the message must not be published.
    mutating func message(
        for action: JostleSettings.Action, on event: GestureEvent, at now: ClockReading
    ) throws -> OutgoingMessage? {
        guard let topic = action.publish.topic else { return nil }
        let facts = EventFacts(
            event: event, stamp: stamp(event), device: topics.device, isSimulated: isSimulated(event))
        let message = MQTTMessage(
            topic: topic.text(of: facts), text: action.publish.payload.text(of: facts),
            qos: action.publish.qos == 0 ? .atMostOnce : .atLeastOnce, retain: action.publish.isRetained)
        try check(message)
        return OutgoingMessage(
            topic: message.topic, content: .fixed(message.payload), qos: message.qos, isRetained: message.retain,
            time: EventTime(event.timestamp, now), lifetime: action.publish.lifetime)
    }

    /// The event's JSON for programs and webhooks: as it is published, with the device, which the topic says otherwise.
    mutating func document(of event: GestureEvent) -> String {
        let stamp = stamp(event)
        var object = Payloads.event(
            event, id: stamp.id, at: stamp.time, isSimulated: isSimulated(event), recording: stamp.recording)
        object.add("device", topics.device)
        return object.description
    }

    /// Whether an event does not come from a real sensor.
    func isSimulated(_ event: GestureEvent) -> Bool { isSimulated || event.isSimulated }

    /// The id and time of an event, the same for every message about it.
    private mutating func stamp(_ event: GestureEvent) -> EventStamp {
        if let stamped, stamped.event == event { return stamped.stamp }
        count += 1
        let stamp = EventStamp(
            id: "\(run)-\(count)", time: WallClock.milliseconds(at: event.timestamp), recording: recording?(event))
        stamped = (event, stamp)
        return stamp
    }

    /// Rejects a message that must not be published, or that the client could never send: it would block the outbox.
    private func check(_ message: MQTTMessage) throws {
        do { try MQTTTopic.validate(name: message.topic) } catch { throw Failure(.badData, "\(error)") }
        if message.payload.count > EventComposer.maximumPayload {
            throw Failure(
                .badData, "the payload has \(message.payload.count) bytes, more than \(EventComposer.maximumPayload)")
        }
        if forbidden.isReserved(message.topic) {
            throw Failure(.badData, "\(message.topic) is reserved for the device or the fleet")
        }
    }
}

/// The id and time that identify an event in every message about it.
struct EventStamp: Equatable, Sendable {
    /// Unique among the events of all devices and starts.
    var id: String

    /// When the event was measured, milliseconds since 1970.
    var time: Int64

    /// The recording in which it will be.
    var recording: String?
}

/// An event with all the values that a template can use.
struct EventFacts {
    /// The event's payload, as text and as values: what the program has written itself can be read.
    private let payload: String
    private let values: JSONValue?
    private let device: String
    private let isSimulated: Bool

    init(event: GestureEvent, stamp: EventStamp, device: String, isSimulated: Bool) {
        let object = Payloads.event(
            event, id: stamp.id, at: stamp.time, isSimulated: isSimulated, recording: stamp.recording)
        payload = object.description
        values = try? JSONReader.read(object.bytes, source: .message("event"))
        self.device = device
        self.isSimulated = isSimulated
    }

    /// The text of a field as in the event's payload, without quotes; `nil` if the event lacks the field.
    func text(of field: Template.Field) -> String? {
        switch field {
        case .event: payload
        case .device: device
        case .simulated: isSimulated ? "true" : "false"
        default: values?[field.rawValue]?.text
        }
    }
}

extension Template {
    /// The text with the placeholders replaced.
    func text(of facts: EventFacts) -> String {
        parts.map { part in
            switch part {
            case .text(let text): text
            case .field(let field, let otherwise): facts.text(of: field) ?? otherwise
            }
        }.joined()
    }
}
