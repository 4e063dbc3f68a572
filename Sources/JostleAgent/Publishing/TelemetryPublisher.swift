internal import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient
internal import MotionCore

/// Publishes what is true now: availability, state, attitude, motion and health. What cannot be sent now is not kept.
struct TelemetryPublisher: Participant {
    /// The one message whose fate counts: a state that the client did not take is still news.
    enum Token: Hashable, Sendable {
        case state
    }

    typealias Request = Never

    private let topics: Topics
    private let isSimulated: Bool

    private var isConnected = false
    private var streams: Streams
    /// A new side, or that it moves, is published a few times a second at most; a new tilt alone once in two seconds, a new
    /// vibration level alone once in five.
    private var stateGate = TelemetryGate(rate: 5, heartbeat: 0)
    private var tiltGate = TelemetryGate(rate: 0.5, heartbeat: 0)
    private var vibrationGate = TelemetryGate(rate: 0.2, heartbeat: 0)
    private var sentAttitude = Quaternion.identity
    private var sentMotion = MotionState()
    private var sentState: DeviceState?
    private var latest: MotionState?
    /// Nothing is sensed because somebody wanted it so.
    private(set) var isStopped = false

    /// How often attitude and motion are published, and what change is worth it; gates that have sent nothing yet.
    private struct Streams {
        var attitudeGate: TelemetryGate
        var motionGate: TelemetryGate
        let attitudeDeadband: Double
        let motionDeadband: Double
        let rotationDeadband: Double

        init(_ publish: JostleSettings.Publish) {
            attitudeGate = TelemetryGate(rate: publish.attitude.rate, heartbeat: publish.attitude.heartbeat)
            motionGate = TelemetryGate(rate: publish.motion.rate, heartbeat: publish.motion.heartbeat)
            attitudeDeadband = publish.attitude.deadband
            motionDeadband = publish.motion.deadband
            rotationDeadband = publish.rotationDeadband
        }

        mutating func reset() {
            attitudeGate.reset()
            motionGate.reset()
        }
    }

    /// A publisher that is not connected; `publish` has rates, dead bands and heartbeats.
    init(topics: Topics, publish: JostleSettings.Publish, isSimulated: Bool) {
        self.topics = topics
        self.isSimulated = isSimulated
        streams = Streams(publish)
    }

    // MARK: The connection

    mutating func handle(_ event: ParticipantEvent<Token>, at now: ClockReading) -> Effects {
        switch event {
        case .connected: return connected(at: now)
        case .disconnected:
            isConnected = false
            return []
        case .notSent:
            sentState = nil
            return []
        // A broker that refuses the state would refuse it again: the next one comes when something changes.
        case .rejected, .acknowledged, .subscriptionAnswered, .message, .fileWritten: return []
        }
    }

    /// The device is online, and whoever listens learns everything again.
    private mutating func connected(at now: ClockReading) -> Effects {
        isConnected = true
        streams.reset()
        sentState = nil
        var effects: Effects = [.publish(TelemetryPublisher.availability("online", topics))]
        if isStopped {
            effects += stopOrStart(at: now)
        } else if let latest {
            effects += publish(latest)
        }
        return effects
    }

    /// The message that says whether the device is there; `offline` is also the will.
    static func availability(_ word: String, _ topics: Topics) -> MQTTMessage {
        MQTTMessage(topic: topics.availability, payload: Array(word.utf8), qos: .atLeastOnce, retain: true)
    }

    // MARK: What changes

    /// Puts other rates, dead bands and heartbeats in force; the next state is published whatever the last was.
    mutating func change(_ publish: JostleSettings.Publish) {
        streams = Streams(publish)
    }

    /// Makes the next states worth a message: somebody new may be listening.
    mutating func listenerArrived() {
        streams.reset()
    }

    /// Publishes whether sensing is stopped, at once: with what was last known of the rest, and neither moving nor vibrating.
    mutating func setStopped(_ isStopped: Bool, at now: ClockReading) -> Effects {
        guard self.isStopped != isStopped else { return [] }
        self.isStopped = isStopped
        if isStopped {
            latest?.isMoving = false
            latest?.isVibrating = false
        }
        sentState = nil
        return isConnected ? stopOrStart(at: now) : []
    }

    private mutating func stopOrStart(at now: ClockReading) -> Effects {
        if let latest {
            let state = DeviceState(latest, isSimulated: isSimulated, isStopped: isStopped)
            sentState = state
            return [stateMessage(Payloads.state(state, at: now.wall))]
        }
        return isStopped ? [stateMessage(Payloads.stoppedState(at: now.wall, isSimulated: isSimulated))] : []
    }

    /// Publishes what of the motion state is worth it.
    mutating func handle(_ state: MotionState) -> Effects {
        // A delivery thread that was left behind by a stop may still have one.
        guard !isStopped else { return [] }
        latest = state
        return isConnected ? publish(state) : []
    }

    /// Publishes a health report.
    func publish(health: JSONObject) -> Effects {
        guard isConnected else { return [] }
        return [.publish(MQTTMessage(topic: topics.health, payload: health.bytes, qos: .atMostOnce, retain: true))]
    }

    // MARK: What is worth a message

    private mutating func publish(_ state: MotionState) -> Effects {
        let time = WallClock.milliseconds(at: state.timestamp)
        var effects: Effects = []
        if isAttitudeDue(state) {
            sentAttitude = state.relativeAttitude
            effects.append(telemetry(topics.attitude, Payloads.attitude(state, at: time)))
        }
        if isMotionDue(state) {
            sentMotion = state
            effects.append(telemetry(topics.motion, Payloads.motion(state, at: time)))
        }
        let lasting = DeviceState(state, isSimulated: isSimulated)
        if isStateDue(lasting, at: state.timestamp) {
            sentState = lasting
            effects.append(stateMessage(Payloads.state(lasting, at: time)))
        }
        return effects
    }

    private func telemetry(_ topic: String, _ payload: JSONObject) -> Effect<Token, Never> {
        .publish(MQTTMessage(topic: topic, payload: payload.bytes, qos: .atMostOnce, retain: false))
    }

    private func stateMessage(_ payload: JSONObject) -> Effect<Token, Never> {
        .publish(MQTTMessage(topic: topics.state, payload: payload.bytes, qos: .atLeastOnce, retain: true), .state)
    }

    private mutating func isAttitudeDue(_ state: MotionState) -> Bool {
        let sent = sentAttitude
        let deadband = streams.attitudeDeadband
        return streams.attitudeGate.isDue(at: state.timestamp) { sent.angle(to: state.relativeAttitude) >= deadband }
    }

    private mutating func isMotionDue(_ state: MotionState) -> Bool {
        let sent = sentMotion
        let deadband = streams.motionDeadband
        let rotationDeadband = streams.rotationDeadband
        return streams.motionGate.isDue(at: state.timestamp) {
            (state.linearAcceleration - sent.linearAcceleration).length >= deadband
                || (state.gravity - sent.gravity).length >= deadband
                || (state.rotationRate - sent.rotationRate).length >= rotationDeadband
        }
    }

    /// What is held back now is still news later: the last state is never left out.
    private mutating func isStateDue(_ state: DeviceState, at time: Timestamp) -> Bool {
        guard let sent = sentState else { return true }
        if state.differs(from: sent) { return stateGate.isDue(at: time) { true } }
        let isTilted = state.tiltDiffers(from: sent) && tiltGate.isDue(at: time) { true }
        let vibrates = state.vibrationDiffers(from: sent) && vibrationGate.isDue(at: time) { true }
        return isTilted || vibrates
    }
}
