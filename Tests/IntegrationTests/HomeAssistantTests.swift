import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: Home Assistant's view of a device matches its present state, through restarts, changes and renamings.
@Suite(.needsBroker) struct HomeAssistantTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    private func agent(_ broker: TestBroker, _ settings: String...) throws -> JostleProgram {
        let common = ["sensor.driver=virtual", "sensor.trajectory=rest", "sensor.rate=50Hz"]
        return try rig.agent(broker: broker.port, common + settings, state: directory.path("state"))
    }

    /// The discovery messages that a broker retains, by topic.
    private func announced(_ broker: TestBroker) async throws -> [String: String] {
        let late = try await Observer(broker.port)
        // All retained messages have arrived when this one has.
        try late.publish(MQTTMessage(topic: "marker", text: "", qos: .atLeastOnce))
        #expect(await late.sees { $0.topics.contains("marker") })
        let kept = late.all.filter { $0.retain && $0.topic.hasSuffix("/config") }
        return Dictionary(uniqueKeysWithValues: kept.map { ($0.topic, String(decoding: $0.payload, as: UTF8.self)) })
    }

    /// Waits for a number of discovery messages on a topic.
    private func sees(_ observer: Observer, _ topic: String, count: Int = 1, empty: Bool = false) async -> Bool {
        await observer.sees { $0.all.filter { $0.topic == topic && $0.payload.isEmpty == empty }.count >= count }
    }

    private let shake = "homeassistant/device_automation/dut/shake_began/config"
    private let last = "homeassistant/button/dut/tare/config"

    @Test func answersBirthMessageOnce() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try agent(broker)
        #expect(await sees(observer, last), "\(agent.errors)")
        let before = try await announced(broker)
        #expect(before.count > 80 && before[shake] != nil)

        let birth = ContinuousClock.now
        try observer.publish(MQTTMessage(topic: "homeassistant/status", text: "online"))
        #expect(await sees(observer, last, count: 2), "\(agent.errors)")
        // Not all devices at once: after a random delay.
        #expect(birth.duration(to: .now) >= .milliseconds(500))
        // Published for the new subscriber although nothing moves; the heartbeat is 30 s away.
        let attitudes = observer.messages("attitude").count
        #expect(await observer.sees { $0.messages("attitude").count > attitudes })
        for topic in before.keys { #expect(observer.topics.filter { $0 == topic }.count == 2, "\(topic)") }
        #expect(try await announced(broker) == before)
        #expect(await agent.terminate() == 0)
        // Discovery messages outlive the agent: automations must not break when a board is switched off.
        #expect(try await announced(broker) == before)
    }

    /// The discovery topics in the agent's state directory.
    private var remembered: String? {
        try? String(contentsOfFile: directory.path("state/announced-topics"), encoding: .utf8)
    }

    @Test func disabledFeaturesDisappear() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let first = try agent(broker)
        #expect(await sees(observer, last), "\(first.errors)")
        #expect(await first.terminate() == 0)

        let second = try agent(broker, "gestures.shake.enabled=false", "publish.health.interval=0")
        #expect(await sees(observer, shake, empty: true), "\(second.errors)")
        let rate = "homeassistant/sensor/dut/rate/config"
        #expect(await sees(observer, rate, empty: true), "\(second.errors)")
        let without = try await announced(broker)
        #expect(!without.keys.contains { $0.contains("/shake_began/") || $0.hasSuffix("/event/dut/shake/config") })
        #expect(without["homeassistant/switch/dut/shake_enabled/config"] != nil && without[rate] == nil)
        // Enabled over MQTT, it appears again without a restart.
        try observer.publish("jostle/dut/set/gestures.shake.enabled", "true")
        #expect(await sees(observer, shake, count: 2), "\(second.errors)")
        #expect(await second.terminate() == 0)

        let third = try agent(broker, "home_assistant.discovery=false")
        #expect(await eventually { remembered == "jostle announced topics 1\n" }, "\(third.errors)")
        #expect(try await announced(broker).isEmpty)
        #expect(await third.terminate() == 0)
    }

    @Test func announcesOnlyWhatBrokerLacks() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let first = try agent(broker)
        #expect(await sees(observer, last), "\(first.errors)")
        #expect(await first.terminate() == 0)
        // Lost by the broker.
        try observer.publish(shake, "", retain: true)

        let second = try agent(broker)
        #expect(await sees(observer, shake, count: 2), "\(second.errors)")
        #expect(await second.terminate() == 0)
        for topic in try await announced(broker).keys where topic != shake {
            #expect(observer.topics.filter { $0 == topic }.count == 1, "\(topic)")
        }
    }

    @Test func locallyDisabledFeaturesStay() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try agent(broker)
        #expect(await sees(observer, last), "\(agent.errors)")
        let before = try await announced(broker)
        for (key, value) in [
            ("gestures.shake.enabled", "false"), ("publish.attitude.rate", "0"),
            ("gestures.flick.directions", #"["left", "right", "up", "down"]"#),
        ] {
            try observer.publish("jostle/dut/set/\(key)", value)
        }
        // Published after the changes that are checked here, because it is set last.
        try observer.publish("jostle/dut/set/gestures.tap.counts", "double")
        #expect(await sees(observer, "homeassistant/device_automation/dut/tap_double/config"), "\(agent.errors)")
        let after = try await announced(broker)
        let removed = ["tap_single", "flick_forward", "flick_backward"]
        #expect(
            Set(before.keys).subtracting(after.keys)
                == Set(removed.map { "homeassistant/device_automation/dut/\($0)/config" }))
        #expect(await agent.terminate() == 0)
    }

    @Test func renamingLeavesNoDiscoveryMessages() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let first = try agent(broker)
        #expect(await sees(observer, last), "\(first.errors)")
        // Killed, so the topics must have been saved before. A slow disk is not waited for.
        #expect(await eventually { remembered?.contains("/dut/") == true })
        first.kill()

        let second = try agent(broker, "device.id=new", "home_assistant.prefix=ha")
        #expect(await sees(observer, "ha/button/new/tare/config"), "\(second.errors)")
        #expect(await sees(observer, last, empty: true), "\(second.errors)")
        #expect(await eventually { remembered?.contains("/dut/") == false })
        #expect(try await announced(broker).keys.allSatisfy { $0.hasPrefix("ha/") && $0.contains("/new/") })
        #expect(await second.terminate() == 0)
    }

    @Test func removesUnlistedMessagesFoundAtBroker() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let obsolete = "homeassistant/sensor/dut/gone/config"
        let stranger = "homeassistant/sensor/dut/foreign/config"
        for (topic, origin) in [(obsolete, "Jostle"), (stranger, "Somebody")] {
            let text = "{\"name\":\"x\",\"origin\":{\"name\":\"\(origin)\"}}"
            try observer.publish(topic, text, retain: true)
        }
        let agent = try agent(broker)
        #expect(await sees(observer, obsolete, empty: true), "\(agent.errors)")
        #expect(await sees(observer, last), "\(agent.errors)")
        let kept = try await announced(broker)
        #expect(kept[obsolete] == nil && kept[stranger] != nil)
        #expect(await agent.terminate() == 0)
    }

    @Test func logsRejectionOfDiscoveryOnce() async throws {
        let rules = try directory.write("topic readwrite jostle/#\n", to: "acl")
        let broker = try await rig.broker(
            directory: directory, settings: "allow_anonymous true\nacl_file \(rules)")
        let agent = try agent(broker)
        #expect(await agent.logs("rejects Home Assistant discovery messages"), "\(agent.errors)")
        let observer = try await Observer(broker.port)
        #expect(await observer.availability("online"))
        #expect(agent.errors.split(separator: "\n").filter { $0.contains("discovery messages") }.count == 1)
        #expect(await agent.terminate() == 0)
    }
}
