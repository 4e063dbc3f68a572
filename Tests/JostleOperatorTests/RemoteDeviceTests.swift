import JostleMessages
import MosquittoClient
import Testing

@testable import JostleOperator

/// Requirement: a client that sends a command gets its own answer, and every event.
@Suite struct ReceivedMessagesTests {
    private var received = ReceivedMessages(Topics(prefix: "jostle", id: "a"))

    private mutating func receive(
        _ topic: String, _ text: String, correlationData: [UInt8]? = nil, retain: Bool = false
    ) {
        var message = MQTTMessage(topic: topic, text: text, retain: retain)
        message.properties.correlationData = correlationData
        received.take(message)
    }

    @Test mutating func answerMatchesCorrelationData() {
        receive("jostle/_reply/x", "too early", correlationData: [1])
        received.expectAnswer(on: "jostle/_reply/x", correlationData: [1])
        receive("jostle/_reply/x", "another's", correlationData: [2])
        receive("jostle/_reply/x", "no data")
        #expect(received.answer == nil)
        receive("jostle/_reply/x", "mine", correlationData: [1])
        receive("jostle/_reply/x", "again", correlationData: [1])
        #expect(received.answer == Array("mine".utf8))
    }

    /// As with MQTT 3.1.1, which has no correlation data.
    @Test mutating func firstAnswerCountsWithoutCorrelationData() {
        received.expectAnswer(on: "jostle/a/command/simulate/result", correlationData: nil)
        receive("jostle/a/command/simulate/result", "of an earlier question", retain: true)
        #expect(received.answer == nil)
        receive("jostle/a/command/simulate/result", "mine")
        #expect(received.answer == Array("mine".utf8))
    }

    @Test mutating func takesEventsOnceInOrder() {
        receive("jostle/a/event/shake", "{\"gesture\":\"shake\",\"phase\":\"began\",\"simulated\":true}")
        receive("jostle/a/event/tap", "{\"gesture\":\"tap\",\"phase\":\"recognized\"}")
        receive("jostle/a/event/tap", "no event")
        receive("jostle/a/event/tap", "{\"gesture\":\"tap\",\"phase\":\"recognized\"}", retain: true)
        receive("jostle/a/availability", "online", retain: true)
        let events = received.takeEvents().events
        #expect(events.map(\.gesture) == ["shake", "tap"] && events.map(\.phase) == ["began", "recognized"])
        #expect(events.map(\.isSimulated) == [true, false])
        #expect(received.takeEvents().events.isEmpty)
        #expect(received.availability == "online")
    }

    /// A device must not fill the memory of whoever waits for its events.
    @Test mutating func eventsAreBounded() {
        for _ in 0..<1500 { receive("jostle/a/event/tap", "{\"gesture\":\"tap\",\"phase\":\"recognized\"}") }
        let first = received.takeEvents()
        #expect(first.events.count == 1000 && first.dropped == 500)
        let padding = String(repeating: " ", count: 65_536)
        receive("jostle/a/event/tap", "{\"gesture\":\"tap\",\"phase\":\"recognized\"\(padding)}")
        receive("jostle/a/event/tap", "{\"gesture\":\"tap\",\"phase\":\"recognized\"}")
        let second = received.takeEvents()
        #expect(second.events.count == 1 && second.dropped == 1)
    }

    @Test func parsesAnswers() throws {
        let answer = try RemoteAnswer(Array("{\"ok\":true,\"movement\":\"tap\",\"seconds\":2.5}".utf8))
        #expect(answer.isAccepted && answer.text("movement") == "tap" && answer.number("seconds") == 2.5)
        let refusal = try RemoteAnswer(Array("{\"ok\":false,\"error\":\"busy\",\"message\":\"later\"}".utf8))
        #expect(!refusal.isAccepted && refusal.error == "busy" && refusal.message == "later")
        for text in ["", "yes", "[]", "{}", "{\"ok\":1}"] {
            #expect(throws: BrokerError.self) { try RemoteAnswer(Array(text.utf8)) }
        }
    }
}
