internal import Documents
internal import JostleConfiguration
internal import JostleMessages
internal import JostleRuntime
internal import MosquittoClient
package import MotionCore

/// Publishes current values: availability, state, attitude, motion and health. What cannot be sent now is discarded.
struct TelemetryPublisher: Participant {
    typealias Request = Never

    static let owner = Owner.telemetry

    private let topics: Topics
    // Made once, and not for each message.
    private let attitudeTopic: String
    private let motionTopic: String
    private(set) var schedule: TelemetrySchedule
    private var latest: MotionState?
    /// The last message about the machine.
    private var machine: MQTTMessage?

    /// Creates a publisher that is not connected; `publish` has rates, dead bands and heartbeats.
    init(topics: Topics, publish: JostleSettings.Publish, isSimulated: Bool) {
        self.topics = topics
        attitudeTopic = topics.attitude
        motionTopic = topics.motion
        schedule = TelemetrySchedule(publish, isSimulated: isSimulated)
    }

    var isSimulated: Bool { schedule.isSimulated }

    /// Whether sensing was stopped by a command or the configuration.
    var isStopped: Bool { schedule.isStopped }

    // MARK: Connection

    mutating func handle(_ event: ParticipantEvent, at now: ClockReading) -> Effects {
        switch event {
        case .connected: return connected(at: now)
        case .disconnected:
            schedule.isConnected = false
            return []
        case .notSent:
            schedule.sentState = nil
            return []
        // A broker that rejects the state would reject it again, so it waits for the next change.
        case .rejected, .acknowledged, .subscriptionAnswered, .message, .fileWritten: return []
        }
    }

    /// Publishes that the device is online, and all current values.
    private mutating func connected(at now: ClockReading) -> Effects {
        schedule.isConnected = true
        schedule.reset()
        schedule.sentState = nil
        var effects: Effects = [.publish(TelemetryPublisher.availability("online", topics))]
        if isStopped {
            effects += publishStoppedState(at: now)
        } else if let latest {
            effects += publish(latest)
        }
        if let machine { effects.append(.publish(machine)) }
        return effects
    }

    /// The availability message; `offline` is also the will.
    static func availability(_ word: String, _ topics: Topics) -> MQTTMessage {
        MQTTMessage(topic: topics.availability, payload: Array(word.utf8), qos: .atLeastOnce, retain: true)
    }

    // MARK: Changes

    /// Applies new rates, dead bands and heartbeats. The next values are published regardless of the last. Plain values that
    /// are not wanted any more are removed from the broker.
    mutating func change(_ publish: JostleSettings.Publish) -> Effects {
        let hadPlain = schedule.publish.plain
        schedule.publish = publish
        guard publish.plain != hadPlain else { return [] }
        schedule.sentState = nil
        guard hadPlain, schedule.isConnected else { return [] }
        return topics.retainedPlain.map {
            .publish(MQTTMessage(topic: $0, payload: [], qos: .atLeastOnce, retain: true))
        }
    }

    /// Makes the next values due at once, for a new listener.
    mutating func makeTelemetryDue() {
        schedule.reset()
    }

    /// Publishes at once whether sensing is stopped: the last known state, with moving and vibrating cleared.
    mutating func setStopped(_ isStopped: Bool, at now: ClockReading) -> Effects {
        guard self.isStopped != isStopped else { return [] }
        schedule.isStopped = isStopped
        if isStopped {
            latest?.isMoving = false
            latest?.isVibrating = false
        }
        schedule.sentState = nil
        return schedule.isConnected ? publishStoppedState(at: now) : []
    }

    private mutating func publishStoppedState(at now: ClockReading) -> Effects {
        if let latest {
            let state = DeviceState(latest, isSimulated: isSimulated, isStopped: isStopped)
            schedule.sentState = state
            return stateMessages(Payloads.state(state, at: now.wall))
        }
        return isStopped ? stateMessages(Payloads.stoppedState(at: now.wall, isSimulated: isSimulated)) : []
    }

    /// Publishes the parts of a motion state that are due.
    mutating func handle(_ state: MotionState) -> Effects {
        // A delivery thread that has not ended yet may still deliver a state after a stop.
        guard !isStopped else { return [] }
        latest = state
        return schedule.isConnected ? publish(state) : []
    }

    /// Publishes a health report.
    func publish(health: JSONObject) -> Effects {
        guard schedule.isConnected else { return [] }
        return [.publish(MQTTMessage(topic: topics.health, payload: health.bytes, qos: .atMostOnce, retain: true))]
    }

    /// Publishes how the machine is.
    mutating func publish(machine payload: JSONObject) -> Effects {
        let message = MQTTMessage(topic: topics.machine, payload: payload.bytes, qos: .atMostOnce, retain: true)
        machine = message
        return schedule.isConnected ? [.publish(message)] : []
    }

    private mutating func publish(_ state: MotionState) -> Effects {
        let time = WallClock.milliseconds(at: state.timestamp)
        var effects: Effects = []
        if schedule.takeAttitude(state) { effects += telemetry(attitudeTopic, Payloads.attitude(state, at: time)) }
        if schedule.takeMotion(state) { effects += telemetry(motionTopic, Payloads.motion(state, at: time)) }
        if let state = schedule.takeState(state) { effects += stateMessages(Payloads.state(state, at: time)) }
        return effects
    }

    private func telemetry(_ topic: String, _ payload: JSONObject) -> Effects {
        [.publish(MQTTMessage(topic: topic, payload: payload.bytes, qos: .atMostOnce, retain: false))]
            + plain(payload).map { .publish($0) }
    }

    private func stateMessages(_ payload: JSONObject) -> Effects {
        let message = MQTTMessage(topic: topics.state, payload: payload.bytes, qos: .atLeastOnce, retain: true)
        return [.publish(message, .state)] + plain(payload).map { .publish($0, .state) }
    }

    /// The plain values of a payload, if they are wanted.
    private func plain(_ payload: JSONObject) -> [MQTTMessage] {
        guard schedule.publish.plain else { return [] }
        return PlainValue.values(in: payload).map { value, text in
            MQTTMessage(
                topic: topics.plain(value), text: text, qos: value.isRetained ? .atLeastOnce : .atMostOnce,
                retain: value.isRetained)
        }
    }
}

extension DeliveryToken {
    /// Of telemetry only the state has a token: if the client had no room for it, it is published again.
    static let state = DeliveryToken(number: 0)
}

/// Decides which parts of a motion state to publish, from the configured rates, dead bands and heartbeats.
///
/// A value without references: the delivery thread has a copy, and for each sample it makes another one, which says whether
/// the sample is worth waking the loop for.
struct TelemetrySchedule: Sendable {
    let isSimulated: Bool
    var isConnected = false
    var isStopped = false

    private var streams: Streams
    /// Rate limits of the state: a new side or a start or stop of movement, five times a second; a change of tilt
    /// alone, once in 2 s; a change of vibration level alone, once in 5 s.
    private var stateGate = TelemetryGate(rate: 5, heartbeat: 0)
    private var tiltGate = TelemetryGate(rate: 0.5, heartbeat: 0)
    private var vibrationGate = TelemetryGate(rate: 0.2, heartbeat: 0)
    private var sentAttitude = Quaternion.identity
    private var sentMotion = MotionState()
    /// The last state that was sent; `nil` publishes the next one.
    var sentState: DeviceState?

    /// The gates of attitude and motion with their dead bands.
    private struct Streams {
        var attitudeGate: TelemetryGate
        var motionGate: TelemetryGate
        let publish: JostleSettings.Publish

        init(_ publish: JostleSettings.Publish) {
            attitudeGate = TelemetryGate(rate: publish.attitude.rate, heartbeat: publish.attitude.heartbeat)
            motionGate = TelemetryGate(rate: publish.motion.rate, heartbeat: publish.motion.heartbeat)
            self.publish = publish
        }
    }

    init(_ publish: JostleSettings.Publish, isSimulated: Bool) {
        self.isSimulated = isSimulated
        streams = Streams(publish)
    }

    /// The rates, dead bands and heartbeats. After a change, the next attitude and motion are due at once.
    var publish: JostleSettings.Publish {
        get { streams.publish }
        set { streams = Streams(newValue) }
    }

    /// Makes the next attitude and motion due at once.
    mutating func reset() {
        streams.attitudeGate.reset()
        streams.motionGate.reset()
    }

    /// Whether anything of a motion state is to be published.
    func publishes(_ state: MotionState) -> Bool {
        guard isConnected, !isStopped else { return false }
        var copy = self
        return copy.takeAttitude(state) || copy.takeMotion(state) || copy.takeState(state) != nil
    }

    /// Whether to publish the attitude now, which is then the last one that was.
    mutating func takeAttitude(_ state: MotionState) -> Bool {
        let sent = sentAttitude
        let deadband = publish.attitude.deadband
        guard
            streams.attitudeGate.isDue(
                at: state.timestamp, hasChanged: { sent.angle(to: state.relativeAttitude) >= deadband })
        else { return false }
        sentAttitude = state.relativeAttitude
        return true
    }

    /// Whether to publish the motion now, which is then the last one that was.
    mutating func takeMotion(_ state: MotionState) -> Bool {
        let (sent, publish) = (sentMotion, publish)
        let isDue = streams.motionGate.isDue(at: state.timestamp) {
            (state.linearAcceleration - sent.linearAcceleration).length >= publish.motion.deadband
                || (state.gravity - sent.gravity).length >= publish.motion.deadband
                || (state.rotationRate - sent.rotationRate).length >= publish.rotationDeadband
        }
        if isDue { sentMotion = state }
        return isDue
    }

    /// The state to publish now, which is then the last one that was; `nil` if none is.
    mutating func takeState(_ state: MotionState) -> DeviceState? {
        let new = DeviceState(state, isSimulated: isSimulated)
        guard isDue(new, at: state.timestamp) else { return nil }
        sentState = new
        return new
    }

    /// A change that comes too early is compared again with every later state, so the last one is never lost.
    private mutating func isDue(_ state: DeviceState, at time: Timestamp) -> Bool {
        guard let sent = sentState else { return true }
        if state.differs(from: sent) { return stateGate.isDue(at: time) { true } }
        let isTilted = state.tiltDiffers(from: sent) && tiltGate.isDue(at: time) { true }
        let vibrates = state.vibrationDiffers(from: sent) && vibrationGate.isDue(at: time) { true }
        return isTilted || vibrates
    }
}

/// Decides when to publish a continuously changing quantity.
///
/// At most `rate` messages per second are published. A message is due when the quantity has left the dead band around
/// the last published value, or when the heartbeat interval has elapsed. It has no clock: the caller passes the time.
package struct TelemetryGate: Sendable {
    /// The minimum time between messages, s; `nil` publishes nothing.
    private let interval: Double?
    private let heartbeat: Double
    private var nextSlot: Timestamp?
    private var lastSent: Timestamp?

    /// - Parameters:
    /// - rate: the maximum number of messages per second, Hz; 0 publishes nothing.
    /// - heartbeat: seconds after which a message is published without a change; 0 disables this.
    package init(rate: Double, heartbeat: Double) {
        interval = rate > 0 ? 1 / rate : nil
        self.heartbeat = heartbeat
    }

    /// Whether a message is due at `now`. `hasChanged` returns whether the quantity has left the dead band.
    ///
    /// The due times lie on a grid, so that the mean rate is kept although samples do not fall on the grid.
    package mutating func isDue(at now: Timestamp, hasChanged: () -> Bool) -> Bool {
        guard let interval else { return false }
        if let nextSlot, now < nextSlot { return false }
        let isLate = heartbeat > 0 && (lastSent.map { now.seconds(since: $0) >= heartbeat } ?? true)
        guard lastSent == nil || isLate || hasChanged() else { return false }
        let onGrid = (nextSlot ?? now).advanced(bySeconds: interval)
        nextSlot = onGrid > now ? onGrid : now.advanced(bySeconds: interval)
        lastSent = now
        return true
    }

    /// Makes the next message due at once, for a new listener.
    package mutating func reset() {
        nextSlot = nil
        lastSent = nil
    }
}

/// Publishes messages that are of use only now: from the delivery thread directly to the client, which is thread-safe.
/// Nothing waits for a connection.
struct StreamOutput: Sendable {
    /// When more messages than this wait for the network, no others are added: events have priority.
    static let maximumBacklog = 200

    let topic: String
    /// Publishes a message; returns false if the client does not accept it.
    let send: @Sendable (MQTTMessage) -> Bool
    /// The number of messages waiting for the network.
    let backlog: @Sendable () -> Int

    /// Publishes a payload on the topic, unless there is no connection or too much waits.
    ///
    /// - Returns: whether the client accepted it.
    func publish(_ payload: [UInt8]) -> Bool {
        backlog() <= StreamOutput.maximumBacklog
            && send(MQTTMessage(topic: topic, payload: payload, qos: .atMostOnce))
    }
}
