import BrokerTestSupport
import Testing

@testable import MosquittoClient

/// Requirement: messages on a topic can be spaced in time; other topics, and the order, are not affected.
@Suite struct SpacingTests {
    private let rig = Rig()

    private let start = ContinuousClock.now
    private func after(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    @Test func eachTopicUnderThePrefixKeepsItsInterval() {
        var pacer = TopicPacer(MQTTSpacing(prefix: "e/", interval: .milliseconds(20)))
        #expect(pacer.delay(of: "e/a", at: after(0)) == nil)
        #expect(pacer.delay(of: "e/a", at: after(5)) == after(20))
        #expect(pacer.delay(of: "e/b", at: after(5)) == nil)
        #expect(pacer.delay(of: "other", at: after(5)) == nil)
        #expect(pacer.delay(of: "other", at: after(5)) == nil)
        // A delayed message is sent when due, and the next one waits from then on.
        #expect(pacer.delay(of: "e/a", at: after(20)) == nil)
        #expect(pacer.delay(of: "e/a", at: after(39)) == after(40))
        #expect(pacer.delay(of: "e/a", at: after(90)) == nil)
    }

    @Test func withoutASpacingNothingWaits() {
        var pacer = TopicPacer(nil)
        for _ in 0..<3 { #expect(pacer.delay(of: "e/a", at: start) == nil) }
    }

    @Test(.enabled(if: TestBroker.isAvailable, "mosquitto is not installed"))
    func aBurstArrivesInOrderAndSpaced() async throws {
        let broker = try await rig.broker()
        var options = MQTTOptions.local(broker.port, id: "burst")
        options.spacing = MQTTSpacing(prefix: "e/", interval: .milliseconds(20))
        let client = try await RecordedClient.connected(options, subscribingTo: ["#"])
        let begin = ContinuousClock.now
        for number in 0..<10 { try client.publish("e/shake", "\(number)") }
        try client.client.publish(MQTTMessage(topic: "last", text: "10"))
        #expect(await eventually { client.messages.count == 11 })
        #expect(client.messages.map(\.text) == (0...10).map { "\($0)" })
        // Nine intervals lie between ten messages, however slow the machine.
        #expect(begin.duration(to: .now) >= .milliseconds(180))
        #expect(client.client.stop() == .stopped(undelivered: 0))
    }

    /// Messages without spacing, and those left at the end, do not wait.
    @Test(.enabled(if: TestBroker.isAvailable, "mosquitto is not installed"))
    func unspacedMessagesAndTheRestAtTheEndAreSentAtOnce() async throws {
        let broker = try await rig.broker()
        var options = MQTTOptions.local(broker.port, id: "hurry")
        options.spacing = MQTTSpacing(prefix: "e/", interval: .seconds(600))
        let listener = try await RecordedClient.connected(.local(broker.port, id: "listener"), subscribingTo: ["#"])
        let client = try await RecordedClient.connected(options)
        for number in 0..<10 {
            var message = MQTTMessage(topic: "e/shake", text: "\(number)", qos: .atLeastOnce)
            message.isSpaced = false
            try client.client.publish(message)
        }
        #expect(await eventually { listener.messages.count == 10 })
        for number in 10..<13 { try client.publish("e/shake", "\(number)") }
        #expect(client.client.stop(within: .seconds(30)) == .stopped(undelivered: 0))
        #expect(await eventually { listener.messages.count == 13 })
        #expect(listener.messages.map(\.text) == (0..<13).map { "\($0)" })
    }
}
