internal import Documents
internal import JostleConfiguration
internal import JostleMessages
internal import JostleRuntime
internal import LinuxSystem
internal import MosquittoClient
package import MotionCore

/// Publishes current values: availability, state, attitude, motion and health. What cannot be sent now is discarded.
struct TelemetryPublisher: Participant {
    enum Request: Equatable, Sendable {
        /// The client has the message that the device is online: attitude and motion may follow, from any thread.
        case open
    }

    static let owner = Owner.telemetry

    /// Attitude and motion, and when the state is due.
    let motion: MotionTelemetry
    let isSimulated: Bool
    private let topics: Topics
    private var latest: MotionState?
    /// The last message about the machine.
    private var machine: MQTTMessage?

    /// Creates a publisher that is not connected; `publish` has rates, dead bands and heartbeats.
    init(topics: Topics, publish: JostleSettings.Publish, isSimulated: Bool) {
        self.topics = topics
        self.isSimulated = isSimulated
        motion = MotionTelemetry(topics, publish, isSimulated: isSimulated)
    }

    /// Whether sensing was stopped by a command or the configuration.
    var isStopped: Bool { motion.schedule.withLock { $0.isStopped } }

    private var isConnected: Bool { motion.schedule.withLock { $0.isConnected } }

    // MARK: Connection

    mutating func handle(_ event: ParticipantEvent, at now: ClockReading) -> Effects {
        switch event {
        case .connected: return connected(at: now)
        case .disconnected:
            motion.schedule.withLock { $0.isConnected = false }
            return []
        case .notSent:
            motion.schedule.withLock { $0.sentState = nil }
            return []
        // A broker that rejects the state would reject it again, so it waits for the next change.
        case .rejected, .acknowledged, .subscriptionAnswered, .message, .fileWritten: return []
        }
    }

    /// Publishes that the device is online, and all current values.
    private mutating func connected(at now: ClockReading) -> Effects {
        motion.schedule.withLock {
            $0.reset()
            $0.sentState = nil
        }
        var effects: Effects = [.publish(TelemetryPublisher.availability("online", topics))]
        if isStopped {
            effects += publishStoppedState(at: now)
        } else if let latest {
            effects += motion.messages(of: latest, beforeOpen: true).map { .publish($0) } + publishState(latest)
        }
        if let machine { effects.append(.publish(machine)) }
        return effects + [.request(.open)]
    }

    /// Lets attitude and motion be published until the connection ends.
    mutating func open() { motion.schedule.withLock { $0.isConnected = true } }

    /// The availability message; `offline` is also the will.
    static func availability(_ word: String, _ topics: Topics) -> MQTTMessage {
        MQTTMessage(topic: topics.availability, payload: Array(word.utf8), qos: .atLeastOnce, retain: true)
    }

    // MARK: Changes

    /// Applies new rates, dead bands and heartbeats. The next values are published regardless of the last. Plain values that
    /// are not wanted any more are removed from the broker.
    mutating func change(_ publish: JostleSettings.Publish) -> Effects {
        let hadPlain = motion.schedule.withLock { schedule in
            let hadPlain = schedule.publish.plain
            schedule.publish = publish
            if publish.plain != hadPlain { schedule.sentState = nil }
            return hadPlain
        }
        guard hadPlain, !publish.plain, isConnected else { return [] }
        return topics.retainedPlain.map {
            .publish(MQTTMessage(topic: $0, payload: [], qos: .atLeastOnce, retain: true))
        }
    }

    /// Makes the next values due at once, for a new listener.
    mutating func makeTelemetryDue() { motion.schedule.withLock { $0.reset() } }

    /// Publishes at once whether sensing is stopped: the last known state, with moving and vibrating cleared.
    mutating func setStopped(_ isStopped: Bool, at now: ClockReading) -> Effects {
        guard self.isStopped != isStopped else { return [] }
        motion.schedule.withLock {
            $0.isStopped = isStopped
            $0.sentState = nil
        }
        if isStopped {
            latest?.isMoving = false
            latest?.isVibrating = false
        }
        return isConnected ? publishStoppedState(at: now) : []
    }

    private func publishStoppedState(at now: ClockReading) -> Effects {
        if let latest {
            let state = DeviceState(latest, isSimulated: isSimulated, isStopped: isStopped)
            motion.schedule.withLock { $0.sentState = state }
            return stateMessages(Payloads.state(state, at: now.wall))
        }
        return isStopped ? stateMessages(Payloads.stoppedState(at: now.wall, isSimulated: isSimulated)) : []
    }

    /// Publishes the state if it is due.
    mutating func handle(_ state: MotionState) -> Effects {
        // A delivery thread that has not ended yet may still deliver a state after a stop.
        guard !isStopped else { return [] }
        latest = state
        return isConnected ? publishState(state) : []
    }

    /// Publishes a health report.
    func publish(health: JSONObject) -> Effects {
        guard isConnected else { return [] }
        return [.publish(MQTTMessage(topic: topics.health, payload: health.bytes, qos: .atMostOnce, retain: true))]
    }

    /// Publishes how the machine is.
    mutating func publish(machine payload: JSONObject) -> Effects {
        let message = MQTTMessage(topic: topics.machine, payload: payload.bytes, qos: .atMostOnce, retain: true)
        machine = message
        return isConnected ? [.publish(message)] : []
    }

    private func publishState(_ motionState: MotionState) -> Effects {
        guard let state = motion.schedule.withLock({ $0.takeState(motionState) }) else { return [] }
        return stateMessages(Payloads.state(state, at: WallClock.milliseconds(at: motionState.timestamp)))
    }

    private func stateMessages(_ payload: JSONObject) -> Effects {
        motion.messages(topics.state, payload, qos: .atLeastOnce, retain: true).map { .publish($0, .state) }
    }
}

extension DeliveryToken {
    /// Of telemetry only the state has a token: if the client had no room for it, it is published again.
    static let state = DeliveryToken(number: 0)
}

/// Makes the messages about attitude and motion, from any thread.
///
/// In the agent, the delivery thread passes them to the client at once, so that the loop need not wake for them; only the
/// first ones of a connection come from the loop. On a board of the swarm, all do.
struct MotionTelemetry: Sendable {
    private let topics: Topics
    // Made once, and not for each message.
    private let attitudeTopic: String
    private let motionTopic: String
    /// What is due. Only the loop opens, stops and changes it, and takes the state.
    let schedule: Locked<TelemetrySchedule>

    init(_ topics: Topics, _ publish: JostleSettings.Publish, isSimulated: Bool) {
        self.topics = topics
        attitudeTopic = topics.attitude
        motionTopic = topics.motion
        schedule = Locked(TelemetrySchedule(publish, isSimulated: isSimulated))
    }

    /// The messages about attitude and motion that are due. There are none without a connection, unless the caller
    /// publishes them as the first ones on a new connection.
    func messages(of state: MotionState, beforeOpen: Bool = false) -> [MQTTMessage] {
        let (isAttitudeDue, isMotionDue) = schedule.withLock { schedule in
            guard beforeOpen || schedule.isOpen else { return (false, false) }
            return (schedule.takeAttitude(state), schedule.takeMotion(state))
        }
        guard isAttitudeDue || isMotionDue else { return [] }
        let time = WallClock.milliseconds(at: state.timestamp)
        return (isAttitudeDue ? messages(attitudeTopic, Payloads.attitude(state, at: time)) : [])
            + (isMotionDue ? messages(motionTopic, Payloads.motion(state, at: time)) : [])
    }

    /// Whether the loop has a state to publish.
    func isStateDue(_ state: MotionState) -> Bool { schedule.withLock { $0.isStateDue(state) } }

    /// The message with a payload, and its plain values if they are wanted.
    fileprivate func messages(
        _ topic: String, _ payload: JSONObject, qos: MQTTQoS = .atMostOnce, retain: Bool = false
    ) -> [MQTTMessage] {
        let message = MQTTMessage(topic: topic, payload: payload.bytes, qos: qos, retain: retain)
        guard schedule.withLock({ $0.publish.plain }) else { return [message] }
        return [message]
            + PlainValue.values(in: payload).map { value, text in
                MQTTMessage(
                    topic: topics.plain(value), text: text, qos: value.isRetained ? .atLeastOnce : .atMostOnce,
                    retain: value.isRetained)
            }
    }
}

/// Decides which parts of a motion state to publish, from the configured rates, dead bands and heartbeats.
struct TelemetrySchedule: Sendable {
    private let isSimulated: Bool
    /// Whether the client is connected and has the message that the device is online, as far as the loop knows.
    var isConnected = false
    /// Whether sensing was stopped by a command or the configuration.
    var isStopped = false

    var isOpen: Bool { isConnected && !isStopped }

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

    /// Whether `takeState` has a state to publish.
    func isStateDue(_ state: MotionState) -> Bool {
        guard isOpen else { return false }
        var copy = self
        return copy.takeState(state) != nil
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
