import BrokerTestSupport
import Foundation
import Testing

/// Requirement: the agent reads a chip over /dev/i2c-N exclusively, and recovers from faults of the bus.
@Suite(.needsBroker, .needsFakeAdapter) struct ChipTests {
    private let rig = Rig()
    private let file: FakeBus
    private var bus: String { file.path }

    init() throws {
        file = try FakeBus()
    }

    private func agent(_ broker: TestBroker, _ options: String) throws -> JostleProgram {
        try rig.agent(
            broker: broker.port,
            ["sensor.bus=\(bus)", "sensor.rate=50Hz", "publish.health.interval=1 s", "publish.attitude.deadband=0"],
            fake: (bus, options))
    }

    @Test func publishesChipAndLocksIt() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try agent(broker, "bcm2835,shake=1-1.8:20:5,every=2.6")
        await observer.expect(agent) { try $0.shakes().count >= 2 && $0.messages("attitude").count >= 10 }
        try expectComplete(observer)
        #expect(agent.errors.contains("reading MPU-6050 at 0x68 on \(bus)"))
        #expect(try observer.objects("event/shake").allSatisfy { $0["simulated"] == nil })
        #expect(try observer.objects("state").last?["simulated"] as? Bool == false)

        for command in [["run", "--set", "sensor.bus=\(bus)"], ["scan", "--bus", bus]] {
            try await JostleProgram(command, fake: (bus, "")).outcome().expect(
                status: 69, errors: "jostle (process \(agent.processIdentifier)) uses it")
        }
        #expect(agent.isRunning)
        #expect(await agent.terminate() == 0)
        #expect(await observer.availability("offline", count: 2))

        try await jostle("scan", "--bus", bus, fake: (bus, "")).expect(status: 0)
    }

    @Test func recoversChipAfterSilence() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try agent(broker, "fail=300x80:EREMOTEIO")
        #expect(await agent.logs("the sensor is lost: the chip does not answer"), "\(agent.errors)")
        #expect(await agent.logs("the sensor is measuring again"), "\(agent.errors)")
        await observer.expect(agent) { observer in
            try observer.objects("health").contains {
                $0["sensor_state"] as? String == "streaming" && ($0["recoveries"] as? Int ?? 0) >= 1
                    && ($0["bus_errors"] as? [String: Int])?["not_acknowledged"] ?? 0 > 0
                    && $0["problem"] as? Bool == false && $0["problems"] as? [String] == []
            }
        }
        let count = observer.messages("attitude").count
        #expect(await observer.sees { $0.messages("attitude").count >= count + 5 })
        #expect(await agent.terminate() == 0)
    }

    /// An address pin that is not connected.
    @Test func findsTheChipAtItsOtherAddress() async throws {
        let broker = try await rig.broker()
        let agent = try agent(broker, "moves=4-12:0x69")
        // There and back.
        #expect(await agent.logs("the sensor is measuring again", times: 2), "\(agent.errors)")
        #expect(agent.errors.contains("the sensor is lost: the chip does not answer"), "\(agent.errors)")
        #expect(await agent.terminate() == 0)
    }

    /// Faults during a shake, which lasts from 3 s to 6 s after the start, and the explanation of each.
    @Test(
        arguments: [
            ("unplug=4.5-8", "the chip does not answer"), ("brownout=4.5", "it was reset or its supply failed"),
            ("down=4.5-6:EBUSY", "another driver or program is using the chip"),
            ("gone=4.5-8:ENODEV", "the bus is gone"),
        ] as [(String, String)])
    func recoversFromFaultDuringShake(fault: String, words: String) async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try agent(broker, "shake=3-6:20:5,every=12,\(fault)")
        // Any open gesture ends with the sensor. On a busy machine the shake may not have begun.
        #expect(await agent.logs("the sensor is lost: "), "\(agent.errors)")
        #expect(agent.errors.contains(words), "\(agent.errors)")
        await observer.expect(agent) { observer in
            try ["shake", "motion"].contains { gesture in
                try observer.objects("event/" + gesture).contains {
                    $0["phase"] as? String == "cancelled" && $0["reason"] as? String == "sensor_lost"
                }
            }
        }
        #expect(await agent.logs("the sensor is measuring again"), "\(agent.errors)")
        #expect(
            await observer.sees { observer in
                try observer.objects("health").contains {
                    $0["sensor_state"] as? String == "streaming" && ($0["recoveries"] as? Int ?? 0) >= 1
                        && ($0["gaps"] as? Int ?? 0) >= 1 && ($0["lost_samples"] as? Int ?? 0) > 0
                        && ($0["sensor_fault"] as? String)?.contains(words) == true
                }
            }, "\(observer.texts("health"))")
        if fault.hasPrefix("unplug") {
            // Long enough to be reported while it lasts, as a fault of the bus.
            #expect(
                try observer.objects("health").contains {
                    $0["sensor_state"] as? String != "streaming"
                        && ($0["bus_errors"] as? [String: Int])?["not_acknowledged"] ?? 0 > 0
                }, "\(observer.texts("health"))")
        }
        // The next shake is recognised again, without a restart.
        let before = try observer.shakes().filter { $0.phase == "began" }.count
        #expect(await observer.sees { try $0.shakes().filter { $0.phase == "began" }.count > before })
        #expect(observer.texts("availability") == ["online"])
        #expect(await agent.terminate() == 0)
        #expect(await observer.availability("offline", count: 2))
        try expectComplete(observer)
    }
}
