import JostleMessages
import MosquittoClient
import Testing

@testable import JostleOperator

/// Requirement: what is removed of a board is its own, and Home Assistant hears of it first.
@Suite struct BoardRemovalTests {
    private func removal(_ messages: [(topic: String, text: String, isRetained: Bool)]) -> BoardRemoval {
        var removal = BoardRemoval(of: "old", FleetTopics(prefix: "jostle"), discoveryPrefix: "homeassistant")
        for (topic, text, isRetained) in messages {
            removal.take(MQTTMessage(topic: topic, text: text, retain: isRetained))
        }
        return removal
    }

    @Test func announcementsComeFirstAndOthersAreLeftAlone() {
        let removal = removal([
            ("jostle/old/health", "{}", true), ("jostle/_registry/old", "{}", true),
            ("homeassistant/sensor/old/tilt/config", "{}", true), ("homeassistant/device/old/config", "{}", true),
            ("jostle/old/availability", "offline", true), ("jostle/old/attitude", "{}", false),
            ("jostle/old-2/availability", "offline", true), ("homeassistant/sensor/old-2/tilt/config", "{}", true),
            ("jostle/_registry/old-2", "{}", true), ("jostle/_all/config", "{}", true),
        ])
        let own = [
            "homeassistant/device/old/config", "homeassistant/sensor/old/tilt/config", "jostle/old/availability",
            "jostle/old/health",
        ]
        #expect(removal.ownTopics == own && removal.hasGroups)
        #expect(removal.topics == own[..<2] + ["jostle/_registry/old"] + own[2...])
    }

    @Test func whatTheBrokerForwardsEmptyIsGone() {
        let removal = removal([
            ("jostle/old/health", "{}", true), ("jostle/old/state", "{}", true), ("jostle/old/health", "", false),
        ])
        #expect(removal.topics == ["jostle/old/state"] && !removal.hasGroups)
        let message = BoardRemoval.message(clearing: "jostle/old/state")
        #expect(message.retain && message.payload.isEmpty && message.qos == .atLeastOnce)
    }

    @Test func manyMessagesTakeBoundedMemory() {
        let removal = removal((0..<3000).map { ("jostle/old/x/\($0)", "{}", true) })
        #expect(removal.topics.count == 1000)
    }
}
