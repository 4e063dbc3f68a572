internal import IMUDrivers
internal import JostleConfiguration
public import JostleMessages
public import MosquittoClient
public import MotionCore
internal import Synchronization

/// The last responder of the chain: turns motion, gestures and the sensor's fate into messages.
///
/// It is told of motion on the delivery thread and of the connection on the network thread. Events go through the
/// outbox and arrive at least once; everything else is told as it is now or not at all.
public final class Publisher: Sendable {
    /// Hands a message to the client; returns false where it does not take it now.
    public typealias Send = @Sendable (MQTTMessage, MQTTToken?) -> Bool

    private let topics: Topics
    private let isSimulated: Bool
    private let run: String
    private let outbox: OutboxCourier
    private let send: Send
    private let mutable: Mutex<Mutable>

    private struct Mutable {
        var isConnected = false
        var events: UInt64 = 0
        /// The event that was told last of all, by actions or as itself.
        var stamped: (event: GestureEvent, stamp: EventStamp)?
        var telemetry: Telemetry
        /// Another side, or that it moves, is told a few times a second at most; another tilt alone once in two seconds,
        /// another vibration alone once in five.
        var stateGate = TelemetryGate(rate: 5, heartbeat: 0)
        var tiltGate = TelemetryGate(rate: 0.5, heartbeat: 0)
        var vibrationGate = TelemetryGate(rate: 0.2, heartbeat: 0)
        var sentAttitude = Quaternion.identity
        var sentMotion = MotionState()
        var sentState: DeviceState?
        var latest: MotionState?
        /// Nothing is sensed, by somebody's wish.
        var isStopped = false
    }

    /// How often attitude and motion are told, and what change is worth it; gates that have told nothing yet.
    private struct Telemetry {
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
    }

    /// Makes a publisher that takes itself to be not connected.
    ///
    /// `publish` says rates, dead bands and heartbeats. `run` is a word that no other start of any device has: events are
    /// numbered after it.
    init(
        topics: Topics, publish: JostleSettings.Publish, run: String, isSimulated: Bool, outbox: OutboxCourier,
        send: @escaping Send
    ) {
        self.outbox = outbox
        self.topics = topics
        self.run = run
        self.isSimulated = isSimulated
        self.send = send
        mutable = Mutex(Mutable(telemetry: Telemetry(publish)))
    }

    /// Changes rates, dead bands and heartbeats; the next state is published whatever the last was.
    func change(_ publish: JostleSettings.Publish) {
        mutable.withLock { $0.telemetry = Telemetry(publish) }
    }

    /// Makes the next states worth a message: somebody new may be listening.
    func tellAnew() {
        mutable.withLock { mutable in
            mutable.telemetry.attitudeGate.reset()
            mutable.telemetry.motionGate.reset()
        }
    }

    /// A word for one start of the agent: 64 random bits, hexadecimal.
    public static func newRun() -> String {
        RunName.new()
    }

    // MARK: From the main thread

    /// Says whether sensing is stopped, which the state then tells at once: with what was last known of the rest, and
    /// neither moving nor vibrating.
    func setStopped(_ isStopped: Bool) {
        mutable.withLock { mutable in
            guard mutable.isStopped != isStopped else { return }
            mutable.isStopped = isStopped
            if isStopped { mutable.latest?.isMoving = false }
            if isStopped { mutable.latest?.isVibrating = false }
            mutable.sentState = nil
            if mutable.isConnected { publishStopOrStart(&mutable) }
        }
    }

    private func publishStopOrStart(_ mutable: inout Mutable) {
        let now = WallClock.milliseconds(at: WallClock.monotonic)
        let payload: JSONObject
        if let latest = mutable.latest {
            let state = DeviceState(latest, isSimulated: isSimulated, isStopped: mutable.isStopped)
            mutable.sentState = state
            payload = Payloads.state(state, at: now)
        } else if mutable.isStopped {
            payload = Payloads.stoppedState(at: now, isSimulated: isSimulated)
        } else {
            return
        }
        if !send(stateMessage(payload), nil) { mutable.sentState = nil }
    }

    private func stateMessage(_ payload: JSONObject) -> MQTTMessage {
        MQTTMessage(topic: topics.state, payload: payload.bytes, qos: .atLeastOnce, retain: true)
    }

    // MARK: From the delivery thread

    /// Publishes what of the motion state is worth it.
    public func publish(_ state: MotionState) {
        mutable.withLock { mutable in
            // A delivery thread that was left behind by a stop may still have one.
            guard !mutable.isStopped else { return }
            mutable.latest = state
            guard mutable.isConnected else { return }
            publishAttitude(state, &mutable)
            publishMotion(state, &mutable)
            publishState(state, &mutable)
        }
    }

    /// Puts an event into the outbox and sends it where there is a connection.
    public func publish(_ event: GestureEvent) {
        mutable.withLock { mutable in
            let fields = Payloads.fields(event, isSimulated: isSimulated || event.isSimulated).fields
            let stamp = stamp(event, &mutable)
            var time = EventTime(event.timestamp, .now())
            time.wall = stamp.time
            let message = OutgoingMessage(
                topic: topics.event(event.gesture), content: .event(id: stamp.id, fields: fields), time: time)
            let gesture = OpenGesture(gesture: event.gesture, isSimulated: event.isSimulated)
            // Under the lock, so that numbers and order agree.
            switch event.phase {
            case .began: outbox.post(.note(gesture, isOpen: true), .add(message))
            case .ended, .cancelled: outbox.post(.note(gesture, isOpen: false), .add(message))
            case .changed, .recognized: outbox.post(.add(message))
            }
        }
    }

    /// Puts an action's message about an event of the instant `time` into the outbox, after the events that were there
    /// before; `lifetime` seconds later it is dropped where it could not be sent.
    func publish(_ message: MQTTMessage, at time: Timestamp, lifetime: Double?) {
        outbox.post(
            .add(
                OutgoingMessage(
                    topic: message.topic, content: .fixed(message.payload), qos: message.qos,
                    isRetained: message.retain, time: EventTime(time, .now()), lifetime: lifetime)))
    }

    /// The id and the time under which an event is told, whoever asks for them first.
    func stamp(_ event: GestureEvent) -> EventStamp {
        mutable.withLock { stamp(event, &$0) }
    }

    private func stamp(_ event: GestureEvent, _ mutable: inout Mutable) -> EventStamp {
        if let stamped = mutable.stamped, stamped.event == event { return stamped.stamp }
        mutable.events += 1
        let stamp = EventStamp(
            id: "\(run)-\(mutable.events)", time: WallClock.milliseconds(at: event.timestamp))
        mutable.stamped = (event, stamp)
        return stamp
    }

    /// Publishes a health report.
    public func publishHealth(_ report: JSONObject) {
        guard mutable.withLock({ $0.isConnected }) else { return }
        _ = send(MQTTMessage(topic: topics.health, payload: report.bytes, qos: .atMostOnce, retain: true), nil)
    }

    // MARK: From the network thread

    /// A connection was made: the device is online, and whoever listens is told everything anew.
    public func connected() {
        mutable.withLock { mutable in
            mutable.isConnected = true
            _ = send(Publisher.availability("online", topics), nil)
            mutable.telemetry.attitudeGate.reset()
            mutable.telemetry.motionGate.reset()
            mutable.sentState = nil
            outbox.post(.connected)
            if mutable.isStopped {
                publishStopOrStart(&mutable)
            } else if let latest = mutable.latest {
                publishAttitude(latest, &mutable)
                publishMotion(latest, &mutable)
                publishState(latest, &mutable)
            }
        }
    }

    /// The connection is lost, and the messages of these tokens came back.
    public func disconnected(undelivered: [MQTTToken]) {
        mutable.withLock { $0.isConnected = false }
        outbox.post(.disconnected(undelivered: undelivered.map(\.rawValue)))
    }

    /// The broker has a message.
    public func acknowledged(_ token: MQTTToken) {
        outbox.post(.acknowledged(token.rawValue))
    }

    /// The broker will never take a message.
    public func rejected(_ token: MQTTToken) {
        outbox.post(.rejected(token.rawValue))
    }

    /// The message that tells whether the device is there; `offline` is also the will.
    static func availability(_ word: String, _ topics: Topics) -> MQTTMessage {
        MQTTMessage(topic: topics.availability, payload: Array(word.utf8), qos: .atLeastOnce, retain: true)
    }

    // MARK: What is worth a message

    private func publishAttitude(_ state: MotionState, _ mutable: inout Mutable) {
        let sent = mutable.sentAttitude
        let deadband = mutable.telemetry.attitudeDeadband
        let isDue = mutable.telemetry.attitudeGate.isDue(at: state.timestamp) {
            sent.angle(to: state.relativeAttitude) >= deadband
        }
        guard isDue else { return }
        mutable.sentAttitude = state.relativeAttitude
        let payload = Payloads.attitude(state, at: WallClock.milliseconds(at: state.timestamp))
        _ = send(MQTTMessage(topic: topics.attitude, payload: payload.bytes, qos: .atMostOnce, retain: false), nil)
    }

    private func publishMotion(_ state: MotionState, _ mutable: inout Mutable) {
        let sent = mutable.sentMotion
        let deadband = mutable.telemetry.motionDeadband
        let rotationDeadband = mutable.telemetry.rotationDeadband
        let isDue = mutable.telemetry.motionGate.isDue(at: state.timestamp) {
            (state.linearAcceleration - sent.linearAcceleration).length >= deadband
                || (state.gravity - sent.gravity).length >= deadband
                || (state.rotationRate - sent.rotationRate).length >= rotationDeadband
        }
        guard isDue else { return }
        mutable.sentMotion = state
        let payload = Payloads.motion(state, at: WallClock.milliseconds(at: state.timestamp))
        _ = send(MQTTMessage(topic: topics.motion, payload: payload.bytes, qos: .atMostOnce, retain: false), nil)
    }

    private func publishState(_ state: MotionState, _ mutable: inout Mutable) {
        let now = DeviceState(state, isSimulated: isSimulated)
        // What is held back now is still news later: the last state is never left out.
        if let sent = mutable.sentState {
            if now.differs(from: sent) {
                guard mutable.stateGate.isDue(at: state.timestamp, hasChanged: { true }) else { return }
            } else {
                let time = state.timestamp
                let isTilted = now.isTilted(from: sent) && mutable.tiltGate.isDue(at: time) { true }
                let vibrates = now.vibratesOtherwise(than: sent) && mutable.vibrationGate.isDue(at: time) { true }
                guard isTilted || vibrates else { return }
            }
        }
        let payload = Payloads.state(now, at: WallClock.milliseconds(at: state.timestamp))
        if send(stateMessage(payload), nil) { mutable.sentState = now }
    }
}

/// What an event is told by, wherever it is told.
struct EventStamp: Equatable, Sendable {
    /// Unique among all events of all devices and starts.
    var id: String

    /// When it was measured, milliseconds since 1970.
    var time: Int64
}
