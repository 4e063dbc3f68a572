import BrokerTestSupport
import Foundation
import Testing

/// Requirement: SIGHUP makes the service read its files again. What can change at run time is in force at once, what
/// cannot is named, and a mistake changes nothing.
@Suite(.needsBroker) struct ReloadTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()
    private let broker: TestBroker
    private let observer: Observer
    private let manager: NotifySocket
    private let file: String

    init() async throws {
        (broker, observer) = try await rig.observedBroker()
        manager = try NotifySocket(in: directory)
        let shakes = try directory.write(Recording.shake(), to: "shakes.csv")
        try FileManager.default.createDirectory(
            atPath: directory.path("conf.d"), withIntermediateDirectories: true)
        file = try directory.write(
            """
            device: { id: dut }
            sensor: { driver: virtual, trajectory: \(shakes), rate: 50 Hz }
            mqtt: { broker: "mqtt://127.0.0.1:\(broker.port)" }
            gestures: { shake: { sensitivity: 3 } }
            """, to: "jostle.yaml")
    }

    /// The agent as a service, without a terminal.
    private func agent(
        _ arguments: String..., fake: (path: String, options: String)? = nil
    ) async throws -> JostleProgram {
        let agent = try rig.run(
            ["run", "--config", file] + arguments, environment: ["NOTIFY_SOCKET": manager.path], fake: fake,
            launcher: ["setsid"])
        #expect(await manager.receives("READY=1"), "\(agent.errors)")
        #expect(await observer.sees { try sensitivity($0) != nil }, "\(agent.errors)")
        return agent
    }

    private func reload(_ agent: JostleProgram) async {
        manager.drain()
        agent.signal(SIGHUP)
        #expect(
            await manager.receives { $0.hasPrefix("RELOADING=1\nMONOTONIC_USEC=") && Int($0.dropFirst(27)) ?? 0 > 0 })
        #expect(await manager.receives("READY=1"), "\(agent.errors)")
    }

    private func report(_ observer: Observer) throws -> [String: Any] {
        try #require(try observer.objects("config/reported").last)
    }

    private func sensitivity(_ observer: Observer) throws -> Int? {
        // There may be no report yet.
        try observer.setting("gestures.shake.sensitivity") as? Int
    }

    @Test func warnsOfRulesWithoutEffect() async throws {
        let agent = try await agent()
        let warning = "actions[0].count: \"2\" never acts: gestures.tap.counts does not include double"
        #expect(!agent.errors.contains(warning))
        try directory.write("actions: [{ on: tap, count: 2, publish: { topic: lamp } }]\n", to: "conf.d/rule.yaml")
        await reload(agent)
        #expect(await eventually { agent.errors.contains(warning) }, "\(agent.errors)")
    }

    @Test func appliesFilesLive() async throws {
        let agent = try await agent("--set", "gestures.tap.sensitivity=2")
        #expect(observer.messages("lamp", of: "lamps").isEmpty)
        let runs = Set(try observer.objects("config/reported").compactMap { $0["run"] as? String })
        try directory.write(
            """
            gestures: { shake: { sensitivity: 6 }, tap: { sensitivity: 9 } }
            actions: [{ on: shake, publish: { topic: lamp/set, payload: toggle } }]
            """, to: "conf.d/local.yaml")
        await reload(agent)
        #expect(await observer.sees { try sensitivity($0) == 6 }, "\(agent.errors)")
        #expect(await agent.logs("gestures.shake.sensitivity: 3 -> 6"))
        // The argument is above the file.
        #expect(!agent.errors.contains("gestures.tap.sensitivity"))
        #expect(await observer.sees { $0.topics.contains("lamp/set") }, "\(agent.errors)")
        #expect(try report(observer)["restart_required"] == nil)
        #expect(Set(try observer.objects("config/reported").compactMap { $0["run"] as? String }) == runs)
        await reload(agent)
        #expect(await agent.logs("the configuration was read again; no value in force has changed"))
        #expect(await agent.terminate() == 0)
    }

    @Test func namesWhatNeedsARestart() async throws {
        let agent = try await agent()
        try directory.write(
            "sensor: { bus: /dev/i2c-7 }\nmqtt: { broker: mqtt://nowhere }\ngestures: { shake: { sensitivity: 7 } }\n",
            to: "conf.d/local.yaml")
        await reload(agent)
        #expect(await observer.sees { try sensitivity($0) == 7 }, "\(agent.errors)")
        #expect(await agent.logs("takes effect at the next start: sensor.bus, mqtt.broker"), "\(agent.errors)")
        #expect(try report(observer)["restart_required"] as? [String] == ["sensor.bus", "mqtt.broker"])
        // Taken back in the file.
        try directory.write("gestures: { shake: { sensitivity: 8 } }\n", to: "conf.d/local.yaml")
        await reload(agent)
        #expect(await observer.sees { try sensitivity($0) == 8 }, "\(agent.errors)")
        #expect(try report(observer)["restart_required"] == nil)
        #expect(await agent.terminate() == 0)
    }

    @Test func mistakeChangesNothing() async throws {
        let agent = try await agent()
        let local = try directory.write(
            "gestures: { shake: { sensitivity: 9 } }\nsensor: { raet: 50 Hz }\n", to: "conf.d/local.yaml")
        await reload(agent)
        #expect(await agent.logs("the configuration stays as it is"), "\(agent.errors)")
        #expect(await agent.logs("\(local):2:11: sensor.raet: unknown key; did you mean \"rate\"?"), "\(agent.errors)")
        #expect(try sensitivity(observer) == 3)
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.removeItem(atPath: local)
        await reload(agent)
        #expect(await agent.logs("\(file): No such file or directory"), "\(agent.errors)")
        #expect(try sensitivity(observer) == 3)
        #expect(await agent.terminate() == 0)
    }

    @Test func valuesSetOverMQTTStayAboveTheFile() async throws {
        let agent = try await agent()
        try observer.publish("jostle/dut/set/gestures.shake.sensitivity", "5")
        #expect(await observer.sees { try sensitivity($0) == 5 }, "\(agent.errors)")
        try directory.write("gestures: { shake: { sensitivity: 6 } }\n", to: "conf.d/local.yaml")
        await reload(agent)
        #expect(try sensitivity(observer) == 5)
        // Without it, the value of the file that was read last is in force.
        try observer.publish("jostle/dut/set/gestures.shake.sensitivity")
        #expect(await observer.sees { try sensitivity($0) == 6 }, "\(agent.errors)")
        #expect(await agent.terminate() == 0)
    }
    /// Only the open sensor shows what its chip permits, so the check of the files does not find this.
    @Test(.needsFakeAdapter) func configurationThatTheSensorRefusesChangesNothing() async throws {
        let bus = try FakeBus()
        defer { bus.remove() }
        try directory.write(
            """
            device: { id: dut }
            sensor: { bus: \(bus.path), rate: 50 Hz }
            mqtt: { broker: "mqtt://127.0.0.1:\(broker.port)" }
            settings: { allow: [sensor] }
            gestures: { shake: { sensitivity: 3 } }
            """, to: "jostle.yaml")
        let agent = try await agent(fake: (bus.path, ""))
        let local = try directory.write(
            "sensor: { rate: 2000 Hz }\ngestures: { shake: { sensitivity: 9 } }\n", to: "conf.d/local.yaml")
        await reload(agent)
        #expect(
            await agent.logs(
                "the configuration stays as it is: sensor.rate: the MPU-6050 measures up to 1000 Hz; 2000 Hz were requested"
            ), "\(agent.errors)")
        #expect(try sensitivity(observer) == 3)
        // Nor does a message.
        try observer.publish("jostle/dut/set/sensor.rate", "2000")
        #expect(await agent.logs("sensor.rate not set: "), "\(agent.errors)")
        // A rate that it has is taken.
        try "sensor: { rate: 100 Hz }\ngestures: { shake: { sensitivity: 4 } }\n".write(
            toFile: local, atomically: true, encoding: .utf8)
        await reload(agent)
        #expect(await observer.sees { try sensitivity($0) == 4 }, "\(agent.errors)")
        #expect(await agent.logs("sensor.rate: \"50 Hz\" -> \"100 Hz\""), "\(agent.errors)")
        #expect(try observer.setting("sensor.rate") as? String == "100 Hz")
        #expect(!agent.errors.contains("keeps its old settings"))
        #expect(await agent.terminate() == 0)
    }
}
