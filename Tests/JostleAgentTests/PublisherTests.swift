import Foundation
import JostleConfiguration
import JostleMessages
import MosquittoClient
import MotionCore
import Synchronization
import Testing

@testable import JostleAgent

/// Requirement: who listens learns everything anew at a connection, events in order and at least once, and of the rest
/// no more than is worth it.
@Suite struct PublisherTests {
    /// A client that keeps what it is given, as far as it takes it.
    private final class Wire: Sendable {
        struct State {
            var takes = true
            var messages: [(message: MQTTMessage, token: MQTTToken?)] = []
        }

        let state = Mutex(State())

        func send(_ message: MQTTMessage, _ token: MQTTToken?) -> Bool {
            state.withLock { state in
                if state.takes { state.messages.append((message, token)) }
                return state.takes
            }
        }

        /// Has the outbox do what it was told, as its thread does.
        let outbox = Mutex<OutboxCourier?>(nil)

        /// What came since the last look: the end of the topic, and the message.
        func news() -> [(topic: String, message: MQTTMessage, token: MQTTToken?)] {
            outbox.withLock { _ = $0?.workOff() }
            return state.withLock { state in
                defer { state.messages = [] }
                return state.messages.map { ($0.message.topic.replacing("jostle/a/", with: ""), $0.message, $0.token) }
            }
        }

        func topics() -> [String] { news().map(\.topic) }
    }

    private let wire = Wire()
    private let publisher: Publisher

    private let outbox: OutboxCourier

    init() throws {
        let wire = wire
        outbox = try #require(OutboxCourier.inMemory { wire.send($0, $1) })
        wire.outbox.withLock { [outbox] in $0 = outbox }
        var publish = JostleSettings().publish
        publish.attitude = JostleSettings.Stream(rate: 10, deadband: 1 * radiansPerDegree, heartbeat: 30)
        publish.motion = JostleSettings.Stream(rate: 5, deadband: 0.5, heartbeat: 0)
        publisher = Publisher(
            topics: Topics(prefix: "jostle", id: "a"), publish: publish, run: "f00d", isSimulated: false,
            outbox: outbox
        ) {
            wire.send($0, $1)
        }
    }

    private var waiting: Int { outbox.figures.count }

    private func state(at seconds: Double, yaw degrees: Double = 0) -> MotionState {
        var state = MotionState()
        state.timestamp = Timestamp(seconds: seconds)
        state.relativeAttitude = Quaternion(angle: degrees * radiansPerDegree, axis: Vector3(0, 0, 1))
        return state
    }

    private func shake(_ phase: GesturePhase) -> GestureEvent { GestureEvent(.shake, phase, at: WallClock.monotonic) }

    @Test func availabilityIsRetainedAndAcknowledged() {
        let message = Publisher.availability("offline", Topics(prefix: "jostle", id: "washer-1"))
        #expect(message.topic == "jostle/washer-1/availability")
        #expect(message.payload == Array("offline".utf8))
        #expect(message.retain && message.qos == .atLeastOnce)
    }

    /// A made-up gesture of a real sensor is marked, and a real one beside it is not.
    @Test func aSimulatedEventIsMarked() throws {
        publisher.connected()
        _ = wire.news()
        var simulated = shake(.began)
        simulated.isSimulated = true
        publisher.publish(simulated)
        publisher.publish(shake(.began))
        let texts = wire.news().map { String(decoding: $0.message.payload, as: UTF8.self) }
        #expect(texts.map { $0.contains("\"simulated\":true") } == [true, false], "\(texts)")
    }

    @Test func nothingButEventsIsKeptWithoutAConnection() {
        publisher.publish(state(at: 1))
        publisher.publishHealth(JSONObject())
        publisher.publish(shake(.began))
        #expect(wire.topics().isEmpty)
        #expect(waiting == 1)
    }

    @Test func aConnectionBeginsWithOnlineAndBringsWhatHoldsAndWhatWaited() {
        publisher.publish(state(at: 1))
        publisher.publish(shake(.began))
        publisher.publish(shake(.ended))
        publisher.connected()
        let news = wire.news()
        #expect(news.map(\.topic) == ["availability", "attitude", "motion", "state", "event/shake", "event/shake"])
        #expect(
            news.first?.message
                == MQTTMessage(topic: "jostle/a/availability", text: "online", qos: .atLeastOnce, retain: true))
        #expect(news.map(\.message.qos.rawValue) == [1, 0, 0, 1, 1, 1])
        #expect(news.map(\.message.retain) == [true, false, false, true, false, false])
        #expect(news.map { $0.token != nil } == [false, false, false, false, true, true])
    }

    @Test func anotherVibrationIsToldWhereItIsClearlyAnotherAndNotTooOften() {
        publisher.connected()
        _ = wire.news()
        var told: [Double] = []
        // Every second: nothing, then more by a fifth and a bit each time.
        for second in 1...21 {
            var state = state(at: Double(second))
            state.vibrationLevel = second < 5 ? 0.01 : 0.3 * (second < 15 ? 1 : 1.1)
            publisher.publish(state)
            if wire.news().contains(where: { $0.topic == "state" }) { told.append(Double(second)) }
        }
        // The first state of all, and the machine's start; a tenth more is none.
        #expect(told == [1, 5])
        for second in 22...31 {
            var state = state(at: Double(second))
            state.vibrationLevel = Double(second)
            publisher.publish(state)
            if wire.news().contains(where: { $0.topic == "state" }) { told.append(Double(second)) }
        }
        #expect(told.count == 4 && told[3] - told[2] >= 5, "\(told)")
    }

    @Test func otherRatesAreInForceAtOnce() {
        publisher.connected()
        publisher.publish(state(at: 1))
        _ = wire.news()
        var publish = JostleSettings().publish
        publish.attitude = JostleSettings.Stream(rate: 1, deadband: 20 * radiansPerDegree, heartbeat: 0)
        publish.motion.rate = 0
        publisher.change(publish)
        // The first is told as after a connection.
        publisher.publish(state(at: 1.1, yaw: 2))
        #expect(wire.news().map(\.topic) == ["attitude"])
        for (time, degrees) in [(1.2, 90.0), (2.3, 12), (2.4, 30), (2.5, 90)] {
            publisher.publish(state(at: time, yaw: degrees))
        }
        #expect(wire.news().map(\.topic) == ["attitude"])
    }

    @Test func whoListensAnewIsToldTheAttitudeAlthoughNothingMoves() {
        publisher.connected()
        publisher.publish(state(at: 1))
        publisher.publish(state(at: 2))
        _ = wire.news()
        publisher.publish(state(at: 3))
        #expect(wire.news().isEmpty)
        publisher.tellAnew()
        publisher.publish(state(at: 3.02))
        #expect(wire.news().map(\.topic) == ["attitude", "motion"])
    }

    @Test func aHealthReportSaysWhatHasToBeLookedAfter() {
        #expect(HealthReporter.problems(measures: true, hasTime: true, outboxFails: false).isEmpty)
        #expect(
            HealthReporter.problems(measures: false, hasTime: false, outboxFails: true) == [
                "sensor", "clock", "outbox",
            ])
    }

    @Test func eventsAreNumberedAfterTheRun() throws {
        publisher.connected()
        for phase in [GesturePhase.began, .ended, .began] { publisher.publish(shake(phase)) }
        let identifiers = try wire.news().dropFirst().map { entry in
            let object = try JSONSerialization.jsonObject(with: Data(entry.message.payload)) as? [String: Any]
            return object?["id"] as? String
        }
        #expect(identifiers == ["f00d-1", "f00d-2", "f00d-3"])
    }

    @Test func aRunIs64BitsInHexadecimalAndNewEachTime() {
        let runs = (0..<100).map { _ in Publisher.newRun() }
        #expect(runs.allSatisfy { $0.count == 16 && $0.allSatisfy(\.isHexDigit) })
        #expect(Set(runs).count == 100)
    }

    @Test func anEventThatWasNotAcknowledgedIsSentAgainAfterAReconnection() throws {
        publisher.connected()
        publisher.publish(shake(.began))
        publisher.publish(shake(.ended))
        let sent = wire.news().dropFirst()
        publisher.acknowledged(try #require(sent.first?.token))
        _ = wire.news()
        #expect(waiting == 1)
        publisher.disconnected(undelivered: sent.dropFirst().compactMap(\.token))
        publisher.connected()
        let again = wire.news()
        #expect(again.map(\.topic) == ["availability", "event/shake"])
        #expect(again.last?.message == sent.last?.message)
    }

    @Test func roomInTheClientsQueueIsUsedAtOnce() throws {
        publisher.connected()
        publisher.publish(shake(.began))
        outbox.workOff()
        wire.state.withLock { $0.takes = false }
        publisher.publish(shake(.ended))
        outbox.workOff()
        let first = try #require(wire.news().last?.token)
        wire.state.withLock { $0.takes = true }
        publisher.acknowledged(first)
        #expect(wire.topics() == ["event/shake"])
    }

    @Test func aRejectedEventIsGivenUpAndMakesRoom() throws {
        publisher.connected()
        publisher.publish(shake(.began))
        outbox.workOff()
        wire.state.withLock { $0.takes = false }
        publisher.publish(shake(.ended))
        outbox.workOff()
        let first = try #require(wire.news().last?.token)
        wire.state.withLock { $0.takes = true }
        publisher.rejected(first)
        #expect(wire.topics() == ["event/shake"])
        #expect(waiting == 1 && outbox.figures.dropped == 1)
    }

    @Test func attitudeKeepsToRateAndDeadBand() {
        publisher.connected()
        publisher.publish(state(at: 1))
        _ = wire.topics()
        publisher.publish(state(at: 1.05, yaw: 20))
        #expect(wire.topics().isEmpty)
        publisher.publish(state(at: 1.1, yaw: 0.9))
        #expect(wire.topics().isEmpty)
        publisher.publish(state(at: 1.2, yaw: -1.1))
        #expect(wire.topics() == ["attitude"])
        publisher.publish(state(at: 31.2, yaw: -1.1))
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
        publisher.connected()
        publisher.publish(state(at: 1))
        _ = wire.topics()
        var other = state(at: 2)
        publisher.publish(other)
        #expect(wire.topics().isEmpty)
        part.change(&other)
        publisher.publish(other)
        // Another gravity is another tilt as well.
        #expect(wire.topics().filter { $0 != "state" } == ["motion"])
    }

    @Test func stateIsPublishedWhereItChangesAndTheLastChangeIsNeverLeftOut() {
        publisher.connected()
        var state = state(at: 1)
        /// Whether the state is told that is there at this time.
        func isTold(at seconds: Double) -> Bool {
            state.timestamp = Timestamp(seconds: seconds)
            publisher.publish(state)
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
        publisher.connected()
        let times = (0..<60).filter { index in
            var state = state(at: 1 + Double(index) / 10)
            // 30° a second about x, from 30° on: never back where it was.
            let pose = Quaternion(angle: (30 + 3 * Double(index)) * radiansPerDegree, axis: Vector3(1, 0, 0))
            state.gravity = pose.unrotate(Vector3(0, 0, standardGravity))
            publisher.publish(state)
            return wire.topics().contains("state")
        }
        #expect(times == [0, 1, 21, 41])
    }

    @Test func aStateThatTheClientDidNotTakeIsStillNews() {
        publisher.connected()
        wire.state.withLock { $0.takes = false }
        publisher.publish(state(at: 1))
        wire.state.withLock { $0.takes = true }
        publisher.publish(state(at: 2))
        #expect(wire.topics().contains("state"))
    }

    @Test func healthIsRetained() {
        publisher.connected()
        _ = wire.topics()
        publisher.publishHealth(JSONObject())
        #expect(wire.news().map(\.message) == [MQTTMessage(topic: "jostle/a/health", text: "{}", retain: true)])
    }

    /// Who listens sees that nothing is sensed, also one that comes later; what comes of a stuck thread is no news.
    @Test func aStopIsToldWithTheStateAndEndsWhatIsSent() {
        publisher.setStopped(true)
        publisher.connected()
        var state = state(at: 1)
        publisher.publish(state)
        var news = wire.news()
        #expect(news.map(\.topic) == ["availability", "state"])
        #expect(lastText(news).contains("\"moving\":false,\"vibrating\":false,\"simulated\":false,\"stopped\":true}"))

        publisher.setStopped(false)
        #expect(wire.news().isEmpty)
        state.isMoving = true
        publisher.publish(state)
        news = wire.news()
        #expect(news.map(\.topic) == ["attitude", "motion", "state"])
        #expect(lastText(news).contains("\"moving\":true"))
        #expect(lastText(news).contains("\"stopped\":false}"))

        publisher.setStopped(true)
        publisher.setStopped(true)
        publisher.publish(state)
        news = wire.news()
        #expect(news.map(\.topic) == ["state"] && news.first?.message.retain == true)
        #expect(lastText(news).contains("\"moving\":false,\"side\":\"+z\""))
        #expect(lastText(news).contains("\"stopped\":true}"))
        publisher.disconnected(undelivered: [])
        publisher.connected()
        #expect(wire.topics() == ["availability", "state"])
        publisher.setStopped(false)
        #expect(lastText(wire.news()).contains("\"stopped\":false}"))
    }

    /// Either dead band is enough for `motion`, and each is the configured one, also where it is set while it runs.
    @Test func rotationHasADeadBandOfItsOwn() {
        var publish = JostleSettings().publish
        publish.attitude.rate = 0
        publish.motion = JostleSettings.Stream(rate: 5, deadband: 0.5, heartbeat: 0)
        publish.rotationDeadband = 10 * radiansPerDegree
        let wire = wire
        let publisher = Publisher(
            topics: Topics(prefix: "jostle", id: "a"), publish: publish, run: "f00d", isSimulated: false,
            outbox: outbox
        ) {
            wire.send($0, $1)
        }
        publisher.connected()
        var state = state(at: 1)
        publisher.publish(state)
        _ = wire.news()
        func isTold(at seconds: Double, rotation degrees: Double, acceleration: Double) -> Bool {
            state.timestamp = Timestamp(seconds: seconds)
            state.rotationRate = Vector3(0, degrees * radiansPerDegree, 0)
            state.linearAcceleration = Vector3(0, 0, acceleration)
            publisher.publish(state)
            return wire.topics() == ["motion"]
        }
        #expect(!isTold(at: 2, rotation: 9, acceleration: 0.4))
        #expect(isTold(at: 3, rotation: 11, acceleration: 0))
        #expect(!isTold(at: 3.1, rotation: 90, acceleration: 9))
        #expect(isTold(at: 4, rotation: 11, acceleration: -0.6))
        #expect(!isTold(at: 5, rotation: 2, acceleration: -0.6))

        publish.rotationDeadband = 5 * radiansPerDegree
        publisher.change(publish)
        #expect(isTold(at: 6, rotation: 2, acceleration: -0.6))
        #expect(!isTold(at: 7, rotation: -2, acceleration: -0.6))
        #expect(isTold(at: 8, rotation: -4, acceleration: -0.6))
        publish.motion.deadband = 0.1
        publisher.change(publish)
        #expect(isTold(at: 9, rotation: -4, acceleration: -0.6))
        #expect(isTold(at: 10, rotation: -4, acceleration: -0.8))
    }

    private func lastText(_ news: [(topic: String, message: MQTTMessage, token: MQTTToken?)]) -> String {
        String(decoding: news.last?.message.payload ?? [], as: UTF8.self)
    }
}
