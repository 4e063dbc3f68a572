import BrokerTestSupport
import Foundation
import Testing

/// Requirement: two agents never use one state directory. The second one says which process has it and ends, and the
/// first one is not disturbed.
@Suite(.needsBroker) struct StateDirectoryTests {
    @Test func secondAgentNamesTheFirstAndEnds() async throws {
        let directory = try TemporaryDirectory()
        let state = directory.path("state")
        let rig = try await AgentRig(state: state)
        for _ in 0..<2 {
            let second = try JostleProgram.virtualAgent(
                broker: rig.broker.port, "rest", ["device.id=other"], state: state)
            defer { second.kill() }
            #expect(await second.exitStatus() == 69)
            let holder = "jostle (process \(rig.agent.processIdentifier)) uses the state directory \(state)"
            #expect(second.errors.contains(holder), "\(second.errors)")
        }
        #expect(!rig.observer.topics.contains { $0.hasPrefix("jostle/other/") })
        #expect(await rig.measures() && rig.agent.isRunning)

        // No lock outlives its process, however that ends.
        rig.agent.kill()
        let next = try JostleProgram.virtualAgent(broker: rig.broker.port, "rest", [], state: state)
        defer { next.kill() }
        #expect(await next.logs("publishing under jostle/dut"), "\(next.errors)")
        #expect(!next.errors.contains("agent.lock"), "\(next.errors)")
        #expect(await next.terminate() == 0)
    }
}
