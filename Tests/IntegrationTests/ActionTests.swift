import BrokerTestSupport
import Foundation
import Testing

/// Requirement: a shake toggles a lamp with only a broker in between; in quiet hours it does not.
@Suite(.needsBroker) struct ActionTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()
    private let shakes: String

    init() throws {
        shakes = try directory.write(Recording.shake(), to: "shakes.csv")
    }

    /// Runs `jostle simulate` with rules and a broker.
    private func simulate(_ trajectory: String, _ port: UInt16, _ settings: String...) throws -> JostleProgram {
        let all = ["device.id=dut", "mqtt.broker=mqtt://127.0.0.1:\(port)", "sensor.rate=50Hz"] + settings
        return try rig.run(["simulate", trajectory, "--for", "120"] + all.flatMap { ["--set", $0] })
    }

    @Test func simulatedShakeTogglesLamp() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try simulate(
            "shake", broker.port,
            "actions=[{on: shake, publish: {topic: 'cmnd/${device}/POWER', payload: TOGGLE, qos: 1}}, "
                + "{on: shake, phase: ended, publish: {topic: lamp/log, payload: '${id} ${simulated} ${reason:-none}', "
                + "retain: true}}]")
        await observer.expect(agent) { $0.topics.filter { $0 == "lamp/log" }.count >= 2 }
        // One toggle for each beginning, published before the event that triggers it.
        let topics = observer.topics.filter { $0.hasPrefix("cmnd/") || $0.hasSuffix("event/shake") || $0 == "lamp/log" }
        #expect(
            topics.prefix(4) == ["cmnd/dut/POWER", "jostle/dut/event/shake", "lamp/log", "jostle/dut/event/shake"])
        let toggle = try #require(observer.all.first { $0.topic == "cmnd/dut/POWER" })
        #expect(toggle.payload == Array("TOGGLE".utf8) && !toggle.retain)
        // The broker reports the remaining expiry.
        #expect((1...30).contains(try #require(toggle.properties.messageExpiry)))
        let ended = try #require(try observer.objects("event/shake").first { $0["phase"] as? String == "ended" })
        let log = try #require(observer.all.first { $0.topic == "lamp/log" })
        let id = try #require(ended["id"] as? String)
        #expect(String(decoding: log.payload, as: UTF8.self) == "\(id) true none")
        #expect(await agent.terminate() == 0)

        let late = try await Observer(broker.port)
        #expect(await late.sees { $0.topics.contains("lamp/log") })
        #expect(!late.topics.contains("cmnd/dut/POWER"))
    }

    /// A consumed shake is not published, neither its beginning nor its end.
    @Test func consumedShakeIsNotPublished() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try simulate(
            shakes, broker.port,
            "actions=[{on: shake, phase: ended, consume: true, publish: {topic: lamp, payload: '${phase}'}}]")
        #expect(await observer.sees { $0.topics.filter { $0 == "lamp" }.count >= 2 }, "\(agent.errors)")
        #expect(await agent.terminate() == 0)
        #expect(await observer.availability("offline", count: 2))
        #expect(observer.messages("event/shake").isEmpty)
    }

    /// Nothing is lost while the broker is away except a toggle that has expired.
    @Test func dropsExpiredActionsAfterOutage() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let network = try rig.proxy(to: broker.port)
        let agent = try rig.virtualAgent(
            broker: network.port, shakes, "publish.health.interval=1 s",
            "actions=[{on: shake, publish: {topic: soon, payload: '${id}', expires: 1 s}}, "
                + "{on: shake, publish: {topic: whenever, payload: '${id}', expires: 0}}]")
        #expect(await observer.sees { $0.topics.contains("soon") }, "\(agent.errors)")
        network.cut()
        let logged = Self.actions(loggedBy: agent)
        // The first of two shakes is more than a second old when the second one begins.
        #expect(await eventually { Self.actions(loggedBy: agent) >= logged + 4 })
        network.restore()
        #expect(await observer.availability("online", count: 2), "\(agent.errors)")
        await observer.expect { try $0.objects("health").contains { $0["outbox_expired"] as? Int ?? 0 > 0 } }
        #expect(await agent.terminate() == 0)
        #expect(await observer.availability("offline", count: 3))
        let soon = Set(observer.all.filter { $0.topic == "soon" }.map(\.payload))
        let whenever = Set(observer.all.filter { $0.topic == "whenever" }.map(\.payload))
        #expect(soon.isStrictSubset(of: whenever))
        let began = try observer.shakes().count { $0.phase == "began" }
        #expect(whenever.count == began)
    }

    private static func actions(loggedBy agent: JostleProgram) -> Int {
        agent.errors.split(separator: "\n").count { $0.contains("action on shake began") }
    }

    /// One agent has quiet hours all day, the other at a different time of day.
    @Test func nothingBeginsInQuietHours() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let silent = try rig.virtualAgent(
            broker: broker.port, shakes, "device.id=silent", "gestures.shake.when.quiet_hours=00:00-24:00",
            "publish.health.interval=1 s")
        // A time zone in which it is about noon now, outside the quiet hours.
        let shift = 12 - Int(Date().timeIntervalSince1970 / 3600) % 24
        let environment = ["TZ": "NOON\(shift > 0 ? "-" : "+")\(abs(shift))"]
        let settings = [
            "device.id=awake", "mqtt.broker=mqtt://127.0.0.1:\(broker.port)", "sensor.rate=50Hz",
            "gestures.shake.when.quiet_hours=14:00-10:00",
        ]
        let awake = try rig.run(
            ["simulate", shakes, "--for", "120"] + settings.flatMap { ["--set", $0] }, environment: environment)
        #expect(await observer.sees { try $0.shakes(of: "awake").count >= 4 }, "\(awake.errors)")
        await observer.expect(silent) {
            try $0.objects("health", of: "silent").contains { ($0["samples"] as? Int ?? 0) >= 300 }
        }
        #expect(observer.messages("event/shake", of: "silent").isEmpty)
        #expect(silent.errors.contains("quiet hours: shake"))
    }
}
