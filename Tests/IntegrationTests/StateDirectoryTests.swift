import BrokerTestSupport
import Testing

/// Requirement: two agents never use one state directory. The second one says which process has it and ends, and the
/// first one is not disturbed.
@Suite(.needsBroker) struct StateDirectoryTests {
    private let rig = Rig()

    @Test func secondAgentNamesTheFirstAndEnds() async throws {
        let directory = try TemporaryDirectory()
        let state = directory.path("state")
        let first = try await AgentRig(state: state)
        for _ in 0..<2 {
            let second = try rig.virtualAgent(
                broker: first.broker.port, "rest", ["device.id=other"], state: state)
            defer { second.kill() }
            #expect(await second.exitStatus() == 69)
            let holder = "jostle (process \(first.agent.processIdentifier)) uses the state directory \(state)"
            #expect(second.errors.contains(holder), "\(second.errors)")
        }
        #expect(!first.observer.topics.contains { $0.hasPrefix("jostle/other/") })
        #expect(await first.measures() && first.agent.isRunning)

        // No lock outlives its process, however that ends.
        first.agent.kill()
        let next = try rig.virtualAgent(broker: first.broker.port, "rest", [], state: state)
        #expect(await next.logs("publishing under jostle/dut"), "\(next.errors)")
        #expect(!next.errors.contains("agent.lock"), "\(next.errors)")
        #expect(await next.terminate() == 0)
    }
}
