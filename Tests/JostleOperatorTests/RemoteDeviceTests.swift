import JostleMessages
import MosquittoClient
import Testing

@testable import JostleOperator

/// Requirement: a client that sends a command gets its own answer, and every event.
@Suite struct ReceivedMessagesTests {
    private var received = ReceivedMessages(prefix: "jostle", id: "a")

    private mutating func receive(
        _ topic: String, _ text: String, correlationData: [UInt8]? = nil, retain: Bool = false
    ) {
        var message = MQTTMessage(topic: topic, text: text, retain: retain)
        message.properties.correlationData = correlationData
        received.take(message)
    }

    private static func answer(_ message: String) -> String { #"{"ok":true,"message":"\#(message)"}"# }

    @Test mutating func answerMatchesCorrelationData() throws {
        receive("jostle/_reply/x", Self.answer("too early"), correlationData: [1])
        let question = received.ask("simulate", [], replyTopic: "jostle/_reply/x")
        let mine = question.properties.correlationData
        #expect(question.topic == "jostle/a/command/simulate" && question.properties.responseTopic == "jostle/_reply/x")
        receive("jostle/_reply/x", Self.answer("another's"), correlationData: [2])
        receive("jostle/_reply/x", Self.answer("no data"))
        #expect(received.answer == nil)
        receive("jostle/_reply/x", Self.answer("mine"), correlationData: mine)
        receive("jostle/_reply/x", Self.answer("again"), correlationData: mine)
        #expect(try received.answer?.get().message == "mine")
    }

    /// As with MQTT 3.1.1, which has no correlation data.
    @Test mutating func firstAnswerCountsWithoutCorrelationData() throws {
        #expect(received.ask("simulate", [], replyTopic: nil).properties.responseTopic == nil)
        receive("jostle/a/command/simulate/result", Self.answer("of an earlier question"), retain: true)
        #expect(received.answer == nil)
        receive("jostle/a/command/simulate/result", Self.answer("mine"))
        #expect(try received.answer?.get().message == "mine")
    }

    @Test mutating func takesEventsOnceInOrder() {
        receive("jostle/a/event/shake", "{\"gesture\":\"shake\",\"phase\":\"began\",\"simulated\":true}")
        receive("jostle/a/event/tap", "{\"gesture\":\"tap\",\"phase\":\"recognized\"}")
        receive("jostle/a/event/tap", "no event")
        receive("jostle/a/event/tap", "{\"gesture\":\"tap\",\"phase\":\"recognized\"}", retain: true)
        receive("jostle/a/availability", "online", retain: true)
        let events = received.takeEvents().events
        #expect(
            events.map(\.event.gesture) == ["shake", "tap"] && events.map(\.event.phase) == ["began", "recognized"])
        #expect(events.map(\.event.isSimulated) == [true, false])
        #expect(received.takeEvents().events.isEmpty)
        #expect(received.board?.isOnline == true)
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
