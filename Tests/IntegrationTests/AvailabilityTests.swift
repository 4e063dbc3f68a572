import BrokerTestSupport
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
