import BrokerTestSupport
import Testing

/// Requirement: sensing can be stopped and started while the agent runs. While it is stopped, the chip is not accessed,
/// and subscribers can see it.
@Suite(.needsBroker) struct StopTests {
    private let rig = Rig()

    private func ask(_ words: String..., at port: UInt16) async throws -> Outcome {
        return try await JostleProgram(words + ["--set", "mqtt.broker=mqtt://127.0.0.1:\(port)"]).outcome()
    }

    @Test func stopsAndStartsFromCommandLine() async throws {
        let (broker, observer) = try await rig.observedBroker()
        // The virtual board is carried around, so `motion` is open when sensing stops.
        let agent = try rig.virtualAgent(broker: broker.port, "walk", "publish.health.interval=1 s")
        #expect(await observer.sees { try $0.events("motion").last?.phase == "began" }, "\(agent.errors)")

        let stop = try await ask("stop", "--on", "dut", at: broker.port).expect(status: 0)
        #expect(stop.output == "dut: stopped\n", "\(stop) \(agent.errors)")
        #expect(await observer.sees { try $0.objects("state").last?["stopped"] as? Bool == true })
        #expect(try observer.objects("state").last?["moving"] as? Bool == false)
        #expect(await observer.sees { try $0.objects("event/motion").last?["reason"] as? String == "stopped" })
        try expectComplete(observer)
        #expect(await stoppedHealth(observer), "\(agent.errors)")
        let attitudes = observer.messages("attitude").count
        let samples = try observer.objects("health").last?["samples"] as? Int
        let reports = observer.messages("health").count
        #expect(await observer.sees { $0.messages("health").count >= reports + 2 })
        #expect(observer.messages("attitude").count == attitudes)
        let later = try observer.objects("health").last?["samples"] as? Int
        #expect(later == samples && samples ?? 0 > 0)
        #expect(observer.texts("availability") == ["online"])

        // With the id in the configuration, without --on.
        let again = try await ask("stop", "--set", "device.id=dut", at: broker.port).expect(status: 0)
        #expect(again.output == "dut: already stopped\n", "\(again)")
        let start = try await ask("start", "--set", "device.id=dut", at: broker.port).expect(status: 0)
        #expect(start.output == "dut: sensing\n", "\(start)")
        #expect(await observer.sees { $0.messages("attitude").count > attitudes }, "\(agent.errors)")
        await observer.expect(agent) { try $0.objects("health").last?["sensor_state"] as? String == "streaming" }
        #expect(try observer.objects("health").last?["stopped"] as? Bool == false)
        #expect(await agent.terminate() == 0)
    }

    /// The broker passes neither the response topic nor the correlation data on to such an agent.
    @Test func hearsAgentWithAnOlderVersionOfMQTT() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try rig.virtualAgent(broker: broker.port, "rest", "mqtt.version=v3.1.1")
        #expect(await observer.availability("online"), "\(agent.errors)")
        let stop = try await ask("stop", "--on", "dut", at: broker.port).expect(status: 0)
        #expect(stop.output == "dut: stopped\n", "\(stop) \(agent.errors)")
        let fleet = try await ask("fleet", "command", "ping", "--device", "dut", at: broker.port).expect(status: 0)
        #expect(fleet.output.contains("done"), "\(fleet) \(agent.errors)")
        #expect(observer.topics.allSatisfy { !$0.hasPrefix("jostle/_reply/") })
    }

    private func stoppedHealth(_ observer: Observer) async -> Bool {
        await observer.sees { observer in
            let last = try observer.objects("health").last
            return last?["sensor_state"] as? String == "asleep" && last?["stopped"] as? Bool == true
        }
    }

    /// Without a sensor the agent waits for a start command, which reports what is missing.
    @Test func disabledAgentWaitsForStart() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let bus = "/dev/i2c-99999"
        let agent = try rig.agent(
            broker: broker.port, ["sensor.enabled=false", "sensor.bus=\(bus)", "publish.health.interval=1 s"])
        #expect(await observer.availability("online"), "\(agent.errors)")
        #expect(await stoppedHealth(observer), "\(agent.errors)")
        #expect(try observer.objects("state").last?["stopped"] as? Bool == true)
        #expect(try observer.objects("state").last?["side"] == nil)
        let start = try await ask("start", "--on", "dut", at: broker.port).expect(status: 69)
        #expect(start.errors.contains(bus), "\(start)")
        #expect(await agent.terminate() == 0)
    }

    @Test(.needsFakeAdapter) func putsChipToSleepAndWakesIt() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let file = try FakeBus()
        defer { file.remove() }
        let bus = file.path
        let agent = try rig.agent(
            broker: broker.port,
            ["sensor.enabled=false", "sensor.bus=\(bus)", "sensor.rate=50Hz", "publish.attitude.deadband=0"],
            fake: (bus, "bcm2835"))
        #expect(await observer.availability("online"), "\(agent.errors)")
        for round in 1...2 {
            let seen = observer.messages("attitude").count
            try await ask("start", "--on", "dut", at: broker.port).expect(status: 0)
            #expect(await observer.sees { $0.messages("attitude").count > seen + 3 }, "\(round): \(agent.errors)")
            // No other program can open the chip, awake or asleep.
            try await jostle("scan", "--bus", bus, fake: (bus, "")).expect(status: 69, errors: "uses it")
            try await ask("stop", "--on", "dut", at: broker.port).expect(status: 0)
            #expect(await observer.sees { try $0.objects("state").last?["stopped"] as? Bool == true })
        }
        try await jostle("scan", "--bus", bus, fake: (bus, "")).expect(status: 69, errors: "uses it")
        #expect(await agent.terminate() == 0)
    }
}
