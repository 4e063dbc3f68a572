import Documents
import JostleConfiguration
import JostleMessages
import MosquittoClient
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: a command is passed on or refused with the reason, and each one is answered unless there are too many.
@Suite final class CommandHandlerTests {
    private lazy var bench = makeBench()

    private func makeBench(
        allowed: [JostleSettings.Command] = JostleSettings.Command.allCases,
        budget: TokenBucket = TokenBucket(capacity: 40, rate: 0)
    ) -> ParticipantBench<CommandHandler> {
        ParticipantBench(
            CommandHandler(
                topics: Topics(prefix: "jostle", id: "a"), prefix: "jostle", allowed: allowed, budget: budget))
    }

    @Test func requestsCommandWithReplyAddress() throws {
        #expect(bench.subscriptions == ["jostle/a/command/+"])
        var message = MQTTMessage(topic: "jostle/a/command/tare", text: "{\"clear\":true}", qos: .atLeastOnce)
        message.properties.responseTopic = "jostle/_reply/desk"
        message.properties.correlationData = [7]
        bench.deliver(.message(message))
        guard case .carryOut(let request) = try #require(bench.takeRequests().first) else { return }
        #expect(request.command as? RemoteTare == RemoteTare(clears: true))
        let answers = request.address.messages(JSONObject(), at: 5)
        #expect(answers.map(\.topic) == ["jostle/a/command/tare/result", "jostle/_reply/desk"])
        #expect(answers.allSatisfy { $0.properties.correlationData == [7] })
        #expect(answers[0].payload.text == "{\"t\":5,\"ok\":true}")
        #expect(bench.takePublished().isEmpty)
    }

    /// A requester cannot make the device publish to an arbitrary topic.
    @Test func ignoresResponseTopicsOutsidePrefix() throws {
        var message = MQTTMessage(topic: "x", payload: [])
        message.properties.responseTopic = "another/topic"
        let address = ReplyAddress(to: message, resultTopic: "r", replyPrefix: "jostle/_reply/")
        #expect(address.messages(JSONObject(), at: 0).map(\.topic) == ["r"])
        // Whoever goes by correlation data sees that the answer is another's.
        #expect(address.messages(JSONObject(), at: 0).map(\.properties.correlationData) == [[]])
    }

    @Test(
        arguments: [
            ("moonwalk", "{}", "unknown_command"), ("tare", "{\"clear\":1}", "bad_arguments"),
            ("restart", "", "not_allowed"),
        ])
    func refusesInvalidCommands(name: String, arguments: String, code: String) {
        var bench = makeBench(allowed: JostleSettings.Command.allCases.filter { $0 != .restart })
        bench.receive("jostle/a/command/\(name)", arguments)
        let answers = bench.takePublished().map(\.message)
        #expect(answers.map(\.topic) == ["jostle/a/command/\(name)/result"] && bench.takeRequests().isEmpty)
        #expect(answers[0].payload.text.contains("\"ok\":false,\"error\":\"\(code)\""))
        #expect(bench.takeLines().first?.hasPrefix("command \(name) refused: ") == true)
    }

    @Test func refusesRetainedCommands() {
        bench.receive("jostle/a/command/ping", "", retain: true)
        #expect(bench.takePublished().first?.message.payload.text.contains("\"error\":\"retained\"") == true)
    }

    @Test func ignoresOtherTopics() {
        for topic in ["jostle/a/set/x", "jostle/b/command/ping", "jostle/a/command/", "jostle/a/command/ping/result"] {
            bench.receive(topic, "")
        }
        #expect(bench.takePublished().isEmpty && bench.takeRequests().isEmpty && bench.takeLines().isEmpty)
    }

    /// Ten in a burst, then two a second. Only some of the excess commands are answered.
    @Test func limitsCommandRate() {
        var bench = makeBench(budget: TokenBucket(capacity: 2, rate: 0))
        for _ in 1...20 { bench.receive("jostle/a/command/ping", "") }
        #expect(bench.takeRequests().count == 2)
        let answers = bench.takePublished().map(\.message.payload.text)
        #expect(answers.count == 3 && answers.allSatisfy { $0.contains("\"error\":\"too_many\"") })
        #expect(bench.participant.takeUnanswered() == 15 && bench.participant.unanswered == 0)
    }

    @Test func describesOriginFromProperties() {
        var message = MQTTMessage(topic: "x", payload: [])
        #expect(CommandHandler.origin(of: message).isEmpty)
        message.properties.userProperties = [MQTTMessage.UserProperty("from", String(repeating: "a", count: 99))]
        message.properties.responseTopic = "jostle/_reply/desk"
        message.properties.correlationData = [7, 0, 255]
        let origin = CommandHandler.origin(of: message)
        #expect(origin == " (from=\(String(repeating: "a", count: 64)), reply to jostle/_reply/desk, mark 0700ff)")
    }
}
