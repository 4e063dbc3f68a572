import MosquittoClient
import Testing

@testable import JostleOperator

/// Requirement: who asks a device hears the answer that is meant for it, and every event.
@Suite struct RemoteInboxTests {
    private let inbox = RemoteInbox(eventTopics: "jostle/a/event/", availabilityTopic: "jostle/a/availability")

    private func receive(_ topic: String, _ text: String, mark: [UInt8]? = nil, retain: Bool = false) {
        var message = MQTTMessage(topic: topic, text: text, retain: retain)
        message.properties.correlationData = mark
        inbox.take(.message(message))
    }

    @Test func anAnswerBearsTheMarkOfItsQuestion() {
        receive("jostle/_reply/x", "too early", mark: [1])
        inbox.expect("jostle/_reply/x", mark: [1])
        receive("jostle/_reply/x", "another's", mark: [2])
        receive("jostle/_reply/x", "nobody's")
        #expect(inbox.seen.answer == nil)
        receive("jostle/_reply/x", "mine", mark: [1])
        receive("jostle/_reply/x", "again", mark: [1])
        #expect(inbox.seen.answer == Array("mine".utf8))
    }

    /// As over MQTT 3.1.1, which has no such marks.
    @Test func withoutMarksTheFirstAnswerCounts() {
        inbox.expect("jostle/a/command/simulate/result", mark: nil)
        receive("jostle/a/command/simulate/result", "mine")
        #expect(inbox.seen.answer == Array("mine".utf8))
    }

    @Test func eventsComeOnceAndInOrder() {
        receive("jostle/a/event/shake", "{\"gesture\":\"shake\",\"phase\":\"began\",\"simulated\":true}")
        receive("jostle/a/event/tap", "{\"gesture\":\"tap\",\"phase\":\"recognized\"}")
        receive("jostle/a/event/tap", "no event")
        receive("jostle/a/event/tap", "{\"gesture\":\"tap\",\"phase\":\"recognized\"}", retain: true)
        receive("jostle/a/availability", "online", retain: true)
        let events = inbox.takeEvents()
        #expect(events.map(\.gesture) == ["shake", "tap"] && events.map(\.phase) == ["began", "recognized"])
        #expect(events.map(\.isSimulated) == [true, false])
        #expect(inbox.takeEvents().isEmpty)
        #expect(inbox.seen.availability == "online")
    }

    @Test func anAnswerIsReadOrSaidToMakeNoSense() throws {
        let answer = try RemoteAnswer(Array("{\"ok\":true,\"movement\":\"tap\",\"seconds\":2.5}".utf8))
        #expect(answer.isAccepted && answer.text("movement") == "tap" && answer.number("seconds") == 2.5)
        let refusal = try RemoteAnswer(Array("{\"ok\":false,\"error\":\"busy\",\"message\":\"later\"}".utf8))
        #expect(!refusal.isAccepted && refusal.error == "busy" && refusal.message == "later")
        for text in ["", "yes", "[]", "{}", "{\"ok\":1}"] {
            #expect(throws: RemoteDeviceError.self) { try RemoteAnswer(Array(text.utf8)) }
        }
    }
}
