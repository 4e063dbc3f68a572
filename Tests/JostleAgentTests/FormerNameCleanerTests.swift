import BrokerTestSupport
import JostleConfiguration
import JostleMessages
import StateStorage
import Testing

@testable import JostleAgent

/// Requirement: a renamed device leaves no retained message behind, and never removes another device's.
@Suite final class FormerNameCleanerTests {
    private typealias Bench = ParticipantBench<FormerNameCleaner>

    private lazy var bench = makeBench()
    private let retained = ["availability", "state", "machine", "health", "config/reported"].map { "jostle/old/\($0)" }

    /// A connected cleaner whose subscriptions were answered.
    private func makeBench(_ roots: Set<String> = ["jostle/old"]) -> Bench {
        let memory = RememberedTopics.deviceNames(in: StateDirectory(path: "/nonexistent"))
        var bench = Bench(FormerNameCleaner(roots, current: "jostle/new", memory: memory))
        bench.deliver(.connected)
        #expect(bench.subscriptions == roots.sorted().map { "\($0)/availability" })
        for root in roots { bench.deliver(.subscriptionAnswered(filter: "\(root)/availability", isGranted: true)) }
        return bench
    }

    private func receive(_ bench: inout Bench, _ text: String) { bench.receive(retained[0], text, retain: true) }

    @Test func clearsRetainedMessagesOnce() {
        #expect(bench.participant.protectedDevices == ["old"])
        #expect(bench.text(.deviceNames) == "jostle device names 1\njostle/new\njostle/old\n")
        bench.pass(0.2)
        #expect(bench.takePublished().isEmpty && bench.participant.protectedDevices == ["old"])
        // First its discovery messages are removed: Home Assistant's entities need not hear that they have no state.
        bench.pass(0.2)
        #expect(bench.participant.protectedDevices.isEmpty)
        bench.pass(4.8)
        #expect(bench.takePublished().isEmpty)
        bench.pass(0.2)
        let due = bench.takePublished()
        #expect(due.map(\.message.topic) == retained)
        #expect(bench.subscriptions.isEmpty && bench.participant.protectedDevices.isEmpty)
        #expect(due.allSatisfy { $0.message.retain && $0.message.payload.isEmpty && $0.message.qos == .atLeastOnce })
        bench.pass(60)
        #expect(bench.takePublished().isEmpty && bench.participant.nextDeadline == nil)
        for entry in due.dropLast() { if let token = entry.token { bench.deliver(.acknowledged(token)) } }
        #expect(bench.takeLines().isEmpty && bench.participant.roots == ["jostle/old"])
        if let token = due.last?.token { bench.deliver(.acknowledged(token)) }
        #expect(bench.takeLines().count == 1 && bench.participant.roots.isEmpty)
        #expect(bench.text(.deviceNames) == "jostle device names 1\njostle/new\n")
        bench.deliver(.connected)
        #expect(bench.subscriptions.isEmpty)
    }

    @Test func keepsMessagesWhileDeviceIsOnline() {
        receive(&bench, "online")
        receive(&bench, "online")
        #expect(bench.takeLines().count == 1)
        bench.pass(60)
        #expect(bench.takePublished().isEmpty && bench.participant.roots == ["jostle/old"])
        #expect(bench.participant.protectedDevices == ["old"])
        // It was this device itself, which lost power; the broker had not noticed yet.
        receive(&bench, "offline")
        bench.pass(0)
        // Another one begins to use the name, and ends.
        receive(&bench, "online")
        #expect(bench.participant.protectedDevices == ["old"] && bench.takeLines().count == 1)
        bench.pass(60)
        receive(&bench, "offline")
        bench.pass(5.1)
        #expect(bench.takePublished().count == retained.count)
        // The device receives its own empty message.
        receive(&bench, "")
        bench.receive("jostle/new/availability", "online")
        bench.pass(10)
        #expect(bench.takePublished().isEmpty && bench.takeLines().isEmpty)
    }

    @Test func continuesAfterReconnection() {
        bench.pass(5.5)
        let first = bench.takePublished()
        bench.deliver(.notSent(first.suffix(2).compactMap(\.token)))
        bench.pass(0.3)
        #expect(Set(bench.topics()) == Set(retained.suffix(2)))
        bench.deliver(.disconnected(undelivered: []))
        bench.pass(1)
        #expect(bench.takePublished().isEmpty)
        bench.deliver(.connected)
        // The subscription was not answered.
        bench.pass(6.9)
        #expect(bench.takePublished().isEmpty)
        bench.pass(0.2)
        let second = bench.takePublished()
        #expect(second.map(\.message.topic) == retained)
        #expect(Set(first.compactMap(\.token)).isDisjoint(with: second.compactMap(\.token)))
        // An acknowledgement from the first connection has no effect.
        for entry in first { if let token = entry.token { bench.deliver(.acknowledged(token)) } }
        #expect(bench.participant.roots == ["jostle/old"] && bench.takeLines().isEmpty)
    }

    @Test func logsRejectionOnceAndDoesNotRetry() {
        bench.pass(5.5)
        for entry in bench.takePublished() {
            if let token = entry.token { bench.deliver(.rejected(token, topic: "t", .refused(.notAuthorised))) }
        }
        #expect(bench.takeLines().count == 1)
        bench.deliver(.connected)
        bench.pass(60)
        #expect(
            bench.takePublished().isEmpty && bench.participant.roots == ["jostle/old"], "the next start tries again")
    }

    /// Discovery topics contain device ids too. Older versions saved nothing else.
    @Test func findsNamesInDiscoveryTopics() throws {
        let directory = try TemporaryDirectory()
        try directory.write("jostle device names 1\njostle/one\n", to: "device-names")
        let names = FormerNameCleaner(
            JostleSettings(), topics: Topics(prefix: "jostle", id: "new"),
            memory: .deviceNames(in: StateDirectory(path: directory.path)),
            announced: ["homeassistant/sensor/two/roll/config", "homeassistant/sensor/new/roll/config"])
        #expect(names.roots == ["jostle/one", "jostle/two"])
    }
}
