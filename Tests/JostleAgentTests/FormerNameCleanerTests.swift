import BrokerTestSupport
import JostleConfiguration
import JostleMessages
import MosquittoClient
import MotionCore
import StateStorage
import Testing

@testable import JostleAgent

/// Requirement: a device that was renamed leaves no retained message behind, and never touches another device's.
@Suite struct FormerNameCleanerTests {
    private typealias Bench = ParticipantBench<FormerNameCleaner>

    private let retained = ["availability", "state", "health", "config/reported"].map { "jostle/old/\($0)" }

    /// Connected, and the broker has answered the subscriptions.
    private func bench(_ roots: Set<String> = ["jostle/old"]) -> Bench {
        let memory = RememberedTopics.deviceNames(in: StateDirectory(path: "/nonexistent"))
        var bench = Bench(FormerNameCleaner(roots, current: "jostle/new", memory: memory))
        bench.tell(.connected)
        #expect(bench.subscriptions == roots.sorted().map { "\($0)/availability" })
        for root in roots { bench.tell(.subscriptionAnswered(filter: "\(root)/availability")) }
        return bench
    }

    private func hear(_ bench: inout Bench, _ text: String) { bench.hear(retained[0], text, retain: true) }

    @Test func whatWasRetainedIsTakenAwayOnce() {
        var bench = bench()
        #expect(bench.participant.protectedDevices == ["old"])
        #expect(bench.text(.deviceNames) == "jostle device names 1\njostle/new\njostle/old\n")
        bench.pass(0.2)
        #expect(bench.news().isEmpty)
        bench.pass(0.2)
        let due = bench.news()
        #expect(due.map(\.message.topic) == retained)
        #expect(bench.subscriptions.isEmpty && bench.participant.protectedDevices.isEmpty)
        #expect(due.allSatisfy { $0.message.retain && $0.message.payload.isEmpty && $0.message.qos == .atLeastOnce })
        bench.pass(60)
        #expect(bench.news().isEmpty && bench.participant.nextDeadline == nil)
        for entry in due.prefix(3) { if let token = entry.token { bench.tell(.acknowledged(token)) } }
        #expect(bench.takeLines().isEmpty && bench.participant.roots == ["jostle/old"])
        if let token = due.last?.token { bench.tell(.acknowledged(token)) }
        #expect(bench.takeLines().count == 1 && bench.participant.roots.isEmpty)
        #expect(bench.text(.deviceNames) == "jostle device names 1\njostle/new\n")
        bench.tell(.connected)
        #expect(bench.subscriptions.isEmpty)
    }

    @Test func aDeviceThatIsOnlineUnderTheNameIsLeftAlone() {
        var bench = bench()
        hear(&bench, "online")
        hear(&bench, "online")
        #expect(bench.takeLines().count == 1)
        bench.pass(60)
        #expect(bench.news().isEmpty && bench.participant.roots == ["jostle/old"])
        #expect(bench.participant.protectedDevices == ["old"])
        // The broker had not noticed yet that it was this device itself, which lost its power.
        hear(&bench, "offline")
        bench.pass(0)
        #expect(bench.news().count == 4)
        // Its own empty message comes back.
        hear(&bench, "")
        bench.hear("jostle/new/availability", "online")
        bench.pass(10)
        #expect(bench.news().isEmpty && bench.takeLines().isEmpty)
    }

    @Test func whatALostConnectionLeftUndoneIsDoneOnTheNext() {
        var bench = bench()
        bench.pass(0.5)
        let first = bench.news()
        bench.tell(.notSent(first.suffix(2).compactMap(\.token)))
        bench.pass(0.3)
        #expect(Set(bench.topics()) == Set(retained.suffix(2)))
        bench.tell(.disconnected(undelivered: []))
        bench.pass(1)
        #expect(bench.news().isEmpty)
        bench.tell(.connected)
        // No answer to the subscription.
        bench.pass(1.9)
        #expect(bench.news().isEmpty)
        bench.pass(0.2)
        let second = bench.news()
        #expect(second.map(\.message.topic) == retained)
        #expect(Set(first.compactMap(\.token)).isDisjoint(with: second.compactMap(\.token)))
        // An answer of the first connection counts for nothing.
        for entry in first { if let token = entry.token { bench.tell(.acknowledged(token)) } }
        #expect(bench.participant.roots == ["jostle/old"] && bench.takeLines().isEmpty)
    }

    @Test func whatTheBrokerForbidsIsLoggedOnceAndNotTriedAgain() {
        var bench = bench()
        bench.pass(0.5)
        for entry in bench.news() {
            if let token = entry.token { bench.tell(.rejected(token, topic: "t", .refused(.notAuthorised))) }
        }
        #expect(bench.takeLines().count == 1)
        bench.tell(.connected)
        bench.pass(60)
        #expect(bench.news().isEmpty && bench.participant.roots == ["jostle/old"], "the next start tries again")
    }

    /// What was announced to Home Assistant names devices too: before names were remembered there was nothing else.
    @Test func namesAreFoundInAnnouncements() throws {
        let directory = try TemporaryDirectory()
        try directory.write("jostle device names 1\njostle/one\n", to: "device-names")
        let names = FormerNameCleaner(
            JostleSettings(), topics: Topics(prefix: "jostle", id: "new"),
            memory: .deviceNames(in: StateDirectory(path: directory.path)),
            announced: ["homeassistant/sensor/two/roll/config", "homeassistant/sensor/new/roll/config"])
        #expect(names.roots == ["jostle/one", "jostle/two"])
    }
}
