import BrokerTestSupport
import MosquittoClient
import Testing

/// Requirement: what the broker refuses, or sends although it is too large, costs neither events nor the agent's life,
/// and the health report says what is wrong.
@Suite(.needsBroker) struct RefusalTests {
    private let rig = Rig()

    @Test func keepsEventsUntilTheAccessListAllowsThem() async throws {
        let broker = try await rig.broker(rules: "topic readwrite #\ntopic deny jostle/dut/event/tap\n")
        let observer = try await Observer(broker.port)
        let agent = try rig.virtualAgent(
            broker: broker.port, "rest", ["publish.health.interval=1 s", "mqtt.version=v5"])
        try #require(await observer.availability("online"), "\(agent.errors)")

        /// Asks for a movement, again while an earlier one is not over, until the agent has recognised it.
        func simulate(_ movement: String, until line: Regex<Substring>, count: Int = 1) async throws {
            for _ in 0..<30 where agent.errors.matches(of: line).count < count {
                let text = #"{"movement":"\#(movement)"}"#
                try observer.publish("jostle/dut/command/simulate", text)
                _ = await observer.sees(within: .seconds(3)) { _ in agent.errors.matches(of: line).count >= count }
            }
        }
        try await simulate("tap", until: /tap recognized/)
        try await simulate("flip", until: /flip recognized/)
        try await simulate("tap", until: /tap recognized/, count: 2)
        #expect(await observer.sees { try !$0.objects("event/flip").isEmpty }, "\(agent.errors)")
        let fault = "the broker refuses messages to jostle/dut/event/tap: Not authorized"
        #expect(
            await observer.sees { observer in
                let report = try observer.objects("health").last
                return report?["mqtt_faults"] as? [String] == [fault] && (report?["outbox"] as? Int ?? 0) >= 2
                    && (report?["problems"] as? [String])?.contains("mqtt") == true
            }, "\(agent.errors) \(observer.texts("health").last ?? "")")
        #expect(agent.errors.contains(fault))
        #expect(observer.messages("event/tap").isEmpty)

        try broker.directory.write("topic readwrite #\n", to: "acl")
        broker.reload()
        #expect(await observer.sees { try $0.objects("event/tap").count >= 2 }, "\(agent.errors)")
        await observer.expect { observer in
            let report = try observer.objects("health").last
            return report?["mqtt_faults"] == nil && report?["outbox_dropped"] as? Int == 0
        }
        #expect(await agent.terminate() == 0)
    }

    /// MQTT 3.1.1 has no limit that a client could tell the broker.
    @Test(arguments: ["v3.1.1", "v5"])
    func survivesRetainedMessageThatIsTooLarge(version: String) async throws {
        let (broker, observer) = try await rig.observedBroker()
        let topic = "jostle/dut/command/simulate"
        var options = MQTTOptions(
            brokers: [BrokerAddress(host: "127.0.0.1", port: broker.port)], clientID: "careless")
        options.maximumPacketSize = 100 << 20
        let (acknowledged, acknowledge) = AsyncStream.makeStream(of: Void.self)
        let careless = try MQTTClient(options: options) { event in
            switch event {
            case .connected, .acknowledged: acknowledge.yield()
            default: break
            }
        }
        try careless.start()
        defer { _ = careless.stop(within: .milliseconds(100)) }
        var outcomes = acknowledged.makeAsyncIterator()
        await outcomes.next()
        let payload = [UInt8](repeating: 0x7B, count: 60 << 20)
        try careless.publish(
            MQTTMessage(topic: topic, payload: payload, qos: .atLeastOnce, retain: true), token: MQTTToken(1))
        await outcomes.next()

        let agent = try rig.virtualAgent(
            broker: broker.port, "rest", ["publish.health.interval=1 s", "mqtt.version=\(version)"])
        // The connection is of use for everything else.
        let change = MQTTMessage(topic: "jostle/dut/set/gestures.shake.sensitivity", text: "7", qos: .atLeastOnce)
        var isChanged = false
        for _ in 0..<20 where !isChanged {
            try observer.publish(change)
            isChanged = await observer.sees(within: .seconds(2)) { observer in
                try observer.setting("gestures.shake.sensitivity") as? Int == 7
            }
        }
        #expect(isChanged, "\(agent.errors)")
        if version == "v3.1.1" {
            let fault = "a message to \(topic) is larger than this client takes"
            await observer.expect(agent) { observer in
                let report = try observer.objects("health").last
                return (report?["mqtt_faults"] as? [String])?.first?.contains(fault) == true
            }
            #expect(agent.errors.contains(fault))
        } else {
            // The broker knows the limit, and does not send the message.
            #expect(await observer.sees { try !$0.objects("health").isEmpty })
            #expect(!agent.errors.contains("larger than"), "\(agent.errors)")
        }
        let peak = try memory("VmHWM", of: agent.processIdentifier)
        #expect(peak < 55 << 20, "\(peak) bytes")
        #expect(await agent.terminate() == 0)
    }
}
