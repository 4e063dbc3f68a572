import BrokerTestSupport
import MosquittoClient
import Testing

/// Requirement: commands over MQTT are carried out and answered, and cannot make a device publish to an arbitrary
/// topic.
@Suite(.needsBroker) struct CommandTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()
    private let tilted: String

    init() throws {
        tilted = try directory.write(Recording.tilted, to: "tilted.csv")
    }

    private func command(_ name: String, _ arguments: String = "", replyTo topic: String? = nil) -> MQTTMessage {
        var message = MQTTMessage(topic: "jostle/dut/command/\(name)", text: arguments, qos: .atLeastOnce)
        message.properties.responseTopic = topic
        message.properties.correlationData = [7, 0, 255]
        return message
    }

    /// Waits until the published roll is this angle in degrees, within the virtual chip's errors.
    private func rollBecomes(_ degrees: Double, _ observer: Observer) async -> Bool {
        await observer.sees { abs((try $0.objects("attitude").last?["roll"] as? Double ?? .nan) - degrees) < 6 }
    }

    @Test func tareZeroesAttitudeAndClearUndoesIt() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try rig.virtualAgent(broker: broker.port, tilted)
        #expect(await rollBecomes(30, observer), "\(agent.errors)")

        try observer.publish(command("tare", replyTo: "jostle/_reply/desk"))
        #expect(await observer.sees { !$0.messages("command/tare/result").isEmpty }, "\(agent.errors)")
        #expect(try observer.objects("command/tare/result").last?["ok"] as? Bool == true)
        #expect(await rollBecomes(0, observer), "\(agent.errors)")
        #expect(await observer.sees { !$0.messages("desk", of: "_reply").isEmpty })
        let reply = try #require(observer.messages("desk", of: "_reply").first)
        #expect(reply.properties.correlationData == [7, 0, 255])
        #expect(reply.payload == observer.messages("command/tare/result").first?.payload)

        // Only the heading is zeroed; the board stays as tilted as it was.
        try observer.publish(command("tare", "{\"heading_only\":true}"))
        #expect(await rollBecomes(30, observer), "\(agent.errors)")
        try observer.publish(command("tare"))
        #expect(await rollBecomes(0, observer), "\(agent.errors)")

        try observer.publish(command("tare", "{\"clear\":true}"))
        #expect(await rollBecomes(30, observer), "\(agent.errors)")
        #expect(await agent.terminate() == 0)
    }

    @Test func refusesInvalidCommandsAndForeignReplyTopics() async throws {
        let (broker, observer) = try await rig.observedBroker()
        var retained = command("tare", "{}")
        retained.retain = true
        try observer.publish(retained)
        let agent = try rig.virtualAgent(broker: broker.port, tilted)
        #expect(await observer.sees { !$0.messages("command/tare/result").isEmpty }, "\(agent.errors)")
        #expect(try observer.objects("command/tare/result").first?["error"] as? String == "retained")
        // A command that is retained while the agent runs is not carried out either, nor is the empty message that
        // clears it.
        for text in ["{}", ""] {
            var message = command("start", text)
            message.retain = true
            try observer.publish(message)
        }
        #expect(await observer.sees { $0.messages("command/start/result").count == 2 }, "\(agent.errors)")
        let answers = try observer.objects("command/start/result").compactMap { $0["error"] as? String }
        #expect(answers == ["retained", "retained"])

        #expect(await rollBecomes(30, observer), "\(agent.errors)")
        try observer.publish(command("tare", "{\"clear\":7}", replyTo: "homeassistant/lamp/set"))
        #expect(await observer.sees { $0.messages("command/tare/result").count >= 2 }, "\(agent.errors)")
        #expect(try observer.objects("command/tare/result").last?["error"] as? String == "bad_arguments")
        try observer.publish(command("reboot", replyTo: "jostle/_reply/desk"))
        #expect(await observer.sees { !$0.messages("desk", of: "_reply").isEmpty }, "\(agent.errors)")
        #expect(try observer.objects("command/reboot/result").last?["error"] as? String == "unknown_command")
        #expect(!observer.topics.contains("homeassistant/lamp/set"))
        #expect(await agent.terminate() == 0)
    }
}
