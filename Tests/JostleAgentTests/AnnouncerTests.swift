import BrokerTestSupport
import JostleConfiguration
import MosquittoClient
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: Home Assistant is told once a connection and once after its start; what is no longer so is taken away.
@Suite struct AnnouncerTests {
    private let wanted = [
        DiscoveryMessage(topic: "homeassistant/sensor/dut/roll/config", payload: "{\"name\":\"Roll\"}"),
        DiscoveryMessage(topic: "homeassistant/event/dut/shake/config", payload: "{\"name\":\"Shake\"}"),
    ]
    private let old = "homeassistant/sensor/old/roll/config"

    private func at(_ seconds: Double) -> Timestamp { Timestamp(nanoseconds: 0).advanced(bySeconds: 100 + seconds) }

    /// Does what is due, with a client that takes everything and a broker that acknowledges it.
    private func work(
        _ announcer: inout Announcer, _ seconds: Double, _ wanted: [DiscoveryMessage]? = nil, acknowledged: Bool = true,
        sparing spared: Set<String> = []
    ) -> (topics: [String], removed: [String], work: Announcer.Work) {
        let work = announcer.work(at: at(seconds), wanted: wanted ?? self.wanted, sparing: spared)
        for (message, token) in work.messages {
            #expect(message.retain && message.qos == .atLeastOnce)
            announcer.sent(message, token, at: at(seconds))
            if acknowledged { acknowledge(&announcer, token) }
        }
        let messages = work.messages.map(\.message)
        return (
            messages.filter { !$0.payload.isEmpty }.map(\.topic), messages.filter { $0.payload.isEmpty }.map(\.topic),
            work
        )
    }

    private func acknowledge(_ announcer: inout Announcer, _ token: MQTTToken) {
        let isOurs = announcer.acknowledged(token)
        #expect(isOurs)
    }

    private func announcer(_ remembered: Set<String> = []) -> Announcer {
        var announcer = Announcer(prefix: "homeassistant", id: "dut", remembered: remembered)
        announcer.connected(at: at(0))
        announcer.answered("homeassistant/+/dut/#", at: at(0.1))
        return announcer
    }

    /// Lets it hear a message, which is one of its own or not.
    private func hear(
        _ announcer: inout Announcer, _ topic: String, _ text: String, retain: Bool = false, isOurs: Bool = true
    ) {
        let result = announcer.take(MQTTMessage(topic: topic, text: text, retain: retain), at: at(1), delay: 2)
        #expect(result == isOurs, "\(topic)")
    }

    @Test func everythingIsAnnouncedOnceAConnection() {
        var announcer = announcer()
        #expect(work(&announcer, 0.2).topics.isEmpty)
        let first = work(&announcer, 0.5)
        #expect(first.topics == wanted.map(\.topic) && first.removed.isEmpty && first.work.endsReading)
        #expect(first.work.remember == Set(wanted.map(\.topic)))
        for second in 1...20 { #expect(work(&announcer, Double(second)).work.messages.isEmpty) }
        announcer.disconnected()
        #expect(work(&announcer, 21).work.messages.isEmpty)
        announcer.connected(at: at(22))
        #expect(work(&announcer, 23).topics.isEmpty)
        // The broker never answered.
        #expect(work(&announcer, 24.1).topics == wanted.map(\.topic))
    }

    @Test func aStartOfHomeAssistantIsAnsweredOnceAndLater() {
        var announcer = announcer()
        _ = work(&announcer, 0.5)
        hear(&announcer, "homeassistant/status", "online")
        hear(&announcer, "homeassistant/status", "online")
        hear(&announcer, "homeassistant/status", "offline")
        #expect(work(&announcer, 2.9).topics.isEmpty)
        #expect(work(&announcer, 3).topics == wanted.map(\.topic))
        for second in 4...20 { #expect(work(&announcer, Double(second)).topics.isEmpty) }
        // What a broker kept is no news.
        hear(&announcer, "homeassistant/status", "online", retain: true)
        #expect(work(&announcer, 30).topics.isEmpty)
    }

    @Test func onlyWhatChangedIsSentAndWhatIsGoneIsTakenAway() {
        var announcer = announcer()
        _ = work(&announcer, 0.5)
        var changed = [wanted[0]]
        changed[0].payload = "{\"name\":\"Rolling\"}"
        let step = work(&announcer, 1, changed, acknowledged: false)
        #expect(step.topics == [wanted[0].topic] && step.removed == [wanted[1].topic])
        // Remembered until the broker has it.
        #expect(work(&announcer, 2, changed).work.remember == Set(wanted.map(\.topic)))
        for (_, token) in step.work.messages { acknowledge(&announcer, token) }
        #expect(work(&announcer, 3, changed).work.remember == [wanted[0].topic])
        // Back again.
        #expect(work(&announcer, 4).topics == wanted.map(\.topic))
    }

    @Test func whatIsRememberedUnderAnotherNameIsTakenAway() {
        var announcer = announcer([old, wanted[0].topic])
        let step = work(&announcer, 0.5)
        #expect(step.removed == [old] && step.topics == wanted.map(\.topic))
        #expect(step.work.remember?.contains(old) == true)
        #expect(work(&announcer, 1).work.remember == Set(wanted.map(\.topic)))
    }

    @Test func whatMayBeAnotherDevicesStaysUntilItIsNot() {
        let gone = "homeassistant/sensor/dut/gone/config"
        var announcer = announcer([old, gone])
        let step = work(&announcer, 0.5, sparing: ["old"])
        #expect(step.removed == [gone])
        #expect(work(&announcer, 1, sparing: ["old"]).work.remember?.contains(old) == true)
        #expect(work(&announcer, 2).removed == [old])
    }

    @Test func theDeviceIsFoundInATopic() {
        #expect(Announcer.device(ofTopic: "homeassistant/sensor/dut/roll/config") == "dut")
        #expect(Announcer.device(ofTopic: "my/home/event/a-b_1/shake/config") == "a-b_1")
        #expect(Announcer.device(ofTopic: "homeassistant/sensor/dut/roll/state") == nil)
        #expect(Announcer.device(ofTopic: "dut/roll/config") == nil)
    }

    @Test func aRemovalThatWasNotAcknowledgedIsSentAgain() {
        var announcer = announcer([old])
        #expect(work(&announcer, 0.5, [], acknowledged: false).removed == [old])
        #expect(work(&announcer, 1, [], acknowledged: false).removed.isEmpty)
        announcer.connected(at: at(2))
        #expect(work(&announcer, 4.1, []).removed == [old])
        announcer.connected(at: at(5))
        #expect(work(&announcer, 7.1, []).removed.isEmpty)
    }

    @Test func ghostsAtTheBrokerAreTakenAwayWhereTheyAreOurs() {
        var announcer = announcer()
        let ours = #"{"name":"X","origin":{"name":"Jostle","sw_version":"0.1"}}"#
        hear(&announcer, "homeassistant/sensor/dut/gone/config", ours, retain: true)
        hear(&announcer, "homeassistant/sensor/dut/other/config", #"{"origin":{"name":"x"}}"#, retain: true)
        hear(&announcer, "homeassistant/sensor/dut/broken/config", "{", retain: true)
        hear(&announcer, "jostle/dut/command/config", ours, retain: true, isOurs: false)
        hear(&announcer, "homeassistant/sensor/other/gone/config", ours, retain: true, isOurs: false)
        #expect(work(&announcer, 0.5).removed == ["homeassistant/sensor/dut/gone/config"])
        // Later on these are our own words.
        hear(&announcer, "homeassistant/sensor/dut/late/config", ours, retain: true)
        #expect(work(&announcer, 1).removed.isEmpty)
    }

    @Test func whatTheBrokerForbidsIsNotTriedAgainOnThisConnection() {
        var announcer = announcer()
        let step = work(&announcer, 0.5, acknowledged: false)
        for (_, token) in step.work.messages {
            let isOurs = announcer.rejected(token)
            #expect(isOurs)
        }
        #expect(announcer.refused == Set(wanted.map(\.topic)))
        hear(&announcer, "homeassistant/status", "online")
        for second in 1...10 { #expect(work(&announcer, Double(second)).work.messages.isEmpty) }
        // Those of events are another's.
        let event = MQTTToken(rawValue: 1)
        let takesEvents = announcer.acknowledged(event) || announcer.rejected(event)
        #expect(!takesEvents)
    }

    @Test func onceHomeAssistantListensTheRestIsToldAnewOnce() {
        var announcer = announcer()
        _ = work(&announcer, 0.5)
        let told = [2, 2.6, 3].map { work(&announcer, $0).work.tellsAnew }
        #expect(told == [false, true, false])
    }

    @Test func theFileRemembers() throws {
        let directory = try TemporaryDirectory()
        let file = TopicMemory.announced(stateDirectory: directory.path("state"))
        #expect(file.load().isEmpty)
        #expect(file.save([old, "a/b c/config"]) == 0)
        #expect(file.load() == [old, "a/b c/config"])
        #expect(file.save([]) == 0)
        #expect(file.load().isEmpty)
        try directory.write("jostle announced topics 1\na/#\n\n\(old)\n", to: "state/announced-topics")
        #expect(file.load() == [old])
        try directory.write("something else\n\(old)\n", to: "state/announced-topics")
        #expect(file.load().isEmpty)
    }
}
