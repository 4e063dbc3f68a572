import BrokerTestSupport
import Foundation
import Testing

/// Requirement: programs that take one plain value a topic get what the JSON messages say, and nothing unless asked for.
@Suite(.needsBroker) struct PlainValueTests {
    @Test func valuesAreThoseOfTheMessages() async throws {
        let rig = try await AgentRig.measuring("rest")
        try await rig.observer.catchUp()
        #expect(!rig.observer.topics.contains { $0.contains("/plain/") })
        try rig.observer.publish("jostle/dut/set/publish.plain", "true")
        await rig.observer.expect(rig.agent) { !$0.texts("plain/roll").isEmpty && !$0.texts("plain/side").isEmpty }
        try rig.send("simulate", #"{"movement":"shake"}"#)
        await rig.observer.expect(rig.agent) { $0.texts("plain/shake").contains("ended") }
        #expect(rig.observer.texts("plain/shake").first == "began")
        // A late subscriber gets the state, and of each topic the last value.
        let late = try await Observer(rig.broker.port)
        await late.expect { $0.topics.contains("jostle/dut/plain/vibrating") && !$0.messages("state").isEmpty }
        try await late.catchUp()
        for name in ["moving", "side", "tilt", "vibrating"] {
            let message = try #require(late.messages("plain/\(name)").first)
            #expect(message.retain)
        }
        for attitude in try rig.observer.objects("attitude").suffix(3) {
            for angle in ["roll", "pitch", "yaw"] {
                let value = try #require(attitude[angle] as? Double)
                #expect(rig.observer.texts("plain/\(angle)").contains { Double($0) == value }, "\(angle) \(value)")
            }
        }
        try rig.observer.publish("jostle/dut/set/publish.plain", "false")
        await rig.observer.expect(rig.agent) { $0.texts("plain/side").last == "" }
        let later = try await Observer(rig.broker.port)
        await later.expect { !$0.messages("state").isEmpty }
        try await later.catchUp()
        #expect(!later.all.contains { $0.retain && $0.topic.contains("/plain/") })
        #expect(await rig.agent.terminate() == 0)
    }
}
