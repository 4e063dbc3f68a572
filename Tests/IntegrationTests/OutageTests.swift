import BrokerTestSupport
import MosquittoClient
import Testing

/// Requirement: a broker that is absent, refuses, restarts or hangs costs neither samples nor events, and the agent
/// reconnects by itself.
@Suite(.needsBroker) struct OutageTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()
    private let shakes: String

    init() throws {
        shakes = try directory.write(Recording.shake(), to: "shakes.csv")
    }

    @Test func losesNoEventAcrossBrokerRestart() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let network = try rig.proxy(to: broker.port)
        let agent = try rig.virtualAgent(broker: network.port, shakes, "publish.health.interval=1 s")
        #expect(await observer.sees { try $0.shakes().count >= 2 }, "\(agent.errors)")

        network.cut()
        broker.stop()
        let before = try observer.shakes().count
        let logged = Self.shakes(loggedBy: agent)
        // Two more shakes happen while the broker is down.
        #expect(await eventually { Self.shakes(loggedBy: agent) >= logged + 4 })
        try await broker.start()
        #expect(await observer.subscribed(times: 2))
        network.restore()

        #expect(await observer.availability("online", count: 2), "\(agent.errors)")
        #expect(await observer.sees { try $0.shakes().count >= before + 6 }, "\(agent.errors)")
        try expectComplete(observer)
        // Retained messages are published again, because the broker kept nothing.
        #expect(await observer.sees { $0.messages("state").count >= 2 })
        #expect(await observer.sees { try $0.objects("health").contains { $0["connects"] as? Int == 2 } })
        #expect(await agent.terminate() == 0)
    }

    private static func shakes(loggedBy agent: JostleProgram) -> Int {
        agent.errors.split(separator: "\n").count { $0.contains("shake ") }
    }

    @Test func waitsForBroker() async throws {
        let broker = try TestBroker()
        let agent = try rig.virtualAgent(broker: broker.port, "rest")
        #expect(await agent.logs("check that the broker runs"), "\(agent.errors)")
        try await broker.start()
        let observer = try await Observer(broker.port)
        #expect(await observer.availability("online"), "\(agent.errors)")
        #expect(await agent.terminate() == 0)
    }

    @Test func stopsQuicklyWithoutBroker() async throws {
        let agent = try rig.virtualAgent(broker: try Loopback.freePort(), "rest")
        #expect(await agent.logs("check that the broker runs"), "\(agent.errors)")
        #expect(await agent.terminate() == 0)
    }

    @Test func logsWrongPasswordAndRetries() async throws {
        let broker = try await rig.broker(users: ["me": "right"])
        let right = MQTTCredentials(userName: "me", password: MQTTCredentials.Secret("right"))
        let observer = try await Observer(broker.port, credentials: right)

        let refused = try agent(broker.port, id: "refused", password: "wrong-secret")
        let accepted = try agent(broker.port, id: "accepted", password: "right")
        #expect(await observer.availability("online", of: "accepted"), "\(accepted.errors)")
        #expect(
            await eventually {
                refused.errors.split(separator: "\n").count { $0.contains("check user name and password") } >= 2
            }, "\(refused.errors)")
        #expect(refused.isRunning && !refused.errors.contains("wrong-secret"))
        #expect(observer.messages("availability", of: "refused").isEmpty)
        #expect(await refused.terminate() == 0)
    }

    private func agent(_ port: UInt16, id: String, password: String) throws -> JostleProgram {
        let file = try directory.write(password + "\n", to: id, permissions: 0o600)
        return try rig.virtualAgent(
            broker: port, "rest", "device.id=\(id)", "mqtt.username=me", "mqtt.password_file=\(file)")
    }

    @Test func frozenBrokerCostsNoSampleAndNoDelay() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try rig.virtualAgent(
            broker: broker.port, shakes, "mqtt.keep_alive=5 s", "publish.health.interval=1 s")
        #expect(await observer.sees { try $0.shakes().count >= 1 && $0.messages("health").count >= 1 })
        let samples = try #require(try observer.objects("health").last?["samples"] as? Int)

        broker.freeze()
        // Wait for three periods of the recording, by the agent's own log.
        let logged = Self.shakes(loggedBy: agent)
        #expect(await eventually { Self.shakes(loggedBy: agent) >= logged + 5 })
        broker.thaw()
        await observer.expect(agent) { observer in
            try observer.objects("health").contains { ($0["samples"] as? Int ?? 0) >= samples + 5 * 50 }
        }
        let health = try #require(try observer.objects("health").last)
        #expect(health["lost_samples"] as? Int == 0 && health["gaps"] as? Int == 0, "\(health)")
        try expectComplete(observer)

        broker.freeze()
        #expect(await agent.terminate() == 0)
        broker.thaw()
        #expect(await observer.availability("offline", count: 2), "farewell or will")
    }
}
