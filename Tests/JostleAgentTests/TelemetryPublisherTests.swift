import Foundation
import JostleConfiguration
import JostleMessages
import MosquittoClient
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: whoever listens learns everything at a connection, and of the rest no more than is worth it.
@Suite struct TelemetryPublisherTests {
    /// A publisher, and the ends of the topics of what it published.
    private final class Wire {
        var bench: ParticipantBench<TelemetryPublisher>

        init(_ publish: JostleSettings.Publish) {
            bench = ParticipantBench(
                TelemetryPublisher(topics: Topics(prefix: "jostle", id: "a"), publish: publish, isSimulated: false))
        }

        func connected() { bench.tell(.connected) }
        func publish(_ state: MotionState) { bench.carryOut(bench.participant.handle(state)) }
        func setStopped(_ isStopped: Bool) {
            bench.carryOut(bench.participant.setStopped(isStopped, at: bench.clocks))
        }

        /// What came since the last look: the end of the topic, and the message.
        func news() -> [(topic: String, message: MQTTMessage)] {
            bench.news().map { ($0.message.topic.replacing("jostle/a/", with: ""), $0.message) }
        }

        func topics() -> [String] { news().map(\.topic) }
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

    @Test func nothingIsKeptWithoutAConnection() {
        wire.publish(state(at: 1))
        wire.bench.carryOut(wire.bench.participant.publish(health: JSONObject()))
        #expect(wire.topics().isEmpty)
    }

    @Test func aConnectionBeginsWithOnlineAndWhatHolds() {
        wire.publish(state(at: 1))
        wire.connected()
        let news = wire.news()
        #expect(news.map(\.topic) == ["availability", "attitude", "motion", "state"])
        #expect(
            news.first?.message
                == MQTTMessage(topic: "jostle/a/availability", text: "online", qos: .atLeastOnce, retain: true))
        #expect(news.map(\.message.qos.rawValue) == [1, 0, 0, 1])
        #expect(news.map(\.message.retain) == [true, false, false, true])
    }

    @Test func anotherVibrationIsToldWhereItIsClearlyAnotherAndNotTooOften() {
        wire.connected()
        _ = wire.news()
        var told: [Double] = []
        // Every second: nothing, then more by a fifth and a bit each time.
        for second in 1...21 {
            var state = state(at: Double(second))
            state.vibrationLevel = second < 5 ? 0.01 : 0.3 * (second < 15 ? 1 : 1.1)
            wire.publish(state)
            if wire.news().contains(where: { $0.topic == "state" }) { told.append(Double(second)) }
        }
        // The first state of all, and the machine's start; a tenth more is none.
        #expect(told == [1, 5])
        for second in 22...31 {
            var state = state(at: Double(second))
            state.vibrationLevel = Double(second)
            wire.publish(state)
            if wire.news().contains(where: { $0.topic == "state" }) { told.append(Double(second)) }
        }
        #expect(told.count == 4 && told[3] - told[2] >= 5, "\(told)")
    }

    @Test func otherRatesAreInForceAtOnce() {
        wire.connected()
        wire.publish(state(at: 1))
        _ = wire.news()
        var publish = JostleSettings().publish
        publish.attitude = JostleSettings.Stream(rate: 1, deadband: 20 * radiansPerDegree, heartbeat: 0)
        publish.motion.rate = 0
        wire.bench.participant.change(publish)
        // The first is told as after a connection.
        wire.publish(state(at: 1.1, yaw: 2))
        #expect(wire.news().map(\.topic) == ["attitude"])
        for (time, degrees) in [(1.2, 90.0), (2.3, 12), (2.4, 30), (2.5, 90)] {
            wire.publish(state(at: time, yaw: degrees))
        }
        #expect(wire.news().map(\.topic) == ["attitude"])
    }

    @Test func whoListensAnewIsToldTheAttitudeAlthoughNothingMoves() {
        wire.connected()
        wire.publish(state(at: 1))
        wire.publish(state(at: 2))
        _ = wire.news()
        wire.publish(state(at: 3))
        #expect(wire.news().isEmpty)
        wire.bench.participant.makeTelemetryDue()
        wire.publish(state(at: 3.02))
        #expect(wire.news().map(\.topic) == ["attitude", "motion"])
    }

    @Test func attitudeKeepsToRateAndDeadBand() {
        wire.connected()
        wire.publish(state(at: 1))
        _ = wire.topics()
        wire.publish(state(at: 1.05, yaw: 20))
        #expect(wire.topics().isEmpty)
        wire.publish(state(at: 1.1, yaw: 0.9))
        #expect(wire.topics().isEmpty)
        wire.publish(state(at: 1.2, yaw: -1.1))
        #expect(wire.topics() == ["attitude"])
        wire.publish(state(at: 31.2, yaw: -1.1))
        #expect(wire.topics() == ["attitude"])
    }

    /// A part of the motion state; closures among a test's arguments crash Swift 6.0.3.
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
    func motionIsPublishedWhereOneOfItsPartsChanges(part: MotionPart) {
        wire.connected()
        wire.publish(state(at: 1))
        _ = wire.topics()
        var other = state(at: 2)
        wire.publish(other)
        #expect(wire.topics().isEmpty)
        part.change(&other)
        wire.publish(other)
        // Another gravity is another tilt as well.
        #expect(wire.topics().filter { $0 != "state" } == ["motion"])
    }

    @Test func stateIsPublishedWhereItChangesAndTheLastChangeIsNeverLeftOut() {
        wire.connected()
        var state = state(at: 1)
        /// Whether the state is told that is there at this time.
        func isTold(at seconds: Double) -> Bool {
            state.timestamp = Timestamp(seconds: seconds)
            wire.publish(state)
            return wire.topics().contains("state")
        }
        #expect(isTold(at: 1))
        #expect(!isTold(at: 2))
        state.isMoving = true
        #expect(isTold(at: 3))
        state.side = .minusX
        #expect(!isTold(at: 3.1))
        #expect(isTold(at: 3.25))
        #expect(!isTold(at: 100))
    }

    @Test func anotherTiltAloneIsToldEveryTwoSeconds() {
        wire.connected()
        let times = (0..<60).filter { index in
            var state = state(at: 1 + Double(index) / 10)
            // 30° a second about x, from 30° on: never back where it was.
            let pose = Quaternion(angle: (30 + 3 * Double(index)) * radiansPerDegree, axis: Vector3(1, 0, 0))
            state.gravity = pose.unrotate(Vector3(0, 0, standardGravity))
            wire.publish(state)
            return wire.topics().contains("state")
        }
        #expect(times == [0, 1, 21, 41])
    }

    @Test func aStateThatTheClientDidNotTakeIsStillNews() {
        wire.connected()
        wire.publish(state(at: 1))
        #expect(wire.topics().contains("state"))
        wire.bench.tell(.notSent([.state]))
        wire.publish(state(at: 2))
        #expect(wire.topics().contains("state"))
    }

    /// An access list may leave the state out: it is not tried with each sample.
    @Test func aStateThatTheBrokerRefusesIsNotRepeated() {
        wire.connected()
        wire.publish(state(at: 1))
        _ = wire.topics()
        wire.bench.tell(.rejected(.state, topic: "jostle/a/state", .refused(.notAuthorised)))
        wire.publish(state(at: 2))
        #expect(!wire.topics().contains("state"))
    }

    @Test func healthIsRetained() {
        wire.connected()
        _ = wire.topics()
        wire.bench.carryOut(wire.bench.participant.publish(health: JSONObject()))
        #expect(wire.news().map(\.message) == [MQTTMessage(topic: "jostle/a/health", text: "{}", retain: true)])
    }

    /// Who listens sees that nothing is sensed, also one that comes later; what comes of a stuck thread is no news.
    @Test func aStopIsToldWithTheStateAndEndsWhatIsSent() {
        wire.setStopped(true)
        wire.connected()
        var state = state(at: 1)
        wire.publish(state)
        var news = wire.news()
        #expect(news.map(\.topic) == ["availability", "state"])
        #expect(lastText(news).contains("\"moving\":false,\"vibrating\":false,\"simulated\":false,\"stopped\":true}"))

        wire.setStopped(false)
        #expect(wire.news().isEmpty)
        state.isMoving = true
        wire.publish(state)
        news = wire.news()
        #expect(news.map(\.topic) == ["attitude", "motion", "state"])
        #expect(lastText(news).contains("\"moving\":true"))
        #expect(lastText(news).contains("\"stopped\":false}"))

        wire.setStopped(true)
        wire.setStopped(true)
        wire.publish(state)
        news = wire.news()
        #expect(news.map(\.topic) == ["state"] && news.first?.message.retain == true)
        #expect(lastText(news).contains("\"moving\":false,\"side\":\"+z\""))
        #expect(lastText(news).contains("\"stopped\":true}"))
        wire.bench.tell(.disconnected(undelivered: []))
        wire.connected()
        #expect(wire.topics() == ["availability", "state"])
        wire.setStopped(false)
        #expect(lastText(wire.news()).contains("\"stopped\":false}"))
    }

    /// Either dead band is enough for `motion`, and each is the configured one, also where it is set while it runs.
    @Test func rotationHasADeadBandOfItsOwn() {
        var publish = JostleSettings().publish
        publish.attitude.rate = 0
        publish.motion = JostleSettings.Stream(rate: 5, deadband: 0.5, heartbeat: 0)
        publish.rotationDeadband = 10 * radiansPerDegree
        let wire = Wire(publish)
        wire.connected()
        var state = state(at: 1)
        wire.publish(state)
        _ = wire.news()
        func isTold(at seconds: Double, rotation degrees: Double, acceleration: Double) -> Bool {
            state.timestamp = Timestamp(seconds: seconds)
            state.rotationRate = Vector3(0, degrees * radiansPerDegree, 0)
            state.linearAcceleration = Vector3(0, 0, acceleration)
            wire.publish(state)
            return wire.topics() == ["motion"]
        }
        #expect(!isTold(at: 2, rotation: 9, acceleration: 0.4))
        #expect(isTold(at: 3, rotation: 11, acceleration: 0))
        #expect(!isTold(at: 3.1, rotation: 90, acceleration: 9))
        #expect(isTold(at: 4, rotation: 11, acceleration: -0.6))
        #expect(!isTold(at: 5, rotation: 2, acceleration: -0.6))

        publish.rotationDeadband = 5 * radiansPerDegree
        wire.bench.participant.change(publish)
        #expect(isTold(at: 6, rotation: 2, acceleration: -0.6))
        #expect(!isTold(at: 7, rotation: -2, acceleration: -0.6))
        #expect(isTold(at: 8, rotation: -4, acceleration: -0.6))
        publish.motion.deadband = 0.1
        wire.bench.participant.change(publish)
        #expect(isTold(at: 9, rotation: -4, acceleration: -0.6))
        #expect(isTold(at: 10, rotation: -4, acceleration: -0.8))
    }

    private func lastText(_ news: [(topic: String, message: MQTTMessage)]) -> String {
        String(decoding: news.last?.message.payload ?? [], as: UTF8.self)
    }
}
