import Documents
import JostleConfiguration
import JostleMessages
import MosquittoClient
import MotionCore
import Testing

@testable import JostleAgent

extension ParticipantBench<TelemetryPublisher> {
    mutating func connect() {
        let effects = participant.handle(.connected, at: clocks)
        carryOut(effects)
        // Nobody publishes anything before the device is online.
        #expect(effects.last == .request(.open))
        #expect(participant.motion.messages(of: MotionState()).isEmpty)
        participant.open()
    }

    /// Publishes as the agent does, whose delivery thread asks whether the loop has a state to publish.
    mutating func publish(_ state: MotionState) {
        carryOut(participant.motion.messages(of: state).map { .publish($0) })
        let isStateDue = participant.motion.isStateDue(state)
        let effects = participant.handle(state)
        #expect(isStateDue != effects.isEmpty)
        carryOut(effects)
    }
}

/// Requirement: listeners get all values at a connection, and afterwards only significant changes.
@Suite struct TelemetryPublisherTests {
    /// A publisher and the last topic levels of its messages.
    private final class Wire {
        var bench: ParticipantBench<TelemetryPublisher>

        init(_ publish: JostleSettings.Publish) {
            bench = ParticipantBench(
                TelemetryPublisher(topics: Topics(prefix: "jostle", id: "a"), publish: publish, isSimulated: false))
        }

        func connected() { bench.connect() }

        /// Connects, and takes what is published then and about a state.
        func connect(with state: MotionState? = nil) {
            connected()
            if let state { publish(state) }
            _ = takePublished()
        }

        func publish(_ state: MotionState) { bench.publish(state) }
        func setStopped(_ isStopped: Bool) {
            bench.carryOut(bench.participant.setStopped(isStopped, at: bench.clocks))
        }

        /// The messages since the last call, each with the last level of its topic.
        func takePublished() -> [(topic: String, message: MQTTMessage)] {
            bench.takePublished().map { ($0.message.topic.replacing("jostle/a/", with: ""), $0.message) }
        }

        func topics() -> [String] { takePublished().map(\.topic) }
    }

    private let wire: Wire

    init() {
        var publish = JostleSettings().publish
        publish.attitude = JostleSettings.Stream(rate: 10, deadband: 1 * radiansPerDegree, heartbeat: 30)
        publish.motion = JostleSettings.Stream(rate: 5, deadband: 0.5, heartbeat: 0)
        wire = Wire(publish)
    }

    private func state(at seconds: Double, yaw degrees: Double = 0) -> MotionState {
        var state = MotionState()
        state.timestamp = Timestamp(seconds: seconds)
        state.relativeAttitude = Quaternion(angle: degrees * radiansPerDegree, axis: Vector3(0, 0, 1))
        return state
    }

    @Test func publishesNothingWhileDisconnected() {
        wire.publish(state(at: 1))
        wire.bench.carryOut(wire.bench.participant.publish(health: JSONObject()))
        #expect(wire.topics().isEmpty)
    }

    @Test func publishesOnlineAndCurrentValuesOnConnect() {
        wire.publish(state(at: 1))
        wire.connected()
        let published = wire.takePublished()
        #expect(published.map(\.topic) == ["availability", "attitude", "motion", "state"])
        #expect(
            published.first?.message
                == MQTTMessage(topic: "jostle/a/availability", text: "online", qos: .atLeastOnce, retain: true))
        #expect(published.map(\.message.qos.rawValue) == [1, 0, 0, 1])
        #expect(published.map(\.message.retain) == [true, false, false, true])
    }

    /// Plain values come with the message that they are a part of, and are retained if that is.
    @Test func publishesPlainValuesIfWanted() throws {
        var publish = JostleSettings().publish
        publish.plain = true
        _ = wire.bench.participant.change(publish)
        wire.connected()
        _ = wire.takePublished()
        var moving = state(at: 1, yaw: 12.345)
        moving.isMoving = true
        moving.temperature = 23.45
        wire.publish(moving)
        let published = wire.takePublished()
        #expect(
            published.map(\.topic) == [
                "attitude", "plain/roll", "plain/pitch", "plain/yaw", "motion", "plain/temperature", "state",
                "plain/moving", "plain/side", "plain/tilt", "plain/vibrating",
            ])
        let texts = published.filter { $0.topic.hasPrefix("plain/") }.map {
            String(decoding: $0.message.payload, as: UTF8.self)
        }
        #expect(texts == ["0", "0", "12.35", "23.5", "true", "+z", "0", "false"], "\(texts)")
        for (topic, message) in published {
            let isState =
                topic == "state" || ["moving", "side", "tilt", "vibrating"].contains { topic == "plain/\($0)" }
            #expect(message.retain == isState && (message.qos == .atLeastOnce) == isState, "\(topic)")
        }
        // They follow the dead bands of their messages.
        wire.publish(state(at: 1.2, yaw: 12.4))
        #expect(
            wire.topics().filter { $0.hasPrefix("plain/") && !$0.contains("moving") }.allSatisfy {
                ["plain/side", "plain/tilt", "plain/vibrating"].contains($0)
            })
        // Those that the broker retains are removed.
        publish.plain = false
        wire.bench.carryOut(wire.bench.participant.change(publish))
        let removed = wire.takePublished()
        #expect(removed.map(\.topic) == ["plain/moving", "plain/side", "plain/tilt", "plain/vibrating"])
        #expect(removed.allSatisfy { $0.message.payload.isEmpty && $0.message.retain })
        wire.publish(state(at: 2))
        #expect(wire.topics() == ["attitude", "motion", "state"])
    }

    @Test func limitsVibrationLevelUpdates() {
        wire.connect()
        var times: [Double] = []
        // Once a second: first nothing, then each time a little more than a fifth above the last.
        for second in 1...21 {
            var state = state(at: Double(second))
            state.vibrationLevel = second < 5 ? 0.03 * Double(second % 2) : 0.3 * (second < 15 ? 1 : 1.1)
            wire.publish(state)
            if wire.takePublished().contains(where: { $0.topic == "state" }) { times.append(Double(second)) }
        }
        // The first state, and the machine's start. A change of a tenth is not published.
        #expect(times == [1, 5])
        for second in 22...31 {
            var state = state(at: Double(second))
            state.vibrationLevel = Double(second)
            wire.publish(state)
            if wire.takePublished().contains(where: { $0.topic == "state" }) { times.append(Double(second)) }
        }
        #expect(times.count == 4 && times[3] - times[2] >= 5, "\(times)")
    }

    @Test func appliesNewRatesAtOnce() {
        wire.connect(with: state(at: 1))
        var publish = JostleSettings().publish
        publish.attitude = JostleSettings.Stream(rate: 1, deadband: 20 * radiansPerDegree, heartbeat: 0)
        publish.motion.rate = 0
        _ = wire.bench.participant.change(publish)
        // The first one is published as after a connection.
        wire.publish(state(at: 1.1, yaw: 2))
        #expect(wire.takePublished().map(\.topic) == ["attitude"])
        for (time, degrees) in [(1.2, 90.0), (2.3, 12), (2.4, 30), (2.5, 90)] {
            wire.publish(state(at: time, yaw: degrees))
        }
        #expect(wire.takePublished().map(\.topic) == ["attitude"])
    }

    @Test func republishesForNewListener() {
        wire.connected()
        wire.publish(state(at: 1))
        wire.publish(state(at: 2))
        _ = wire.takePublished()
        wire.publish(state(at: 3))
        #expect(wire.takePublished().isEmpty)
        wire.bench.participant.makeTelemetryDue()
        wire.publish(state(at: 3.02))
        #expect(wire.takePublished().map(\.topic) == ["attitude", "motion"])
    }

    @Test func attitudeRespectsRateAndDeadBand() {
        wire.connect(with: state(at: 1))
        wire.publish(state(at: 1.05, yaw: 20))
        #expect(wire.topics().isEmpty)
        wire.publish(state(at: 1.1, yaw: 0.9))
        #expect(wire.topics().isEmpty)
        wire.publish(state(at: 1.2, yaw: -1.1))
        #expect(wire.topics() == ["attitude"])
        wire.publish(state(at: 31.2, yaw: -1.1))
        #expect(wire.topics() == ["attitude"])
    }

    /// A part of the motion state. Closures as test arguments crash the 6.0.3 compiler.
    enum MotionPart: CaseIterable, Sendable {
        case acceleration
        case gravity
        case rotation

        func change(_ state: inout MotionState) {
            switch self {
            case .acceleration: state.linearAcceleration = Vector3(0, -0.6, 0)
            case .gravity: state.gravity.x += 0.6
            case .rotation: state.rotationRate = Vector3(0, 0, -1.1 * radiansPerDegree)
            }
        }
    }

    @Test(arguments: MotionPart.allCases)
    func publishesMotionWhenAnyPartChanges(part: MotionPart) {
        wire.connect(with: state(at: 1))
        var other = state(at: 2)
        wire.publish(other)
        #expect(wire.topics().isEmpty)
        part.change(&other)
        wire.publish(other)
        // A change of gravity also changes the tilt.
        #expect(wire.topics().filter { $0 != "state" } == ["motion"])
    }

    @Test func publishesLastStateChange() {
        wire.connected()
        var state = state(at: 1)
        /// Whether a state is published at this time.
        func isPublished(at seconds: Double) -> Bool {
            state.timestamp = Timestamp(seconds: seconds)
            wire.publish(state)
            return wire.topics().contains("state")
        }
        #expect(isPublished(at: 1))
        #expect(!isPublished(at: 2))
        state.isMoving = true
        #expect(isPublished(at: 3))
        state.side = .minusX
        #expect(!isPublished(at: 3.1))
        #expect(isPublished(at: 3.25))
        #expect(!isPublished(at: 100))
    }

    @Test func limitsTiltUpdates() {
        wire.connected()
        let times = (0..<60).filter { index in
            var state = state(at: 1 + Double(index) / 10)
            // 30° a second about x, starting at 30°: it never returns to its start.
            let pose = Quaternion(angle: (30 + 3 * Double(index)) * radiansPerDegree, axis: Vector3(1, 0, 0))
            state.gravity = pose.unrotate(Vector3(0, 0, standardGravity))
            wire.publish(state)
            return wire.topics().contains("state")
        }
        #expect(times == [0, 1, 21, 41])
    }

    @Test func republishesUnsentState() {
        wire.connected()
        wire.publish(state(at: 1))
        #expect(wire.topics().contains("state"))
        wire.bench.deliver(.notSent([.state]))
        wire.publish(state(at: 2))
        #expect(wire.topics().contains("state"))
    }

    /// An access list may forbid the state; it is not retried with each sample.
    @Test func doesNotRepeatRejectedState() {
        wire.connect(with: state(at: 1))
        wire.bench.deliver(.rejected(.state, topic: "jostle/a/state", .refused(.notAuthorised)))
        wire.publish(state(at: 2))
        #expect(!wire.topics().contains("state"))
    }

    @Test func healthIsRetained() {
        wire.connect()
        wire.bench.carryOut(wire.bench.participant.publish(health: JSONObject()))
        #expect(
            wire.takePublished().map(\.message) == [MQTTMessage(topic: "jostle/a/health", text: "{}", retain: true)])
    }

    /// Present and later listeners see that sensing is stopped. A state that a stuck thread still delivers is not
    /// published.
    @Test func publishesStopAndPausesTelemetry() {
        wire.setStopped(true)
        wire.connected()
        var state = state(at: 1)
        wire.publish(state)
        var published = wire.takePublished()
        #expect(published.map(\.topic) == ["availability", "state"])
        #expect(
            lastText(published).contains("\"moving\":false,\"vibrating\":false,\"simulated\":false,\"stopped\":true}"))

        wire.setStopped(false)
        #expect(wire.takePublished().isEmpty)
        state.isMoving = true
        wire.publish(state)
        published = wire.takePublished()
        #expect(published.map(\.topic) == ["attitude", "motion", "state"])
        #expect(lastText(published).contains("\"moving\":true"))
        #expect(lastText(published).contains("\"stopped\":false}"))

        wire.setStopped(true)
        wire.setStopped(true)
        wire.publish(state)
        published = wire.takePublished()
        #expect(published.map(\.topic) == ["state"] && published.first?.message.retain == true)
        #expect(lastText(published).contains("\"moving\":false,\"side\":\"+z\""))
        #expect(lastText(published).contains("\"stopped\":true}"))
        wire.bench.deliver(.disconnected(undelivered: []))
        wire.connected()
        #expect(wire.topics() == ["availability", "state"])
        wire.setStopped(false)
        #expect(lastText(wire.takePublished()).contains("\"stopped\":false}"))
    }

    /// Either dead band triggers `motion`, and each is configurable, also at run time.
    @Test func rotationHasOwnDeadBand() {
        var publish = JostleSettings().publish
        publish.attitude.rate = 0
        publish.motion = JostleSettings.Stream(rate: 5, deadband: 0.5, heartbeat: 0)
        publish.rotationDeadband = 10 * radiansPerDegree
        let wire = Wire(publish)
        wire.connected()
        var state = state(at: 1)
        wire.publish(state)
        _ = wire.takePublished()
        func isPublished(at seconds: Double, rotation degrees: Double, acceleration: Double) -> Bool {
            state.timestamp = Timestamp(seconds: seconds)
            state.rotationRate = Vector3(0, degrees * radiansPerDegree, 0)
            state.linearAcceleration = Vector3(0, 0, acceleration)
            wire.publish(state)
            return wire.topics() == ["motion"]
        }
        #expect(!isPublished(at: 2, rotation: 9, acceleration: 0.4))
        #expect(isPublished(at: 3, rotation: 11, acceleration: 0))
        #expect(!isPublished(at: 3.1, rotation: 90, acceleration: 9))
        #expect(isPublished(at: 4, rotation: 11, acceleration: -0.6))
        #expect(!isPublished(at: 5, rotation: 2, acceleration: -0.6))

        publish.rotationDeadband = 5 * radiansPerDegree
        _ = wire.bench.participant.change(publish)
        #expect(isPublished(at: 6, rotation: 2, acceleration: -0.6))
        #expect(!isPublished(at: 7, rotation: -2, acceleration: -0.6))
        #expect(isPublished(at: 8, rotation: -4, acceleration: -0.6))
        publish.motion.deadband = 0.1
        _ = wire.bench.participant.change(publish)
        #expect(isPublished(at: 9, rotation: -4, acceleration: -0.6))
        #expect(isPublished(at: 10, rotation: -4, acceleration: -0.8))
    }

    private func lastText(_ published: [(topic: String, message: MQTTMessage)]) -> String {
        String(decoding: published.last?.message.payload ?? [], as: UTF8.self)
    }
}
