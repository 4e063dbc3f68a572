import BrokerTestSupport
import Testing

/// Requirement: automations can be tested on a running agent without touching the device.
@Suite(.needsBroker) struct SimulateTests {
    private let rig = Rig()

    /// Makes the agent `dut` simulate a movement.
    private func simulate(_ words: String..., at port: UInt16) async throws -> Outcome {
        return try await JostleProgram(
            ["simulate"] + words + ["--on", "dut", "--set", "mqtt.broker=mqtt://127.0.0.1:\(port)"]
        ).outcome()
    }

    @Test func simulatesOneShakeOnRunningAgent() async throws {
        let rig = try await AgentRig()
        let (observer, agent) = (rig.observer, rig.agent)

        let outcome = try await simulate("shake", at: rig.broker.port).expect(status: 0)
        #expect(outcome.errors.isEmpty, "\(outcome) \(agent.errors)")
        #expect(outcome.lines.first?.hasPrefix("dut: shake, takes ") == true, "\(outcome.output)")
        for phase in ["began", "ended"] {
            let reports = outcome.lines.filter { $0.contains("s  shake \(phase)  {\"id\":") }
            #expect(reports.count == 1, "\(outcome.output)")
        }

        // The program ends with the movement, so no more events follow.
        try await observer.catchUp()
        let events = try observer.objects("event/shake")
        #expect(events.compactMap { $0["phase"] as? String } == ["began", "ended"], "\(events)")
        #expect(events.allSatisfy { $0["simulated"] as? Bool == true }, "\(events)")
        try expectComplete(observer)
        let answer = try #require(try observer.objects("command/simulate/result").first)
        #expect(answer["ok"] as? Bool == true && answer["movement"] as? String == "shake", "\(answer)")
        #expect(observer.topics.filter { $0.hasPrefix("jostle/_reply/") }.count == 1)
        #expect(await agent.terminate() == 0)
    }

    @Test func refusalsHaveTheirStatus() async throws {
        let (broker, observer) = try await rig.observedBroker()
        try await simulate("shake", at: broker.port).expect(status: 69, errors: "the broker knows no device dut")

        let agent = try rig.virtualAgent(broker: broker.port, "rest")
        #expect(await observer.availability("online"), "\(agent.errors)")
        let unknown = try await simulate("moonwalk", at: broker.port).expect(
            status: 64, errors: "there is no movement \"moonwalk\"", "double-tap")
        #expect(unknown.output.isEmpty, "\(unknown)")
        try await simulate("shake", "--for", "5", at: broker.port).expect(status: 64, errors: "shake ends by itself")

        let arguments = "{\"movement\":\"walk\",\"seconds\":50}"
        try observer.publish("jostle/dut/command/simulate", arguments)
        #expect(await observer.sees { $0.texts("command/simulate/result").last?.contains("\"ok\":true") == true })
        try await simulate("shake", at: broker.port).expect(status: 75, errors: "walk is being simulated")
        #expect(await agent.terminate() == 0)

        #expect(await observer.availability("offline", count: 2))
        try await simulate("shake", at: broker.port).expect(status: 69, errors: "dut is offline")
    }

    @Test func saysThatAVirtualSensorMovesByItself() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try rig.virtualAgent(broker: broker.port, "demo")
        #expect(await observer.availability("online"), "\(agent.errors)")
        try await simulate("tap", at: broker.port).expect(
            status: 0, errors: "the sensor of dut is virtual and moves by itself, along demo")
        #expect(await agent.terminate() == 0)
    }

    @Test func reportsUnreachableBroker() async throws {
        try await simulate("shake", at: try Loopback.freePort()).expect(status: 69, errors: "Connection refused")
        try await jostle("simulate", "shake", "--on", "dut", "--set", "mqtt.broker=embedded").expect(
            status: 78, errors: "mqtt.broker is embedded")
    }

    @Test func stoppingAgentCancelsSimulatedGesture() async throws {
        let rig = try await AgentRig()
        let (observer, agent) = (rig.observer, rig.agent)
        // A walk, because it lasts long enough even on a busy machine.
        try rig.send("simulate", "{\"movement\":\"walk\",\"seconds\":300}")
        #expect(await observer.sees { !$0.messages("event/motion").isEmpty }, "\(agent.errors)")
        #expect(await agent.terminate() == 0)
        #expect(await observer.sees { $0.messages("event/motion").count >= 2 }, "\(agent.errors)")
        let events = try observer.objects("event/motion")
        #expect(events.compactMap { $0["phase"] as? String } == ["began", "cancelled"], "\(events)")
        #expect(events.last?["reason"] as? String == "stopped" && events.last?["simulated"] as? Bool == true)
    }

    /// For scripts: the run ends by itself, and contains one gesture.
    @Test func localSimulationEndsAfterOneRound() async throws {
        let outcome = try await jostle("simulate", "shake", "--once", "--set", "sensor.rate=50Hz").expect(status: 0)
        #expect(outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(outcome.lines.filter { $0.contains("shake began") }.count == 1, "\(outcome.output)")
        #expect(outcome.lines.filter { $0.contains("shake ended") }.count == 1, "\(outcome.output)")
    }
}
