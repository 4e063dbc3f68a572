import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: the agent supervises what it depends on, and notifies the watchdog, whether sensing or stopped.
@Suite(.needsBroker) struct SupervisionTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    @Test func saysWhenReferenceIsTaken() async throws {
        let program = try rig.run(
            [
                "run", "--for", "60", "--set", "sensor.driver=virtual", "--set", "sensor.trajectory=rest", "--set",
                "sensor.rate=50Hz", "--set", "attitude.reference=start", "--set", "mqtt.broker=mqtt://127.0.0.1:1",
            ])
        #expect(await program.logs("there is no reference attitude yet"), "\(program.errors)")
        #expect(await program.logs("the reference attitude was taken at rest"), "\(program.errors)")
    }

    @Test func feedsWatchdogAwakeAndAsleep() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let manager = try NotifySocket(in: directory)
        let agent = try rig.agent(
            broker: broker.port, ["sensor.driver=virtual"],
            environment: ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "1000000"])
        #expect(await manager.receives("READY=1"), "\(agent.errors)")
        for name in ["stop", "start", "stop"] {
            for _ in 1...3 { #expect(await manager.receives("WATCHDOG=1"), "\(name): \(agent.errors)") }
            try observer.publish(MQTTMessage(topic: "jostle/dut/command/\(name)", payload: [], qos: .atLeastOnce))
            #expect(await observer.sees { try $0.objects("state").last?["stopped"] as? Bool == (name == "stop") })
            manager.drain()
        }
        for _ in 1...3 { #expect(await manager.receives("WATCHDOG=1"), "\(agent.errors)") }
        agent.signal(SIGTERM)
        #expect(await manager.receives("STOPPING=1"))
        #expect(await agent.exitStatus() == 0)
    }

    /// systemd reads no notification while it reloads its units, nor after a crash.
    @Test func goesOnWhileTheServiceManagerReadsNothing() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let manager = try NotifySocket(in: directory)
        // The queue is full after the tenth notification, or the 512th where systemd has set the limit.
        let agent = try rig.agent(
            broker: broker.port, ["sensor.driver=virtual", "sensor.trajectory=rest", "publish.health.interval=1 s"],
            environment: ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "2000"])
        #expect(await observer.sees { $0.messages("health").count >= 6 }, "\(agent.errors)")
        #expect(await agent.terminate() == 0)
    }

    @Test func restartsEmbeddedBroker() async throws {
        let agent = try rig.run(
            ["run", "--for", "120", "--set", "mqtt.broker=embedded", "--set", "sensor.driver=virtual"])
        #expect(await agent.logs("connected to "), "\(agent.errors)")
        let broker = try #require(Self.child(of: agent.processIdentifier))
        kill(broker, SIGKILL)
        #expect(await agent.logs("the embedded broker had ended and was restarted"), "\(agent.errors)")
        // Home Assistant cannot reach the embedded broker; the log says what to do.
        #expect(agent.errors.contains("Home Assistant does not discover the device"), "\(agent.errors)")
        #expect(await agent.logs("connected to ", times: 2), "\(agent.errors)")
        #expect(await agent.terminate() == 0)
    }

    /// The only child of a process: proc(5), the fourth field of `stat`.
    private static func child(of parent: pid_t) -> pid_t? {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.first { number in
            let stat = (try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8)) ?? ""
            let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
            return fields.count > 1 && fields[1] == "\(parent)"
        }
    }
}
