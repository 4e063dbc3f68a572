import BrokerTestSupport
import Foundation
import Testing

/// Requirement: `jostle run` publishes what the contract specifies, topic by topic, and goes online and offline
/// correctly.
@Suite(.needsBroker) struct RunTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()
    private let shakes: String

    init() throws {
        shakes = try directory.write(Recording.shake(), to: "shakes.csv")
    }

    @Test func publishesEveryTopic() async throws {
        let (broker, observer, agent) = try await rig.observedAgent(
            shakes, "publish.attitude.rate=10 Hz", "publish.attitude.deadband=0",
            "publish.motion.rate=5 Hz", "publish.motion.deadband=0", "publish.health.interval=1 s")
        await observer.expect {
            try $0.shakes().count >= 4 && $0.messages("attitude").count >= 40 && $0.messages("health").count >= 3
                && $0.messages("state").count >= 1
        }
        try expectStream("attitude", rate: 10, observer)
        try expectStream("motion", rate: 5, observer)
        try expectAttitude(try #require(try observer.objects("attitude").last))
        try expectMotion(try #require(try observer.objects("motion").last))
        try expectState(try #require(try observer.objects("state").last))
        try expectHealth(try #require(try observer.objects("health").last))
        try expectComplete(observer)
        try expectShake(try #require(try observer.objects("event/shake").first))

        #expect(await agent.terminate() == 0)
        #expect(await observer.availability("offline", count: 2))
        #expect(observer.texts("availability") == ["online", "offline"])
        // Open gestures are closed before the farewell.
        #expect(try observer.shakes().last?.phase != "began")
        try await expectRetained(broker)
    }

    /// Checks the retained messages that a late subscriber gets.
    private func expectRetained(_ broker: TestBroker) async throws {
        let late = try await Observer(broker.port)
        #expect(await late.sees { $0.messages("health").count + $0.messages("state").count >= 2 })
        #expect(late.messages("availability").allSatisfy(\.retain) && late.texts("availability") == ["offline"])
        #expect(late.messages("state").count == 1 && late.messages("health").count == 1)
        #expect(late.messages("attitude").isEmpty && late.messages("motion").isEmpty)
        #expect(late.messages("event/shake").isEmpty)
    }

    /// At most the rate, by the times of measurement, and at least half of it on a busy machine.
    private func expectStream(_ topic: String, rate: Double, _ observer: Observer) throws {
        let times = try observer.objects(topic).map { try #require($0["t"] as? Double) / 1000 }
        let (first, last) = (try #require(times.first), try #require(times.last))
        #expect(times == times.sorted())
        #expect(Double(times.count) <= (last - first) * rate + 2, "\(times.count) in \(last - first) s")
        #expect(Double(times.count) >= (last - first) * rate / 2, "\(times.count) in \(last - first) s")
        #expect(abs(last - Date().timeIntervalSince1970) < 60)
    }

    private func expectAttitude(_ object: [String: Any]) throws {
        #expect(Set(object.keys) == ["t", "roll", "pitch", "yaw", "q", "tilt_deviation", "heading_deviation"])
        let q = try #require(object["q"] as? [Double])
        #expect(q.count == 4 && abs(q.reduce(0) { $0 + $1 * $1 } - 1) < 1e-4)
        // The angles match the quaternion, in degrees.
        let roll = atan2(2 * (q[0] * q[1] + q[2] * q[3]), 1 - 2 * (q[1] * q[1] + q[2] * q[2])) * 180 / .pi
        #expect(abs(try #require(object["roll"] as? Double) - roll) < 0.02)
    }

    private func expectMotion(_ object: [String: Any]) throws {
        #expect(Set(object.keys) == ["t", "acceleration", "gravity", "rotation", "temperature"])
        let gravity = try #require(object["gravity"] as? [Double])
        #expect(gravity.count == 3 && gravity[2] > 9)
        #expect((object["acceleration"] as? [Double])?.count == 3 && (object["rotation"] as? [Double])?.count == 3)
        #expect((0...60).contains(try #require(object["temperature"] as? Double)))
    }

    private func expectState(_ object: [String: Any]) throws {
        #expect(Set(object.keys).isSuperset(of: ["t", "moving", "side", "tilt", "simulated"]))
        #expect(object["side"] as? String == "+z" && object["simulated"] as? Bool == true)
        #expect(object["moving"] is Bool && object["tilt"] is Double)
    }

    private func expectHealth(_ object: [String: Any]) throws {
        #expect(
            Set(object.keys).isSuperset(of: [
                "t", "version", "uptime", "sensor", "sensor_state", "rate", "period_ppm", "samples", "gaps",
                "lost_samples", "bus_errors", "recoveries", "outbox", "cpu_percent", "memory_mb", "clock",
                "temperature",
                "problem", "problems",
            ]))
        #expect(object["sensor_state"] as? String == "streaming")
        #expect(try #require(object["samples"] as? Int) > 0)
        #expect(Set((object["bus_errors"] as? [String: Int] ?? [:]).values) == [0])
    }

    private func expectShake(_ object: [String: Any]) throws {
        #expect(
            Set(object.keys)
                == ["id", "t", "gesture", "phase", "strength", "axis", "reversals", "duration", "simulated"])
        #expect(object["gesture"] as? String == "shake" && object["axis"] as? String == "x")
        #expect(try PublishedEvent(object).run.wholeMatch(of: /[0-9a-f]{16}/) != nil)
        #expect((10...25).contains(try #require(object["strength"] as? Double)))
    }

    @Test func publishesOnlyHeartbeatAtRest() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try rig.virtualAgent(
            broker: broker.port, "rest", "publish.attitude.deadband=5°", "publish.attitude.heartbeat=0.7 s",
            "publish.motion.heartbeat=0", "publish.motion.deadband=2", "home_assistant.discovery=false")
        #expect(await observer.sees { $0.messages("attitude").count >= 5 }, "\(agent.errors)")
        let times = try observer.objects("attitude").map { try #require($0["t"] as? Double) / 1000 }
        for (earlier, later) in zip(times, times.dropFirst()) { #expect(later - earlier > 0.69) }
        // The gyroscope's bias is visible until it is estimated.
        #expect((1...3).contains(observer.messages("motion").count))
        #expect(observer.messages("event/shake").isEmpty)
    }

    @Test func disabledTopicsAreNotPublished() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try rig.virtualAgent(
            broker: broker.port, shakes, "publish.attitude.rate=0", "publish.motion.rate=0",
            "publish.health.interval=0", "mqtt.prefix=home/first", "gestures.shake.enabled=false",
            "home_assistant.discovery=false")
        #expect(await observer.sees { $0.topics.contains("home/first/dut/state") }, "\(agent.errors)")
        // Two shakes would have been published by then.
        #expect(await eventually { observer.topics.filter { $0.hasSuffix("/state") }.count >= 4 })
        #expect(await agent.terminate() == 0)
        #expect(await observer.sees { $0.topics.filter { $0.hasSuffix("/availability") }.count == 2 })
        // A shaken board may cause other gestures too.
        let topics = Set(observer.topics.filter { !$0.contains("/event/") || $0.hasSuffix("/shake") })
        let always = ["availability", "config/reported", "machine", "state"]
        #expect(topics == Set(always.map { "home/first/dut/\($0)" }))
    }

    @Test func closesOpenShakeBeforeFarewell() async throws {
        let (broker, observer) = try await rig.observedBroker()
        // Long enough for a busy machine to stop the agent during the shake.
        let long = try directory.write(Recording.shake(until: 90, duration: 91), to: "long.csv")
        let agent = try rig.virtualAgent(broker: broker.port, long)
        #expect(await observer.sees { !$0.messages("event/shake").isEmpty }, "\(agent.errors)")
        #expect(await agent.terminate() == 0)
        #expect(await observer.availability("offline", count: 2))
        let events = try observer.objects("event/shake")
        #expect(events.map { $0["phase"] as? String } == ["began", "cancelled"])
        #expect(events.last?["reason"] as? String == "stopped")
        #expect(observer.topics.last == "jostle/dut/availability")
        let ofShakes = observer.topics.filter { $0.hasSuffix("/shake") || $0.hasSuffix("/availability") }
        #expect(ofShakes.suffix(2) == ["jostle/dut/event/shake", "jostle/dut/availability"])
    }

    @Test func willMarksKilledAgentOffline() async throws {
        let (_, observer, agent) = try await rig.observedAgent("rest")
        agent.signal(SIGKILL)
        #expect(await observer.availability("offline", count: 2))
    }

    /// What SIGHUP does is in ReloadTests.
    @Test func interruptStopsCleanly() async throws {
        let (_, observer, agent) = try await rig.observedAgent("rest")
        agent.signal(SIGINT)
        #expect(await agent.exitStatus() == 0)
        #expect(await observer.availability("offline", count: 2))
    }

    @Test(arguments: [SIGTERM, SIGKILL])
    func embeddedBrokerEndsWithAgent(signal: Int32) async throws {
        let agent = try rig.run([
            "run", "--for", "120", "--set", "device.id=dut", "--set", "sensor.driver=virtual", "--set",
            "mqtt.broker=embedded",
        ])
        #expect(await agent.logs("publishing under jostle/dut to mqtt://127.0.0.1:"), "\(agent.errors)")
        let match = try #require(agent.errors.firstMatch(of: /mqtt:\/\/127\.0\.0\.1:(\d+)/))
        let port = try #require(UInt16(match.1))
        let observer = try await Observer(port)
        #expect(await observer.availability("online"))
        #expect(await observer.sees { $0.messages("attitude").count >= 2 })
        agent.signal(signal)
        #expect(await agent.exitStatus() == (signal == SIGTERM ? 0 : 128 + SIGKILL))
        #expect(await eventually { !Loopback.accepts(port) }, "the broker outlived the agent")
    }
}
