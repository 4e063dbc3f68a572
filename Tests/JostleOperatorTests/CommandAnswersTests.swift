import MosquittoClient
import Testing

@testable import JostleOperator

/// Requirement: an answer counts only for the device that was asked.
@Suite struct CommandAnswersTests {
    private func answer(_ topic: String, _ text: String, correlation: String? = nil) -> MQTTMessage {
        MQTTMessage(
            topic: topic, text: text,
            properties: .init(correlationData: correlation.map { Array($0.utf8) }))
    }

    private func answers(replyTopic: String?) -> CommandAnswers {
        var answers = CommandAnswers(replyTopic: replyTopic)
        answers.expect("a", correlation: Array("1".utf8), resultTopic: "jostle/a/command/ping/result")
        answers.expect("b", correlation: Array("2".utf8), resultTopic: "jostle/b/command/ping/result")
        return answers
    }

    @Test func correlationDataNamesTheDevice() {
        var answers = answers(replyTopic: "r")
        answers.take(answer("r", #"{"ok":true}"#, correlation: "3"))
        answers.take(answer("r", #"{"ok":true}"#))
        // The answers of a device with MQTT 5 to others, with and without correlation data.
        for mark in ["3", ""] {
            answers.take(answer("jostle/a/command/ping/result", #"{"ok":true}"#, correlation: mark))
        }
        #expect(answers.answers.isEmpty)
        answers.take(answer("r", #"{"ok":true}"#, correlation: "1"))
        answers.take(answer("r", #"{"ok":false}"#, correlation: "1"))
        #expect(!answers.isComplete)
        answers.take(answer("r", "nonsense", correlation: "2"))
        #expect(answers.isComplete)
        guard case .success(let first)? = answers.answers["a"], case .failure? = answers.answers["b"] else {
            Issue.record("\(answers.answers)")
            return
        }
        #expect(first.isAccepted)
    }

    /// With a reply topic too: a device with MQTT 3.1.1 answers on its result topic only.
    @Test(arguments: [nil, "r"]) func topicNamesTheDeviceWithoutProperties(replyTopic: String?) {
        var answers = answers(replyTopic: replyTopic)
        answers.take(answer("jostle/c/command/ping/result", #"{"ok":true}"#))
        answers.take(answer("jostle/b/command/ping/result", #"{"ok":true}"#))
        #expect(answers.answers.keys.sorted() == ["b"])
    }
}
