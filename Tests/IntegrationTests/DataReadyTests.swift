import BrokerTestSupport
import Foundation
import Testing

/// Requirement: the agent times samples by a GPIO line, reports a problem with the line, and refuses an impossible
/// rate.
@Suite(.needsProgram, .needsFakeAdapter) struct DataReadyTests {
    private let rig = Rig()
    private let file: FakeBus
    private var bus: String { file.path }
    private var chip: String { bus.replacingOccurrences(of: "i2c-", with: "gpiochip") }

    init() throws {
        file = try FakeBus()
    }

    private func agent(_ broker: TestBroker, gpio: String, _ settings: String...) throws -> JostleProgram {
        let line = ["sensor.interrupt.chip=\(chip)", "sensor.interrupt.line=17"]
        return try rig.agent(
            broker: broker.port,
            ["sensor.bus=\(bus)", "sensor.rate=50Hz", "publish.health.interval=1 s"] + line + settings,
            fake: (bus, ""), environment: ["FAKE_GPIO": chip, "FAKE_GPIO_OPTIONS": gpio])
    }

    @Test(.needsBroker) func timesSamplesByDataReadyLine() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try agent(broker, gpio: "wire=17")
        #expect(await agent.logs("the data-ready line is used to time the samples"), "\(agent.errors)")
        await observer.expect(agent) { observer in
            try observer.objects("health").contains {
                let line = $0["data_ready"] as? [String: Any]
                return line?["state"] as? String == "used" && (line?["timed_samples"] as? Int ?? 0) > 50
            }
        }
        #expect(await agent.terminate() == 0)
    }

    @Test(.needsBroker) func logsDisconnectedWireOnce() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try agent(broker, gpio: "wire=4", "publish.attitude.deadband=0")
        #expect(await agent.logs("no edges on the data-ready line"), "\(agent.errors)")
        await observer.expect { observer in
            try observer.objects("health").contains {
                ($0["data_ready"] as? [String: Any])?["fault"] as? String == "silent"
            }
        }
        let count = observer.messages("attitude").count
        #expect(await observer.sees { $0.messages("attitude").count >= count + 20 })
        #expect(agent.errors.components(separatedBy: "no edges on").count == 2, "\(agent.errors)")
        #expect(await agent.terminate() == 0)
    }

    @Test(arguments: [
        ("busy=17:spi0", 69, "\"spi0\" uses it"), ("open=EACCES", 77, "usermod -aG gpio"), ("lines=8", 78, "0 to 7"),
    ])
    func unavailableLineEndsProgram(gpio: String, status: Int32, text: String) async throws {
        let outcome = try await JostleProgram(
            [
                "run", "--set", "sensor.bus=\(bus)", "--set", "sensor.interrupt.chip=\(chip)", "--set",
                "sensor.interrupt.line=17", "--set", "mqtt.broker=mqtt://127.0.0.1:1",
            ], environment: ["FAKE_GPIO": chip, "FAKE_GPIO_OPTIONS": gpio], fake: (bus, "")
        ).outcome()
        #expect(outcome.status == status)
        #expect(outcome.errors.contains(text), "\(outcome.errors)")
        #expect(outcome.errors.contains("sensor.interrupt: line 17"))
    }

    @Test(arguments: [["run", "--set", "sensor.driver=virtual"], ["check-config", "--set", "sensor.driver=virtual"]])
    func excessiveRateIsConfigurationError(command: [String]) async throws {
        try await JostleProgram(
            command + ["--set", "sensor.rate=1500Hz", "--set", "mqtt.broker=mqtt://127.0.0.1:1"]
        ).outcome().expect(status: 78, errors: "the MPU-6050 measures up to 1000 Hz; 1500 Hz were requested")
    }

    @Test func warnsAboutUnknownBusClock() async throws {
        let program = try rig.run(
            [
                "run", "--for", "2", "--set", "sensor.bus=\(bus)", "--set", "sensor.rate=1000Hz", "--set",
                "mqtt.broker=mqtt://127.0.0.1:1",
            ], fake: (bus, ""))
        #expect(await program.logs("the bus's clock is unknown; if it is 100 kHz"), "\(program.errors)")
        #expect(program.errors.contains("1000 Hz need 133 %"))
    }
}
