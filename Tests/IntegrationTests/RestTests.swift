import BrokerTestSupport
import Testing

/// Requirement: a board at rest is quiet. The virtual chip has the noise of a real MPU-6050.
@Suite(.needsBroker) struct RestTests {
    private let rig = Rig()

    @Test func publishesHeartbeatsOnly() async throws {
        let rig = try await AgentRig.measuring(
            "rest", "publish.health.interval=1s", "publish.attitude.heartbeat=0",
            "publish.motion.heartbeat=0")
        #expect(await rig.observer.sees { $0.messages("health").count >= 5 }, "\(rig.agent.errors)")
        // The estimates of the start have settled.
        func counts() -> [Int] { ["motion", "attitude", "state"].map { rig.observer.messages($0).count } }
        let before = counts()
        #expect(before[0] >= 1 && before[1] >= 1 && before[2] >= 1)
        #expect(await rig.observer.sees { $0.messages("health").count >= 25 }, "\(rig.agent.errors)")
        #expect(counts() == before, "motion, attitude and state: \(rig.observer.texts("state"))")
        #expect(rig.observer.topics.allSatisfy { !$0.hasPrefix("jostle/dut/event/") })
        #expect(await rig.agent.terminate() == 0)
    }

    @Test func mainThreadSleepsUntilSettingsAskForMessages() async throws {
        let rig = try await AgentRig.measuring("rest")
        let figures = ProcessFigures(rig.agent.processIdentifier)
        // The estimates of the start settle.
        try await Task.sleep(for: .seconds(5))
        let before = try #require(figures.sleeps)
        try await Task.sleep(for: .seconds(10))
        let sleeps = try #require(figures.sleeps) - before
        #expect(sleeps < 30, "it looks for something to publish")

        let count = rig.observer.messages("attitude").count
        try rig.observer.publish("jostle/dut/set/publish.attitude.rate", "20 Hz")
        try rig.observer.publish("jostle/dut/set/publish.attitude.deadband", "0")
        // Its heartbeats would take ten minutes.
        #expect(await rig.observer.sees { $0.messages("attitude").count >= count + 20 }, "\(rig.agent.errors)")
        #expect(await rig.agent.terminate() == 0)
    }
}
