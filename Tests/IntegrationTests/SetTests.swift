import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: permitted settings can be changed while the agent runs and survive a restart; others cannot be changed.
@Suite(.needsBroker) struct SetTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    private func agent(_ broker: TestBroker, _ trajectory: String, _ settings: String...) throws -> JostleProgram {
        try rig.agent(
            broker: broker.port,
            ["sensor.driver=virtual", "sensor.trajectory=\(trajectory)", "sensor.rate=50Hz"] + settings,
            state: directory.path("state"))
    }

    private func set(_ observer: Observer, _ key: String, _ value: String, retain: Bool = false) throws {
        try observer.publish(
            MQTTMessage(topic: "jostle/dut/set/\(key)", text: value, qos: .atLeastOnce, retain: retain))
    }

    private func refused(_ observer: Observer) throws -> [String] {
        (try observer.objects("config/reported").last?["refused"] as? [[String: String]] ?? []).compactMap { $0["key"] }
    }

    @Test func appliesValueNowAndAfterRestart() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let shakes = try directory.write(Recording.shake(), to: "shakes.csv")
        let first = try agent(broker, shakes, "gestures.shake.enabled=false")
        #expect(await observer.sees { try $0.origin("gestures.shake.enabled") == "argument" }, "\(first.errors)")
        #expect(observer.messages("event/shake").isEmpty)

        try set(observer, "gestures.shake.enabled", "true")
        #expect(await observer.sees { try $0.origin("gestures.shake.enabled") == "local" }, "\(first.errors)")
        #expect(await observer.sees { !$0.messages("event/shake").isEmpty }, "\(first.errors)")
        try set(observer, "publish.health.interval", "1 s")
        #expect(await observer.sees { $0.messages("health").count >= 3 }, "\(first.errors)")
        #expect(await first.terminate() == 0)

        let second = try agent(broker, shakes, "gestures.shake.enabled=false")
        let events = observer.messages("event/shake").count
        #expect(await observer.sees { $0.messages("event/shake").count >= events + 2 }, "\(second.errors)")
        try set(observer, "gestures.shake.enabled", "")
        #expect(await observer.sees { try $0.origin("gestures.shake.enabled") == "argument" }, "\(second.errors)")
        #expect(await second.terminate() == 0)
        // A late subscriber gets the settings in force too.
        let late = try await Observer(broker.port)
        #expect(await late.sees { try $0.origin("publish.health.interval") == "local" })
        #expect(late.messages("config/reported").allSatisfy { $0.retain })
    }

    /// The topics that somebody tries who does not know the key's notation. Each message arrives once.
    @Test func acceptsLevelsAndDocuments() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try agent(broker, "rest")
        #expect(await observer.sees { !$0.messages("config/reported").isEmpty }, "\(agent.errors)")

        try set(observer, "gestures/shake/sensitivity", "7")
        #expect(await agent.logs("gestures.shake.sensitivity: 5 -> 7"), "\(agent.errors)")
        let document = #"{"gestures": {"tap": {"sensitivity": 8}, "shack": {"sensitivity": 3}}}"#
        try observer.publish("jostle/dut/set", document)
        #expect(await observer.sees { try refused($0) == ["gestures.shack"] }, "\(agent.errors)")
        #expect(try observer.origin("gestures.shake.sensitivity") == "local")
        #expect(try observer.origin("gestures.tap.sensitivity") == "local")
        try observer.publish("jostle/dut/set", "8")
        #expect(await observer.sees { try refused($0) == ["gestures.shack", ""] }, "\(agent.errors)")
        #expect(await agent.terminate() == 0)
        for text in ["gestures.shake.sensitivity: ", "gestures.tap.sensitivity: ", " not set: "] {
            let count = agent.errors.components(separatedBy: text).count - 1
            #expect(count == (text == " not set: " ? 2 : 1), "\(agent.errors)")
        }
    }

    @Test func refusesRetainedValueAtReconnection() async throws {
        let (broker, observer) = try await rig.observedBroker()
        try set(observer, "gestures.shake.sensitivity", "9", retain: true)
        let agent = try agent(broker, "rest")
        #expect(await observer.sees { try refused($0) == ["gestures.shake.sensitivity"] }, "\(agent.errors)")
        #expect(try observer.origin("gestures.shake.sensitivity") == nil)
        #expect(await agent.terminate() == 0)
    }

    @Test func thousandGarbageMessagesChangeNothing() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try agent(broker, "rest")
        #expect(await observer.sees { !$0.messages("config/reported").isEmpty }, "\(agent.errors)")
        let before = try #require(try observer.objects("config/reported").first?["settings"] as? NSDictionary)

        let keys = [
            "gestures.shake.sensitivity", "mqtt.broker", "x", "gestures", "publish.attitude.rate", "é\u{1F480}",
        ]
        var generator = SystemRandomNumberGenerator()
        for number in 0..<1000 {
            // The first byte is not a digit, so that none is a valid value.
            let payload =
                [0x80 + UInt8(number % 128)]
                + (0..<(number % 64)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
            let message = MQTTMessage(
                topic: "jostle/dut/set/\(keys[number % keys.count])", payload: payload, qos: .atLeastOnce)
            try observer.publish(message)
        }
        try set(observer, "attitude.low_pass", "2 Hz")
        #expect(await observer.sees { try $0.origin("attitude.low_pass") == "local" }, "\(agent.errors.suffix(2000))")
        try set(observer, "attitude.low_pass", "")
        #expect(await observer.sees { try $0.origin("attitude.low_pass") == nil })
        #expect(try #require(try observer.objects("config/reported").last?["settings"] as? NSDictionary) == before)
        #expect(observer.messages("config/reported").count < 200)
        #expect(await agent.terminate() == 0)
        #expect(try String(contentsOfFile: directory.path("state/local-settings.json"), encoding: .utf8) == "{}\n")
    }
}
