import BrokerTestSupport
import Testing

/// Requirement: two agents on a board have separate chips and ids, and do not disturb each other.
@Suite(.needsBroker, .needsFakeAdapter) struct InstanceTests {
    private let rig = Rig()

    @Test func twoAgentsReadTwoChipsOnOneBus() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let file = try FakeBus()
        defer { file.remove() }
        let bus = file.path
        func agent(_ instance: String, _ address: String) throws -> JostleProgram {
            let settings = [
                "mqtt.broker=mqtt://127.0.0.1:\(broker.port)", "sensor.bus=\(bus)", "sensor.address=\(address)",
                "sensor.rate=50Hz", "publish.attitude.deadband=0",
            ]
            return try rig.run(
                ["run", "--for", "120"] + settings.flatMap { ["--set", $0] },
                environment: ["JOSTLE_INSTANCE": instance], fake: (bus, "bcm2835,address=\(address)"))
        }
        let left = try agent("left", "0x68")
        let right = try agent("right", "0x69")
        func id(_ instance: String) -> String? {
            observer.topics.map { String($0.split(separator: "/")[1]) }.first { $0.hasSuffix("-\(instance)") }
        }
        #expect(await observer.sees { _ in id("left") != nil && id("right") != nil }, "\(left.errors) \(right.errors)")
        let leftID = try #require(id("left"))
        let rightID = try #require(id("right"))
        let (boardOfLeft, boardOfRight) = (leftID.dropLast("-left".count), rightID.dropLast("-right".count))
        #expect(boardOfLeft == boardOfRight)
        #expect(
            await observer.sees {
                $0.messages("attitude", of: leftID).count > 5 && $0.messages("attitude", of: rightID).count > 5
            }, "\(left.errors) \(right.errors)")
        #expect(left.errors.contains("MPU-6050 at 0x68 on \(bus)"), "\(left.errors)")
        #expect(right.errors.contains("MPU-6050 at 0x69 on \(bus)"), "\(right.errors)")

        // A third agent finds its chip in use.
        let third = try agent("third", "0x69")
        #expect(await third.exitStatus() == 69 && third.errors.contains("uses it"), "\(third.errors)")

        // Without --on, the command goes to the instance's own agent.
        let stop = try await jostle(
            "stop", "--set", "mqtt.broker=mqtt://127.0.0.1:\(broker.port)",
            environment: ["JOSTLE_INSTANCE": "left"]
        ).expect(status: 0)
        #expect(stop.output == "\(leftID): stopped\n", "\(stop)")
        #expect(await observer.sees { try $0.objects("state", of: leftID).last?["stopped"] as? Bool == true })
        let seen = observer.messages("attitude", of: rightID).count
        #expect(await observer.sees { $0.messages("attitude", of: rightID).count > seen + 5 }, "\(right.errors)")

        #expect(await left.terminate() == 0)
        #expect(await right.terminate() == 0)
    }
}
