import BrokerTestSupport
import Documents
import JostleConfiguration
import JostleMessages
import JostleRuntime
import StateStorage
import Testing

@testable import JostleAgent
@testable import MosquittoClient

/// Requirement: a participant's effects are carried out in order, and it alone learns what became of its messages.
@Suite struct DeviceCoreTests {
    /// A client that takes messages while it has room.
    final class Client: MQTTPublisher {
        let options = MQTTOptions(brokers: [MosquittoClient.BrokerAddress(host: "broker")], clientID: "a")
        var maximumPacketSize: Int { options.maximumPacketSize }
        let statistics = MQTTStatistics()
        var room = 1000
        var sent: [Outgoing] = []

        func accept(_ outgoing: Outgoing) throws(MQTTError) {
            guard room > 0 else { throw .queueFull }
            room -= 1
            sent.append(outgoing)
        }

        func change(_ change: SubscriptionChange) {}
        func giveWay(for delay: Duration?) {}
    }

    final class Host: DeviceHost {
        var now = ClockReading.start
        var lines: [String] = []

        func readClocks() -> ClockReading { now }
        func write(_ level: Log.Level, _ line: String) { lines.append(line) }
        func apply(_ settings: JostleSettings, at now: ClockReading) {}
        func restart() {}
        func carryOut(_ request: CommandRequest) {}
        func healthFacts(at now: ClockReading) -> HealthFacts { HealthFacts() }
    }

    private let directory = TemporaryDirectory.new()
    private let client = Client()
    private let host = Host()
    private let core: DeviceCore

    init() throws {
        var builder = ConfigurationBuilder()
        builder.apply(try YAMLReader.read(Array("{}".utf8), source: .file("jostle.yaml")))
        let stored = StoredConfiguration.open(
            try builder.finish(), id: "a", boot: "a", in: StateDirectory(path: directory.path), log: Log(level: .error))
        core = DeviceCore(
            stored, topics: Topics(prefix: "jostle", id: "a"),
            CommandHost.Identity(id: "a", version: "1", stateDirectory: directory.path, isSupervised: false),
            isSimulated: false, processorTime: 0, at: host.now, client: client, writer: StateWriter(), outboxFile: nil
        ) { _ in }
        core.owner = host
        core.outbox = Outbox(
            OutboxFile.OpenResult(failure: "no disk"), limits: JostleSettings.Outbox(), eventExpiry: 3600)
        core.start(at: host.now)
        let connection = MQTTConnection(broker: client.options.brokers[0], version: .v5, sessionPresent: false)
        core.handle(.connected(connection), at: host.now)
    }

    private func add(_ messages: (topic: String, text: String)...) {
        let updates = messages.map { topic, text in
            Outbox.Update.add(
                OutgoingMessage(
                    topic: topic, content: .fixed(Array(text.utf8)), time: EventTime(host.now.monotonic, host.now)))
        }
        core.perform(core.outbox?.apply(updates, at: host.now))
    }

    /// What the outbox has sent.
    private var texts: [String] {
        client.sent.filter { $0.token?.owner == Owner.outbox.rawValue }.map(\.message.payload.text)
    }

    @Test("If the client has no room for a message, the later ones wait too, and are sent in order")
    func keepsTheOrder() {
        client.room = 1
        add(("t", "1"), ("t", "2"), ("t", "3"))
        #expect(texts == ["1"])
        client.room = 1000
        add(("t", "4"))
        #expect(texts == ["1"], "the outbox learned that two messages were not sent")
        host.now.monotonic = host.now.monotonic.advanced(bySeconds: 1)
        core.handleDeadlines(at: host.now)
        #expect(texts == ["1", "2", "3", "4"])
    }

    @Test("An acknowledgement reaches the owner of the message, and no other participant")
    func passesOnAcknowledgements() throws {
        add(("t", "1"))
        let token = try #require(client.sent.last?.token)
        for owner in Owner.allCases where owner != .outbox {
            core.handle(.acknowledged(MQTTToken(token.number, owner: owner.rawValue)), at: host.now)
        }
        #expect(core.outbox?.statistics.count == 1)
        core.handle(.acknowledged(token), at: host.now)
        #expect(core.outbox?.statistics.count == 0)
    }

    @Test("A message that can never be sent is rejected, and does not hold up the later ones")
    func rejectsImpossibleMessages() {
        add(("a/#", "1"), ("t", "2"))
        #expect(texts == ["2"] && core.outbox?.statistics.count == 1)
        #expect(host.lines.contains { $0.hasPrefix("dropped a message to a/#: ") }, "\(host.lines)")
    }
}
