import BrokerTestSupport
import Foundation
import Testing

/// Requirement: subscribers see a running board as online, whatever the broker retains, and whatever it cannot do.
@Suite(.needsBroker) struct AvailabilityTests {
    private let rig = Rig()

    @Test("A retained offline and a retained state that somebody else has published are corrected")
    func correctsWhatOthersRetain() async throws {
        let rig = try await AgentRig()
        #expect(await rig.observer.sees { !$0.messages("state").isEmpty })
        try rig.observer.publish("jostle/dut/availability", "offline", retain: true)
        try rig.observer.publish("jostle/dut/state", #"{"t":1,"moving":true}"#, retain: true)
        #expect(await rig.observer.availability("online", count: 3), "\(rig.agent.errors)")
        #expect(await rig.observer.sees { $0.texts("state").last?.contains("simulated") ?? false })
        // A later subscriber sees it too.
        let other = try await Observer(rig.broker.port)
        #expect(await other.availability("online"))
        try await other.catchUp()
        #expect(other.texts("availability") == ["online"])
        #expect(
            await rig.agent.logs("the broker had another message for jostle/dut/availability"), "\(rig.agent.errors)")
    }

    @Test("A discovery message that somebody else has removed or replaced is corrected, without anything else")
    func correctsDiscovery() async throws {
        let rig = try await AgentRig()
        let topic = "homeassistant/button/dut/tare/config"
        let texts = {
            rig.observer.all.filter { $0.topic == topic }.map { String(decoding: $0.payload, as: UTF8.self) }
        }
        #expect(await eventually { texts().count == 1 }, "\(rig.agent.errors)")
        let own = texts()[0]
        // Its own messages have come back.
        try await Task.sleep(for: .seconds(1))
        for (text, count) in [("", 3), ("of another", 5)] {
            try rig.observer.publish(topic, text, retain: true)
            #expect(await eventually { texts().count == count }, "\(rig.agent.errors)")
            #expect(texts().suffix(2) == [text, own])
        }
        #expect(await rig.agent.logs("the broker had another message for \(topic) than"), "\(rig.agent.errors)")
        try await rig.observer.catchUp()
        #expect(rig.observer.texts("availability") == ["online"])
        let others = rig.observer.topics.filter { $0.hasPrefix("homeassistant/") && $0 != topic }
        #expect(others.count == Set(others).count)
    }

    @Test("A broker that retains messages from now on retains the will of the next connection")
    func brokerRetainsAgain() async throws {
        let directory = try TemporaryDirectory()
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.path)
        let limits = try directory.write("retain_available false\n", to: "limits.conf", permissions: 0o644)
        let broker = try await rig.broker(settings: "allow_anonymous true\ninclude_dir \(directory.path)")
        let proxy = try rig.proxy(to: broker.port)
        let agent = try rig.virtualAgent(broker: proxy.port, "rest")
        #expect(await agent.logs("retains no messages, so "), "\(agent.errors)")
        broker.stop()
        try FileManager.default.removeItem(atPath: limits)
        try await broker.start()
        #expect(await agent.logs("the broker now takes the whole will, which is sent again"), "\(agent.errors)")
        let observer = try await Observer(broker.port)
        #expect(await observer.availability("online"), "\(agent.errors)")
        proxy.cut()
        #expect(await observer.availability("offline"), "\(agent.errors)")
        let late = try await Observer(broker.port)
        #expect(await late.availability("offline"), "the will was not retained: \(agent.errors)")
        proxy.restore()
        #expect(await late.availability("online", count: 2), "\(agent.errors)")
        // Once.
        #expect(agent.errors.components(separatedBy: "takes the whole will").count == 2, "\(agent.errors)")
        #expect(late.texts("availability") == ["offline", "online"])
    }

    @Test("A broker without retained messages and QoS 1 gets what it takes, and the log says what that costs, once")
    func brokerWithLimits() async throws {
        let broker = try await rig.broker(
            listener: "max_qos 0", settings: "allow_anonymous true\nretain_available false")
        let observer = try await Observer(broker.port)
        let proxy = try rig.proxy(to: broker.port)
        let agent = try rig.virtualAgent(broker: proxy.port, "demo")
        #expect(await observer.availability("online"), "\(agent.errors)")
        #expect(await observer.sees { try $0.shakes().contains { $0.phase == "began" } }, "\(agent.errors)")
        #expect(observer.messages("config/reported").count == 1)

        // Home Assistant, which has started after the board, learns that it is online.
        let online = observer.messages("availability").count
        try observer.publish("homeassistant/status", "online")
        #expect(await observer.availability("online", count: online + 1), "\(agent.errors)")

        let connections = { agent.errors.components(separatedBy: "connected to mqtt://").count }
        let before = connections()
        proxy.cut()
        // The will has no retain flag and QoS 0, and comes all the same.
        #expect(await observer.sees { $0.texts("availability").contains("offline") }, "\(agent.errors)")
        proxy.restore()
        #expect(await eventually { connections() > before }, "\(agent.errors)")
        let lines = agent.errors.split(separator: "\n")
        #expect(lines.count { $0.contains("retains no messages, so ") } == 1, "\(agent.errors)")
        #expect(lines.count { $0.contains("takes messages with QoS 0 only, so ") } == 1, "\(agent.errors)")
        #expect(!agent.errors.contains("the broker rejects"), "\(agent.errors)")
    }
}
