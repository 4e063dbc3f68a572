import BrokerTestSupport
import Foundation
import Testing

/// Requirement: movements that were almost gestures are published while somebody wants them, and only then.
@Suite(.needsBroker) struct NearMissTests {
    private let rig = Rig()

    /// An agent that is carried about: about once a second, it is almost turned.
    private func rig(_ settings: String = "log.level=debug") async throws -> AgentRig {
        let rig = try await AgentRig.measuring("walk", settings, "gestures.turn.mode=free")
        return rig
    }

    /// Waits until two more movements were almost gestures, as the log says.
    private func movesOn(_ rig: AgentRig) async -> Bool {
        let count = misses(rig)
        return await eventually { misses(rig) >= count + 2 }
    }

    private func misses(_ rig: AgentRig) -> Int { rig.agent.errors.components(separatedBy: ": no turn: ").count - 1 }

    /// Waits until everything that the agent has published so far has arrived.
    private func settles(_ rig: AgentRig) async throws -> Bool {
        let count = try rig.results("ping").count
        try rig.send("ping")
        return await rig.observer.sees { try $0.objects("command/ping/result").count > count }
    }

    /// Nothing arrives, although movements are almost gestures.
    private func isSilent(_ rig: AgentRig) async throws -> Bool {
        guard try await settles(rig) else { return false }
        let count = rig.observer.messages("near-miss").count
        guard await movesOn(rig), try await settles(rig) else { return false }
        return rig.observer.messages("near-miss").count == count
    }

    private func set(_ value: String, _ rig: AgentRig) async throws -> Bool {
        try rig.observer.publish("jostle/dut/set/publish.near_misses", value)
        return await rig.observer.sees { observer in
            try observer.setting("publish.near_misses") as? Bool == (value == "true")
        }
    }

    @Test func settingPublishesThem() async throws {
        let rig = try await rig()
        #expect(try await isSilent(rig) && rig.observer.messages("near-miss").isEmpty, "\(rig.agent.errors)")
        #expect(try await set("true", rig))
        #expect(await rig.observer.sees { $0.messages("near-miss").count >= 2 }, "\(rig.agent.errors)")
        let message = try #require(rig.observer.messages("near-miss").first)
        #expect(message.qos == .atMostOnce && !message.retain)
        let turn = try #require(try rig.observer.objects("near-miss").first { $0["gesture"] as? String == "turn" })
        #expect((turn["text"] as? String)?.hasPrefix("no turn: ") == true, "\(turn)")
        #expect(turn["simulated"] as? Bool == true && turn["reason"] as? String != nil, "\(turn)")
        let age = Date().timeIntervalSince1970 * 1000 - (try #require(turn["t"] as? Double))
        #expect((-1000...60_000).contains(age), "\(turn)")
        #expect(try await set("false", rig))
        #expect(try await isSilent(rig), "\(rig.agent.errors)")
        #expect(await rig.agent.terminate() == 0)
    }

    @Test func streamPublishesThemWhileItRuns() async throws {
        let rig = try await rig()
        try rig.send("stream", "{\"duration\":100}")
        #expect(await rig.replies("stream") { $0["done"] as? Bool == false && $0["near_misses"] == nil })
        #expect(try await isSilent(rig) && rig.observer.messages("near-miss").isEmpty, "\(rig.agent.errors)")
        try rig.send("stream", "{\"stop\":true}")
        #expect(await rig.replies("stream") { $0["stopped"] as? Bool == true })

        try rig.send("stream", "{\"duration\":100,\"near_misses\":true}")
        #expect(await rig.replies("stream") { $0["near_misses"] as? Bool == true }, "\(rig.agent.errors)")
        #expect(await rig.observer.sees { $0.messages("near-miss").count >= 2 }, "\(rig.agent.errors)")
        try rig.send("stream", "{\"stop\":true}")
        #expect(await rig.observer.sees { try $0.objects("command/stream/result").last?["stopped"] as? Bool == true })
        #expect(try await isSilent(rig), "\(rig.agent.errors)")
        #expect(await rig.agent.terminate() == 0)
    }

    /// The configuration file switches them on too, and `jostle watch` shows them.
    @Test func watchShowsThem() async throws {
        let rig = try await rig("publish.near_misses=true")
        let program = try self.rig.run(
            ["watch", "--broker", "mqtt://127.0.0.1:\(rig.broker.port)", "--device", "dut"],
            environment: ["LC_ALL": "C.UTF-8"])
        #expect(await eventually { program.output.contains("dut  near miss  no turn: ") })
        #expect(await program.terminate() == 0)
        #expect(await rig.agent.terminate() == 0)
    }
}
