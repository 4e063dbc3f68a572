import JostleConfiguration
import JostleMessages
import MosquittoClient
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: a command is handed on or refused with the reason, and every one is answered, but for a flood.
@Suite struct CommandHandlerTests {
    private func bench(
        allowed: [JostleSettings.Command] = JostleSettings.Command.allCases,
        budget: TokenBucket = TokenBucket(capacity: 40, rate: 0)
    ) -> ParticipantBench<CommandHandler> {
        ParticipantBench(
            CommandHandler(
                topics: Topics(prefix: "jostle", id: "a"), prefix: "jostle", allowed: allowed, budget: budget))
    }

    @Test func aCommandIsHandedOnWithWhereItIsAnswered() throws {
        var bench = bench()
        #expect(bench.subscriptions == ["jostle/a/command/+"])
        var message = MQTTMessage(topic: "jostle/a/command/tare", text: "{\"clear\":true}", qos: .atLeastOnce)
        message.properties.responseTopic = "jostle/_reply/desk"
        message.properties.correlationData = [7]
        bench.tell(.message(message))
        guard case .carryOut(let request) = try #require(bench.takeRequests().first) else { return }
        #expect(request.command as? RemoteTare == RemoteTare(clears: true))
        let answers = request.address.messages(JSONObject(), at: 5)
        #expect(answers.map(\.topic) == ["jostle/a/command/tare/result", "jostle/_reply/desk"])
        #expect(answers[1].properties.correlationData == [7] && answers[0].payload.text == "{\"t\":5,\"ok\":true}")
        #expect(bench.news().isEmpty)
    }

    /// A requester cannot aim a device's messages.
    @Test func answersGoNowhereElse() throws {
        var message = MQTTMessage(topic: "x", payload: [])
        message.properties.responseTopic = "somebody/elses/topic"
        let address = ReplyAddress(to: message, resultTopic: "r", replyPrefix: "jostle/_reply/")
        #expect(address.messages(JSONObject(), at: 0).map(\.topic) == ["r"])
    }

    @Test(
        arguments: [
            ("moonwalk", "{}", "unknown_command"), ("tare", "{\"clear\":1}", "bad_arguments"),
            ("restart", "", "not_allowed"),
        ])
    func whatIsNoCommandIsRefused(name: String, arguments: String, code: String) {
        var bench = bench(allowed: JostleSettings.Command.allCases.filter { $0 != .restart })
        bench.hear("jostle/a/command/\(name)", arguments)
        let answers = bench.news().map(\.message)
        #expect(answers.map(\.topic) == ["jostle/a/command/\(name)/result"] && bench.takeRequests().isEmpty)
        #expect(answers[0].payload.text.contains("\"ok\":false,\"error\":\"\(code)\""))
        #expect(bench.takeLines().first?.hasPrefix("command \(name) refused: ") == true)
    }

    @Test func aRetainedCommandIsRefused() {
        var bench = bench()
        bench.hear("jostle/a/command/ping", "", retain: true)
        #expect(bench.news().first?.message.payload.text.contains("\"error\":\"retained\"") == true)
    }

    @Test func otherTopicsAreNotItsOwn() {
        var bench = bench()
        for topic in ["jostle/a/set/x", "jostle/b/command/ping", "jostle/a/command/", "jostle/a/command/ping/result"] {
            bench.hear(topic, "")
        }
        #expect(bench.news().isEmpty && bench.takeRequests().isEmpty && bench.takeLines().isEmpty)
    }

    /// Ten at once, then two a second; those beyond are answered too, but not all of them.
    @Test func tooManyCommandsAreNotCarriedOut() {
        var bench = bench(budget: TokenBucket(capacity: 2, rate: 0))
        for _ in 1...20 { bench.hear("jostle/a/command/ping", "") }
        #expect(bench.takeRequests().count == 2)
        let answers = bench.news().map(\.message.payload.text)
        #expect(answers.count == 3 && answers.allSatisfy { $0.contains("\"error\":\"too_many\"") })
        #expect(bench.participant.takeUnanswered() == 15 && bench.participant.unanswered == 0)
    }

    @Test func theOriginIsKnownAsFarAsItIsPassedOn() {
        var message = MQTTMessage(topic: "x", payload: [])
        #expect(CommandHandler.origin(of: message).isEmpty)
        message.properties.userProperties = [MQTTMessage.UserProperty("from", String(repeating: "a", count: 99))]
        message.properties.responseTopic = "jostle/_reply/desk"
        message.properties.correlationData = [7, 0, 255]
        let origin = CommandHandler.origin(of: message)
        #expect(origin == " (from=\(String(repeating: "a", count: 64)), reply to jostle/_reply/desk, mark 0700ff)")
    }
}
