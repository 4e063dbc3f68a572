import JostleConfiguration
import Testing

@testable import JostleMessages

/// Requirement: an answer goes to a topic below the name of the user who asked, whatever the name.
@Suite struct ReplyTopicTests {
    @Test(
        arguments: [
            ("washer-1", "washer-1"), ("My phone", "My phone"), ("größe", "größe"), ("", "_"),
            ("a/b", "a_b"), ("+", "_"), ("#", "_"), ("a\u{0}b\nc", "a_b_c"), ("$SYS", "$SYS"),
        ])
    func requesterIsOneLevel(requester: String, level: String) {
        let topic = ReplyTopic.make(prefix: "plant/jostle", requester: requester, run: "0f")
        #expect(topic == "plant/jostle/_reply/\(level)/0f")
    }

    /// Agents ignore response topics of more than 256 bytes.
    @Test func longNamesAreCutBetweenCharacters() {
        let topic = ReplyTopic.make(prefix: "jostle", requester: "x" + String(repeating: "ü", count: 1000), run: "0f")
        #expect(topic == "jostle/_reply/x" + String(repeating: "ü", count: 63) + "/0f")
    }

    @Test func requesterIsUserElseDeviceElseMachine() {
        var settings = JostleSettings()
        #expect(settings.requester(userName: nil) == DeviceName.hostName())
        settings.device.id = "washer-1"
        #expect(settings.requester(userName: nil) == "washer-1")
        #expect(settings.requester(userName: "operator") == "operator")
    }
}
