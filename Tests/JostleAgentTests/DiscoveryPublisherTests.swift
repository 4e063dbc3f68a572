import BrokerTestSupport
import JostleConfiguration
import JostleMessages
import MotionCore
import StateStorage
import Testing

@testable import JostleAgent

/// Requirement: discovery messages that the broker lacks are published after each connection, and all of them after Home
/// Assistant's start; obsolete ones are removed.
@Suite final class DiscoveryPublisherTests {
    private typealias Bench = ParticipantBench<DiscoveryPublisher>

    private lazy var bench = makeBench()
    private let directory = TemporaryDirectory.new()
    private let old = "homeassistant/sensor/old/roll/config"

    private var state: StateDirectory { StateDirectory(path: directory.path) }

    private func remember(_ topics: [String]) throws {
        let lines = ["jostle announced topics 1"] + topics
        try directory.write(lines.joined(separator: "\n") + "\n", to: "announced-topics")
    }

    private let facts = DiscoveryFacts(
        id: "dut", identity: BoardIdentity(id: "dut", hardware: ""), topics: Topics(prefix: "jostle", id: "dut"),
        version: "1", sensor: nil, hasGyroscope: true,
        board: BoardFacts(), commands: [])

    /// Few entities, so that lists stay short.
    private func settings(_ gestures: [Gesture] = [.shake]) -> JostleSettings {
        var settings = JostleSettings()
        for gesture in Gesture.builtIn {
            settings.motion.gestures[gesture].isEnabled = gestures.contains(gesture)
        }
        settings.publish.attitude.rate = 0
        return settings
    }

    /// A connected publisher whose subscription was answered.
    private func makeBench(_ settings: JostleSettings? = nil, isConnected: Bool = true) -> Bench {
        var bench = Bench(
            DiscoveryPublisher(settings ?? self.settings(), facts, memory: .announced(in: state)) { _ in 2 })
        guard isConnected else { return bench }
        bench.deliver(.connected)
        bench.deliver(.subscriptionAnswered(filter: "homeassistant/+/dut/#", isGranted: true))
        return bench
    }

    private var wanted: [String] { DiscoverySet(settings(), facts).messages.map(\.topic) }

    /// The messages published and removed since the last call, with a working disk and a broker that acknowledges.
    private func settle(
        _ bench: inout Bench, _ seconds: Double, acknowledged: Bool = true
    ) -> (announced: [String], removed: [String], tokens: [DeliveryToken]) {
        bench.pass(seconds)
        for _ in 1...2 { bench.deliver(.fileWritten(.announcedTopics, failure: nil)) }
        let published = bench.takePublished()
        for (message, token) in published {
            #expect(message.retain && message.qos == .atLeastOnce)
            if acknowledged, let token { bench.deliver(.acknowledged(token)) }
        }
        let messages = published.map(\.message)
        return (
            messages.filter { !$0.payload.isEmpty }.map(\.topic), messages.filter { $0.payload.isEmpty }.map(\.topic),
            published.compactMap(\.token)
        )
    }

    private func change(to settings: JostleSettings) {
        bench.carryOut(bench.participant.change(settings, at: bench.clocks))
    }

    private func reconnect() {
        bench.deliver(.disconnected(undelivered: []))
        bench.deliver(.connected)
    }

    /// The topics in the file.
    private func remembered(_ bench: Bench) -> Set<String> {
        Set(bench.text(.announcedTopics)?.split(separator: "\n").dropFirst().map(String.init) ?? [])
    }

    @Test func announcesEverythingOncePerConnectionToEmptyBroker() {
        #expect(bench.subscriptions == ["homeassistant/status", "homeassistant/+/dut/#"])
        bench.pass(0.9)
        #expect(bench.takePublished().isEmpty)
        #expect(settle(&bench, 0.2).announced == wanted)
        #expect(bench.subscriptions.count == 2 && remembered(bench) == Set(wanted))
        #expect(settle(&bench, 20).announced.isEmpty)
        bench.deliver(.disconnected(undelivered: []))
        #expect(settle(&bench, 1).announced.isEmpty)
        bench.deliver(.connected)
        // After the random delay of 2 s.
        #expect(settle(&bench, 1.9).announced.isEmpty && bench.subscriptions == ["homeassistant/status"])
        #expect(settle(&bench, 0.2).announced.isEmpty && bench.subscriptions.count == 2)
        // The broker never answers the subscription.
        #expect(settle(&bench, 9.8).announced.isEmpty)
        #expect(settle(&bench, 0.2).announced == wanted)
    }

    /// The broker sends what it retains, and answers the subscription.
    private func readBack(_ bench: inout Bench, _ messages: [DiscoveryMessage]) {
        bench.deliver(.subscriptionAnswered(filter: "homeassistant/+/dut/#", isGranted: true))
        for message in messages { bench.receive(message.topic, message.payload, retain: true) }
    }

    @Test func announcesNothingToBrokerThatKeptEverything() {
        bench = makeBench(isConnected: false)
        for delay in [0.0, 2, 2] {
            bench.deliver(.connected)
            bench.pass(delay)
            readBack(&bench, DiscoverySet(settings(), facts).messages)
            let step = settle(&bench, 20)
            #expect(step.announced.isEmpty && step.removed.isEmpty && bench.takeRequests().isEmpty)
            bench.deliver(.disconnected(undelivered: []))
        }
        #expect(remembered(bench) == Set(wanted))
    }

    @Test func announcesWhatDiffersAtBroker() {
        bench = makeBench(isConnected: false)
        bench.deliver(.connected)
        var kept = DiscoverySet(settings(), facts).messages
        kept[0].payload = kept[0].payload.replacing(#""sw_version": "1""#, with: #""sw_version": "0""#)
        #expect(kept[0] != DiscoverySet(settings(), facts).messages[0])
        let lost = kept.removeLast()
        kept[1].payload = #"{"origin":{"name":"x"}}"#
        readBack(&bench, kept)
        #expect(settle(&bench, 1.2).announced == [kept[0].topic, kept[1].topic, lost.topic])
    }

    @Test func spreadsReadingOverTimeAfterReconnection() {
        let range = DiscoveryPublisher.reconnectionDelay
        #expect(range == 0...30)
        bench = Bench(
            DiscoveryPublisher(settings(), facts, memory: .announced(in: state)) { $0 == range ? 25 : 2 })
        bench.deliver(.connected)
        #expect(bench.subscriptions.count == 2, "at once on the first connection")
        _ = settle(&bench, 11)
        reconnect()
        bench.pass(24.9)
        #expect(bench.subscriptions == ["homeassistant/status"])
        bench.pass(0.2)
        #expect(bench.subscriptions == ["homeassistant/status", "homeassistant/+/dut/#"])
        // Lost while reading: the next connection reads at a time of its own.
        bench.deliver(.disconnected(undelivered: []))
        #expect(bench.subscriptions == ["homeassistant/status"])
        bench.deliver(.connected)
        bench.pass(20)
        #expect(bench.subscriptions == ["homeassistant/status"] && bench.topics().isEmpty)

        // A change of settings does not wait, and neither does a birth message.
        change(to: settings([.tap]))
        readBack(&bench, DiscoverySet(settings(), facts).messages)
        let change = settle(&bench, 1.2)
        #expect(
            change.announced.contains { $0.contains("/tap") } && !change.announced.contains { $0.contains("/roll") })
        #expect(change.removed.contains { $0.contains("/shake") })
        reconnect()
        bench.receive("homeassistant/status", "online")
        bench.pass(2.1)
        readBack(&bench, DiscoverySet(settings([.tap]), facts).messages)
        #expect(settle(&bench, 1.2).announced == DiscoverySet(settings([.tap]), facts).messages.map(\.topic))
        #expect(settle(&bench, 30).announced.isEmpty)
    }

    // MARK: The other form

    private func settings(_ form: JostleSettings.HomeAssistant.DiscoveryForm) -> JostleSettings {
        var settings = settings()
        settings.homeAssistant.discoveryForm = form
        return settings
    }

    private let whole = "homeassistant/device/dut/config"

    /// The payloads published since the last call, by topic, which the broker acknowledges.
    private func exchange(_ seconds: Double) -> [String: String] {
        bench.pass(seconds)
        for _ in 1...2 { bench.deliver(.fileWritten(.announcedTopics, failure: nil)) }
        let published = bench.takePublished()
        for case (_, let token?) in published { bench.deliver(.acknowledged(token)) }
        return Dictionary(published.map { ($0.message.topic, $0.message.payload.text) }) { _, last in last }
    }

    @Test("The messages of the other form first let go of their entities, then are removed", arguments: [true, false])
    func migrates(isOnline: Bool) throws {
        for form in [JostleSettings.HomeAssistant.DiscoveryForm.device, .component] {
            let former = DiscoverySet(settings(form == .device ? .component : .device), facts).messages
            let new = DiscoverySet(settings(form), facts).messages
            if isOnline {
                bench = makeBench(settings(form == .device ? .component : .device))
                _ = exchange(20)
                change(to: settings(form))
            } else {
                // The file was changed while the agent was off.
                bench = makeBench(settings(form), isConnected: false)
                bench.deliver(.connected)
                readBack(&bench, former)
                bench.pass(1.2)
            }
            let told = exchange(0)
            #expect(told == Dictionary(uniqueKeysWithValues: former.map { ($0.topic, #"{"migrate_discovery":true}"#) }))
            #expect(exchange(1.9) == [:])
            let replaced = exchange(0.3)
            #expect(replaced.count == former.count + new.count)
            for message in former { #expect(replaced[message.topic]?.isEmpty == true) }
            for message in new { #expect(replaced[message.topic] == message.payload) }
            #expect(exchange(60) == [:])
            #expect(remembered(bench) == Set(new.map(\.topic)))
        }
    }

    @Test("A migration that was interrupted goes on with the next connection, and is not begun for nothing")
    func goesOnMigrating() throws {
        let former = DiscoverySet(settings(), facts).messages.map(\.topic)
        try remember(former + [old])
        bench = makeBench(settings(.device), isConnected: false)
        bench.deliver(.connected)
        readBack(&bench, former.map { DiscoveryMessage(topic: $0, payload: #"{"migrate_discovery":true}"#) })
        let step = settle(&bench, 1.2)
        #expect(step.announced == [whole] && Set(step.removed) == Set(former + [old]))
        // Switched off: nothing takes the place of what is removed.
        var off = settings(.component)
        off.homeAssistant.discovery = false
        change(to: off)
        #expect(settle(&bench, 0).removed == [whole])
    }

    /// Carries out the correction that `RetainedWatch` asks for.
    private func correct() { bench.carryOut(bench.participant.correct(at: bench.clocks)) }

    /// Another broker, to which this one is bridged, has brought old messages back.
    @Test func noticesOldMessagesAndCorrects() throws {
        #expect(settle(&bench, 5).announced == wanted)
        _ = bench.takeRequests()
        let first = try #require(wanted.first)
        // Our own messages come back.
        for message in DiscoverySet(settings(), facts).messages { bench.receive(message.topic, message.payload) }
        #expect(bench.takeRequests().isEmpty)
        for text in ["", "of another", #"{"origin":{"name":"Jostle"}}"#] {
            bench.receive(first, text)
            #expect(bench.takeRequests() == (text.isEmpty ? [.reportAltered([first])] : []))
            #expect(settle(&bench, 60).announced.isEmpty, "not before it is asked for")
        }
        correct()
        #expect(settle(&bench, 0).announced == [first])
        #expect(bench.takeRequests() == [.reportAltered([])])
        // Somebody has put it right.
        bench.receive(first, "of another")
        bench.receive(first, DiscoverySet(settings(), facts).messages[0].payload)
        #expect(bench.takeRequests() == [.reportAltered([first]), .reportAltered([])])
        correct()
        #expect(settle(&bench, 60).announced.isEmpty)
        // Messages of other programs under the same id are theirs; one of ours that is obsolete goes.
        let (late, foreign) = ("homeassistant/sensor/dut/late/config", "homeassistant/sensor/dut/foreign/config")
        bench.receive(foreign, #"{"origin":{"name":"x"}}"#)
        bench.receive(late, #"{"origin":{"name":"Jostle"}}"#)
        #expect(bench.takeRequests().last == .reportAltered([late]))
        correct()
        #expect(settle(&bench, 0).removed == [late])
        // A new connection reads everything.
        bench.receive(first, "of another")
        bench.deliver(.disconnected(undelivered: []))
        #expect(bench.subscriptions == ["homeassistant/status"])
    }

    /// All devices of a broker to which another one comes back correct theirs: not at the same moment.
    @Test func correctsManyAfterARandomDelay() {
        bench = makeBench(settings(Gesture.builtIn))
        let many = settle(&bench, 5).announced
        #expect(many.count > 11)
        for topic in many.prefix(11) { bench.receive(topic, "") }
        correct()
        #expect(settle(&bench, 1.9).announced.isEmpty)
        #expect(settle(&bench, 0.2).announced == Array(many.prefix(11)))
    }

    /// Anybody can invent topics below the device's id. Each costs time, and none keeps another from being corrected.
    @Test func notesALimitedNumberOfInventedTopics() throws {
        let first = try #require(settle(&bench, 5).announced.first)
        _ = bench.takeRequests()
        for number in 0..<510 {
            bench.receive("homeassistant/sensor/dut/\(number)/config", #"{"origin":{"name":"Jostle"}}"#)
        }
        #expect(bench.takeRequests().count == 500)
        bench.receive(first, "of another")
        correct()
        let step = settle(&bench, 2.1)
        #expect(step.announced == [first] && step.removed.count == 500)
    }

    /// While it reads, somebody replaces what has been read.
    @Test func readsWhatIsReplacedMeanwhile() throws {
        readBack(&bench, DiscoverySet(settings(), facts).messages)
        let first = try #require(wanted.first)
        bench.receive(first, "")
        #expect(settle(&bench, 1.2).announced == [first])
    }

    @Test func readsAsLongAsMessagesArrive() {
        for (index, message) in DiscoverySet(settings(), facts).messages.enumerated() {
            if index < 10 { bench.pass(0.2) }
            bench.receive(message.topic, message.payload, retain: true)
        }
        #expect(settle(&bench, 1.2).announced.isEmpty)
        // But not for ever.
        reconnect()
        bench.pass(2)
        readBack(&bench, [])
        for _ in 0..<30 {
            bench.pass(0.2)
            bench.receive("homeassistant/sensor/dut/other/config", "{}", retain: true)
        }
        #expect(settle(&bench, 0).announced == wanted)
    }

    /// Topics are on disk before they are used, unless the disk is too slow, so that they are known after a crash.
    @Test func savesTopicsBeforeUsingThem() {
        bench.pass(1.2)
        #expect(bench.takePublished().isEmpty && remembered(bench) == Set(wanted))
        bench.deliver(.fileWritten(.announcedTopics, failure: nil))
        #expect(bench.topics() == wanted)

        var stalled = makeBench()
        stalled.pass(1.9)
        #expect(stalled.takePublished().isEmpty)
        stalled.pass(0.2)
        #expect(stalled.topics() == wanted)

        var failing = makeBench()
        failing.pass(1.2)
        failing.deliver(.fileWritten(.announcedTopics, failure: "No space left on device"))
        #expect(failing.topics() == wanted && failing.takeLines().count == 1)
    }

    /// The disk is slow: the first result belongs to an older list than the one that is awaited.
    @Test func waitsForTheLatestListOnDisk() {
        _ = settle(&bench, 1.2)
        change(to: settings([.tap]))
        change(to: settings([.tap, .flick]))
        #expect(bench.takePublished().isEmpty)
        bench.deliver(.fileWritten(.announcedTopics, failure: nil))
        #expect(bench.takePublished().isEmpty && remembered(bench).contains { $0.contains("/flick") })
        bench.deliver(.fileWritten(.announcedTopics, failure: nil))
        #expect(bench.topics().contains { $0.contains("/flick") })
    }

    @Test func repeatsOnceAfterBirthMessage() {
        _ = settle(&bench, 1.2)
        bench.receive("homeassistant/status", "online")
        bench.receive("homeassistant/status", "online")
        bench.receive("homeassistant/status", "offline")
        #expect(settle(&bench, 1.9).announced.isEmpty)
        #expect(settle(&bench, 0.2).announced == wanted)
        #expect(settle(&bench, 20).announced.isEmpty)
        // A retained birth message is ignored.
        bench.receive("homeassistant/status", "online", retain: true)
        #expect(settle(&bench, 10).announced.isEmpty)
    }

    @Test func sendsChangesAndRemovesObsoleteMessages() {
        _ = settle(&bench, 1.2)
        change(to: settings([.tap]))
        let gone = settle(&bench, 0, acknowledged: false)
        #expect(gone.announced.contains { $0.contains("/tap") } && !gone.announced.contains { $0.contains("/roll") })
        #expect(gone.removed.contains { $0.contains("/shake") })
        // Kept in the file until the broker acknowledges the removal.
        #expect(remembered(bench).isSuperset(of: gone.removed))
        for token in gone.tokens { bench.deliver(.acknowledged(token)) }
        bench.deliver(.fileWritten(.announcedTopics, failure: nil))
        #expect(remembered(bench).isDisjoint(with: gone.removed))
        // Enabled again.
        change(to: settings())
        #expect(settle(&bench, 0).announced.contains { $0.contains("/shake") })
    }

    /// The fleet's configuration may switch discovery on and off while the agent runs.
    @Test func followsTheSwitchOfDiscovery() {
        var off = settings()
        off.homeAssistant.discovery = false
        bench = makeBench(off)
        #expect(settle(&bench, 1).announced.isEmpty && !bench.subscriptions.contains("homeassistant/status"))
        change(to: settings())
        #expect(settle(&bench, 0).announced.contains { $0.contains("/shake") })
        #expect(bench.subscriptions.contains("homeassistant/status"))
        change(to: off)
        #expect(settle(&bench, 1).removed.contains { $0.contains("/shake") })
    }

    @Test func removesSavedTopicsOfFormerNames() throws {
        try remember([old])
        let step = settle(&bench, 1.2)
        #expect(step.removed == [old] && step.announced == wanted)
        #expect(remembered(bench) == Set(wanted))
    }

    @Test func keepsMessagesOfProtectedDevices() throws {
        let gone = "homeassistant/sensor/dut/gone/config"
        try remember([old, gone])
        bench.carryOut(bench.participant.protect(["old"], at: bench.clocks))
        #expect(settle(&bench, 1.2).removed == [gone])
        #expect(remembered(bench).contains(old))
        bench.carryOut(bench.participant.protect([], at: bench.clocks))
        #expect(settle(&bench, 0).removed == [old])
    }

    // MARK: A new id

    /// A publisher of the board `dut`, which was `old` before, with the messages that it had then.
    private func rename(_ form: JostleSettings.HomeAssistant.DiscoveryForm) throws -> [DiscoveryMessage] {
        var former = facts
        former.id = "old"
        former.identity = BoardIdentity(id: "old", hardware: "12ab34")
        let messages = DiscoverySet(settings(form), former).messages
        try remember(messages.map(\.topic))
        try directory.write("jostle identity 1\nold_12ab34\nold\n12ab34\n", to: "identity")
        var facts = facts
        facts.identity = BoardIdentity(id: "dut", hardware: "12ab34", in: state, announced: [])
        bench = Bench(DiscoveryPublisher(settings(form), facts, memory: .announced(in: state)) { _ in 2 })
        bench.carryOut(bench.participant.protect(["old"], at: bench.clocks))
        bench.deliver(.connected)
        readBack(&bench, [])
        return messages
    }

    private func protect(_ devices: Set<String>, inUse: Set<String> = []) {
        bench.carryOut(bench.participant.protect(devices, inUse: inUse, at: bench.clocks))
    }

    @Test("Under a new id, the same entities appear when those under the former id are gone")
    func keepsIdentityUnderNewID() throws {
        for form in [JostleSettings.HomeAssistant.DiscoveryForm.component, .device] {
            let former = try rename(form)
            #expect(exchange(5) == [:], "it is not known yet whether another device has the former name")
            protect([])
            if form == .device {
                #expect(exchange(0).values.allSatisfy { $0 == DiscoveryMessage.migration })
                #expect(exchange(1.9) == [:])
                bench.pass(0.2)
            }
            let removed = exchange(0)
            #expect(Set(removed.keys) == Set(former.map(\.topic)) && removed.values.allSatisfy(\.isEmpty))
            #expect(bench.text(.identity) == nil && exchange(1.8) == [:])
            let new = exchange(0.3)
            #expect(new.count == former.count)
            for message in former {
                // The same ids, under the new topics.
                let topic = message.topic.replacing("/old/", with: "/dut/")
                let present = new[topic]?.replacing(#""name": "dut""#, with: #""name": "old""#)
                #expect(present == message.payload)
            }
            #expect(bench.text(.identity) == "jostle identity 1\nold_12ab34\ndut\n12ab34\n")
            #expect(exchange(60) == [:])
        }
    }

    @Test(
        "A board is another device in Home Assistant if another one has the former id, or the broker keeps its messages"
    )
    func becomesAnotherDevice() throws {
        func expectAnother() throws {
            let new = exchange(2.1)
            #expect(new.values.allSatisfy { $0.contains("jostle_dut_12ab34") && !$0.contains("old") }, "\(new)")
            #expect(new.count == wanted.count)
            #expect(bench.text(.identity) == "jostle identity 1\ndut_12ab34\ndut\n12ab34\n")
            #expect(bench.takeLines().last?.contains("automations of old do not see it") == true)
        }
        _ = try rename(.component)
        bench.pass(5)
        protect(["old"], inUse: ["old"])
        try expectAnother()

        let former = try rename(.component)
        protect([])
        bench.pass(1.2)
        bench.deliver(.fileWritten(.announcedTopics, failure: nil))
        let removals = bench.takePublished()
        #expect(removals.count == former.count)
        for case (let message, let token?) in removals {
            bench.deliver(.rejected(token, topic: message.topic, .refused(.notAuthorised)))
        }
        try expectAnother()
    }

    @Test func parsesDeviceFromTopic() {
        for (topic, id, form) in [
            ("homeassistant/sensor/dut/roll/config", "dut", JostleSettings.HomeAssistant.DiscoveryForm.component),
            ("homeassistant/device/dut/config", "dut", .device), ("my/ha/device/dut/config", "dut", .device),
            ("homeassistant/sensor/device/roll/config", "device", .component),
            ("my/ha/switch/device/shake_enabled/config", "device", .component),
            ("homeassistant/device/device/config", "device", .device),
            ("my/home/event/a-b_1/shake/config", "a-b_1", .component),
        ] {
            let found = DiscoveryMessage.device(ofTopic: topic)
            #expect(found?.id == id && found?.form == form, "\(topic)")
        }
        #expect(DiscoveryMessage.device(ofTopic: "homeassistant/sensor/dut/roll/state") == nil)
        #expect(DiscoveryMessage.device(ofTopic: "dut/roll/config") == nil)
    }

    @Test func repeatsUnacknowledgedRemovals() throws {
        try remember([old])
        #expect(settle(&bench, 1.2, acknowledged: false).removed == [old])
        #expect(settle(&bench, 5).removed.isEmpty)
        reconnect()
        #expect(settle(&bench, 12.1).removed == [old])
        reconnect()
        #expect(settle(&bench, 12.1).removed.isEmpty)
    }

    @Test func removesObsoleteMessagesOnlyIfOurs() {
        let ours = #"{"name":"X","origin":{"name":"Jostle","sw_version":"0.1"}}"#
        bench.receive("homeassistant/sensor/dut/gone/config", ours, retain: true)
        bench.receive("homeassistant/sensor/dut/other/config", #"{"origin":{"name":"x"}}"#, retain: true)
        bench.receive("homeassistant/sensor/dut/broken/config", "{", retain: true)
        bench.receive("jostle/dut/command/config", ours, retain: true)
        bench.receive("homeassistant/sensor/other/gone/config", ours, retain: true)
        #expect(settle(&bench, 1.2).removed == ["homeassistant/sensor/dut/gone/config"])
        // From now on these are our own messages.
        bench.receive("homeassistant/sensor/dut/late/config", ours, retain: true)
        change(to: settings([.tap, .shake]))
        #expect(settle(&bench, 0).removed.isEmpty)
    }

    @Test func doesNotRetryRejectedMessages() {
        let step = settle(&bench, 1.2, acknowledged: false)
        for token in step.tokens { bench.deliver(.rejected(token, topic: "t", .refused(.notAuthorised))) }
        #expect(bench.participant.refused == Set(wanted) && bench.takeLines().count == 1, "logged once")
        bench.receive("homeassistant/status", "online")
        #expect(settle(&bench, 10).announced.isEmpty)
        // Nor reported as something to publish again.
        _ = bench.takeRequests()
        for topic in wanted { bench.receive(topic, #"{"origin":{"name":"Jostle"}}"#) }
        #expect(bench.takeRequests().isEmpty)
    }

    @Test func retriesWhenClientHasRoom() {
        let step = settle(&bench, 1.2, acknowledged: false)
        bench.deliver(.notSent(Array(step.tokens.suffix(2))))
        bench.pass(0.1)
        #expect(bench.takePublished().isEmpty)
        #expect(settle(&bench, 0.2).announced == Array(wanted.suffix(2)))
    }

    @Test func repeatsTelemetryOnceAfterDiscovery() {
        _ = settle(&bench, 1.2)
        #expect(bench.takeRequests().isEmpty)
        bench.pass(2.1)
        #expect(bench.takeRequests() == [.repeatTelemetry])
        bench.pass(20)
        #expect(bench.takeRequests().isEmpty)
    }

    @Test func savesAndReadsTopics() throws {
        var memory = RememberedTopics.announced(in: state)
        #expect(memory.topics.isEmpty)
        let content = memory.remember([old, "a/b c/config"])
        let again = memory.remember([old, "a/b c/config"])
        #expect(again == nil, "nothing changed")
        try directory.write(try #require(content).text, to: "announced-topics")
        #expect(RememberedTopics.announced(in: state).topics == [old, "a/b c/config"])
        try directory.write("jostle announced topics 1\na/#\n\n\(old)\n", to: "announced-topics")
        #expect(RememberedTopics.announced(in: state).topics == [old])
        try directory.write("something else\n\(old)\n", to: "announced-topics")
        #expect(RememberedTopics.announced(in: state).topics.isEmpty)
    }
}
