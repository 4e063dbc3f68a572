internal import Documents
internal import JostleConfiguration
internal import JostleMessages
internal import JostleRuntime
internal import MosquittoClient
package import MotionCore

/// Publishes current values: availability, state, attitude, motion and health. What cannot be sent now is discarded.
///
/// The delivery thread has a copy, which says which motion states are worth waking the loop for.
struct TelemetryPublisher: Participant, Sendable {
    typealias Request = Never

    static let owner = Owner.telemetry

    private let topics: Topics
    // Made once, and not for each message.
    private let attitudeTopic: String
    private let motionTopic: String
    let isSimulated: Bool

    private var isConnected = false
    private var streams: Streams
    /// Rate limits of the state: a new side or a start or stop of movement, five times a second; a change of tilt
    /// alone, once in 2 s; a change of vibration level alone, once in 5 s.
    private var stateGate = TelemetryGate(rate: 5, heartbeat: 0)
    private var tiltGate = TelemetryGate(rate: 0.5, heartbeat: 0)
    private var vibrationGate = TelemetryGate(rate: 0.2, heartbeat: 0)
    private var sentAttitude = Quaternion.identity
    private var sentMotion = MotionState()
    private var sentState: DeviceState?
    private var latest: MotionState?
    /// The last message about the machine.
    private var machine: MQTTMessage?
    /// Whether sensing was stopped by a command or the configuration.
    private(set) var isStopped = false

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

        mutating func reset() {
            attitudeGate.reset()
            motionGate.reset()
        }
    }

    /// Creates a publisher that is not connected; `publish` has rates, dead bands and heartbeats.
    init(topics: Topics, publish: JostleSettings.Publish, isSimulated: Bool) {
        self.topics = topics
        attitudeTopic = topics.attitude
        motionTopic = topics.motion
        self.isSimulated = isSimulated
        streams = Streams(publish)
    }

    // MARK: Connection

    mutating func handle(_ event: ParticipantEvent, at now: ClockReading) -> Effects {
        switch event {
        case .connected: return connected(at: now)
        case .disconnected:
            isConnected = false
            return []
        case .notSent:
            sentState = nil
            return []
        // A broker that rejects the state would reject it again, so it waits for the next change.
        case .rejected, .acknowledged, .subscriptionAnswered, .message, .fileWritten: return []
        }
    }

    /// Publishes that the device is online, and all current values.
    private mutating func connected(at now: ClockReading) -> Effects {
        isConnected = true
        streams.reset()
        sentState = nil
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
        let hadPlain = streams.publish.plain
        streams = Streams(publish)
        guard publish.plain != hadPlain else { return [] }
        sentState = nil
        guard hadPlain, isConnected else { return [] }
        return topics.retainedPlain.map {
            .publish(MQTTMessage(topic: $0, payload: [], qos: .atLeastOnce, retain: true))
        }
    }

    /// Makes the next values due at once, for a new listener.
    mutating func makeTelemetryDue() {
        streams.reset()
    }

    /// Publishes at once whether sensing is stopped: the last known state, with moving and vibrating cleared.
    mutating func setStopped(_ isStopped: Bool, at now: ClockReading) -> Effects {
        guard self.isStopped != isStopped else { return [] }
        self.isStopped = isStopped
        if isStopped {
            latest?.isMoving = false
            latest?.isVibrating = false
        }
        sentState = nil
        return isConnected ? publishStoppedState(at: now) : []
    }

    private mutating func publishStoppedState(at now: ClockReading) -> Effects {
        if let latest {
            let state = DeviceState(latest, isSimulated: isSimulated, isStopped: isStopped)
            sentState = state
            return stateMessages(Payloads.state(state, at: now.wall))
        }
        return isStopped ? stateMessages(Payloads.stoppedState(at: now.wall, isSimulated: isSimulated)) : []
    }

    /// Publishes the parts of a motion state that are due.
    mutating func handle(_ state: MotionState) -> Effects {
        // A delivery thread that has not ended yet may still deliver a state after a stop.
        guard !isStopped else { return [] }
        latest = state
        return isConnected ? publish(state) : []
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

    // MARK: Due times

    /// Whether `handle` would publish something of a motion state.
    func publishes(_ state: MotionState) -> Bool {
        guard isConnected, !isStopped else { return false }
        var copy = self
        return copy.isAttitudeDue(state) || copy.isMotionDue(state)
            || copy.isStateDue(DeviceState(state, isSimulated: isSimulated), at: state.timestamp)
    }

    private mutating func publish(_ state: MotionState) -> Effects {
        let time = WallClock.milliseconds(at: state.timestamp)
        var effects: Effects = []
        if isAttitudeDue(state) {
            sentAttitude = state.relativeAttitude
            effects += telemetry(attitudeTopic, Payloads.attitude(state, at: time))
        }
        if isMotionDue(state) {
            sentMotion = state
            effects += telemetry(motionTopic, Payloads.motion(state, at: time))
        }
        let deviceState = DeviceState(state, isSimulated: isSimulated)
        if isStateDue(deviceState, at: state.timestamp) {
            sentState = deviceState
            effects += stateMessages(Payloads.state(deviceState, at: time))
        }
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
        guard streams.publish.plain else { return [] }
        return PlainValue.values(in: payload).map { value, text in
            MQTTMessage(
                topic: topics.plain(value), text: text, qos: value.isRetained ? .atLeastOnce : .atMostOnce,
                retain: value.isRetained)
        }
    }

    private mutating func isAttitudeDue(_ state: MotionState) -> Bool {
        let sent = sentAttitude
        let deadband = streams.publish.attitude.deadband
        return streams.attitudeGate.isDue(at: state.timestamp) { sent.angle(to: state.relativeAttitude) >= deadband }
    }

    private mutating func isMotionDue(_ state: MotionState) -> Bool {
        let sent = sentMotion
        let publish = streams.publish
        return streams.motionGate.isDue(at: state.timestamp) {
            (state.linearAcceleration - sent.linearAcceleration).length >= publish.motion.deadband
                || (state.gravity - sent.gravity).length >= publish.motion.deadband
                || (state.rotationRate - sent.rotationRate).length >= publish.rotationDeadband
        }
    }

    /// A change that comes too early is compared again with every later state, so the last one is never lost.
    private mutating func isStateDue(_ state: DeviceState, at time: Timestamp) -> Bool {
        guard let sent = sentState else { return true }
        if state.differs(from: sent) { return stateGate.isDue(at: time) { true } }
        let isTilted = state.tiltDiffers(from: sent) && tiltGate.isDue(at: time) { true }
        let vibrates = state.vibrationDiffers(from: sent) && vibrationGate.isDue(at: time) { true }
        return isTilted || vibrates
    }
}

extension DeliveryToken {
    /// Of telemetry only the state has a token: if the client had no room for it, it is published again.
    static let state = DeliveryToken(number: 0)
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
