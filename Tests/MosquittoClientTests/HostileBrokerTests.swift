import BrokerTestSupport
import CMosquittoGuard
import Glibc
import LinuxSystem
import MosquittoClient
import Testing

/// Requirement: whatever a broker sends, the process survives, and the client reconnects and works.
@Suite(.serialized) struct HostileBrokerTests {
    private let rig = Rig()

    /// A packet that makes libmosquitto 2.0.11 terminate the process, unless it is guarded.
    static let killers: [[UInt8]] = [
        [0x20, 5, 0, 0, 2, 0x7F, 0], [0xE0, 4, 0, 2, 0x7F, 0], [0x30, 6, 0, 1, 0x61, 2, 0x7F, 0],
        [0x40, 6, 0, 2, 0, 2, 0x7F, 0],
    ]

    @Test(
        "An unknown property in the CONNACK is an ordinary failure, also for a client with a thread",
        arguments: killers)
    func unknownProperty(_ packet: [UInt8]) async throws {
        let accepts = packet[0] != 0x20
        let broker = try rig.fakeBroker { connect in
            guard FakeBroker.level(of: connect) == 5 else { return nil }
            return accepts ? [0x20, 3, 0, 0, 0] + packet : packet
        }
        var options = MQTTOptions.local(broker.port, id: "victim")
        options.versions = .only(.v5)
        let client = try RecordedClient.started(options)
        // libmosquitto 2.0.21 reports a protocol error, or closes.
        let known: [MQTTFailure] = [.unreadable, .protocolError, .closed]
        // On a busy machine, an attempt to connect may time out in between.
        let hasFailed = await eventually {
            client.disconnections.count { known.contains($0.failure) && $0.wasConnected == accepts } >= 3
        }
        #expect(hasFailed, "\(client.disconnections)")
        let statistics = client.client.statistics
        #expect(statistics.unreadable == 0 || statistics.unreadable >= 3)
        #expect(client.client.stop() == .stopped(undelivered: 0))
    }

    @Test("The library's assertions reach this program, not the C library")
    func isLinked() {
        mosquitto_guard_prepare()
        #expect(mosquitto_guard_works())
    }

    @Test("What the library reads from a connection passes through this program")
    func readsAreFollowed() {
        #expect(mosquitto_limit_works())
    }

    @Test(
        "A packet beyond the limit ends the connection, both while it is being received and if it came at once",
        arguments: [24, 0])
    func tooLarge(megabytes: Int) async throws {
        // A PUBLISH of 32 MB of which most arrives, or one of 32 KB that arrives whole.
        let length: [UInt8] = megabytes > 0 ? [0x80, 0x80, 0x80, 0x10] : [0x80, 0x80, 0x02]
        let start: [UInt8] = [0x20, 3, 0, 0, 0, 0x30] + length + [0, 1, 0x61, 0]
        let bytes = start + [UInt8](repeating: 0x62, count: megabytes > 0 ? megabytes << 20 : 1 << 15)
        let broker = try rig.fakeBroker { _ in bytes }
        var options = MQTTOptions.local(broker.port, id: "small")
        options.maximumPacketSize = 10_000
        let client = try RecordedClient.started(options)
        #expect(await eventually { client.disconnections.count >= 2 })
        #expect(client.disconnections.allSatisfy { $0.failure == .packetTooLarge(topic: "a") && $0.wasConnected })
        #expect(client.messages.isEmpty)
        #expect(client.client.stop() == .stopped(undelivered: 0))
    }

    @Test("Survives every property in every packet, and ten thousand corrupted packets, at every point of a session")
    func everything() throws {
        // More than the 1,024 descriptors of an ordinary login are open in the end.
        #expect(DescriptorLimit.raise() > 1024)
        var attacks: [HostileBroker.Attack] = []
        for packet in HostilePackets.properties {
            attacks += [.init(.connack, packet), .init(.afterwards, packet)]
        }
        var random = SplitMix(seed: 20_261_122)
        for number in 0..<10_000 {
            let place = HostileBroker.Place.allCases[number % HostileBroker.Place.allCases.count]
            attacks.append(.init(place, HostilePackets.mutated(&random)))
        }
        var campaign = try HostileCampaign(attacks, version: .v5)
        let hasRun = campaign.run(within: .seconds(600))
        #expect(hasRun)
        print("MQTT 5: \(campaign.summary)")
        #expect(campaign.failedChecks == 0)
        #expect(campaign.checks >= attacks.count)

        // 3.1.1 has no properties; its packets are parsed by the same code.
        attacks = (0..<2000).map { number in
            .init(HostileBroker.Place.allCases[number % 5], HostilePackets.mutated(&random))
        }
        var older = try HostileCampaign(attacks, version: .v311)
        let olderHasRun = older.run(within: .seconds(600))
        #expect(olderHasRun)
        print("MQTT 3.1.1: \(older.summary)")
        #expect(older.failedChecks == 0)
        #expect(older.checks >= attacks.count)
    }
}

/// Attacks on several clients at a time, all on the calling thread. After each attack the client must connect and work.
struct HostileCampaign {
    private var attacks: Attacks
    private var rigs: [Rig] = []

    init(_ attacks: [HostileBroker.Attack], version: MQTTVersion) throws {
        self.attacks = Attacks(attacks)
        for _ in 0..<16 { rigs.append(try Rig(version)) }
    }

    /// Sessions that had to work after an attack, and those that did not.
    var checks: Int { rigs.reduce(0) { $0 + $1.checks } }
    var failedChecks: Int { rigs.reduce(0) { $0 + $1.failedChecks } }

    var summary: String {
        let packets = rigs.reduce(0) { $0 + $1.attacks }
        let sessions = rigs.reduce(0) { $0 + $1.broker.accepted }
        let contained = rigs.reduce(0) { $0 + $1.unreadable }
        return "\(packets) attacks in \(sessions) sessions, \(contained) assertions contained, "
            + "\(checks) sessions checked, \(failedChecks) of them in vain"
    }

    /// Runs all attacks. Returns `false` if the time was too short.
    mutating func run(within limit: Duration) -> Bool {
        let end = ContinuousClock.now + limit
        while true {
            for rig in rigs { rig.plan(&attacks) }
            let active = rigs.filter { !$0.isDone }
            if active.isEmpty { return true }
            if ContinuousClock.now >= end { return false }
            var entries = active.flatMap { rig in
                let interest = rig.client.interest
                return [
                    pollfd(fd: rig.broker.descriptor, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: interest?.descriptor ?? -1, events: interest?.readiness.pollEvents ?? 0, revents: 0),
                ]
            }
            let deadline = active.compactMap(\.client.deadline).min() ?? end
            poll(&entries, nfds_t(entries.count), PolledDriver.milliseconds(until: min(deadline, end)))
            for (index, rig) in active.enumerated() {
                if entries[2 * index].revents != 0 { rig.broker.advance() }
                rig.advance(MQTTReadiness(pollEvents: entries[2 * index + 1].revents))
            }
        }
    }

    /// The attacks still to be tried.
    struct Attacks {
        private var early: [HostileBroker.Attack]
        private var late: [HostileBroker.Attack]

        init(_ attacks: [HostileBroker.Attack]) {
            late = attacks.filter { $0.place == .afterwards || $0.place == .goodbye }
            early = attacks.filter { $0.place != .afterwards && $0.place != .goodbye }
        }

        /// An attack in a session that works up to that point, and so verifies the session before.
        mutating func popLate() -> HostileBroker.Attack? { late.popLast() }

        /// Any attack.
        mutating func pop() -> HostileBroker.Attack? { early.popLast() ?? late.popLast() }
    }

    /// A broker and a client.
    private final class Rig {
        let broker: HostileBroker
        private(set) var client: MQTTPolledClient
        private(set) var attacks = 0
        private(set) var checks = 0
        private(set) var failedChecks = 0
        private(set) var unreadable: UInt64 = 0
        private(set) var isDone = false

        private let options: MQTTOptions
        /// Whether to plan the next session.
        private var isIdle = true
        /// Whether the present session should reach the acknowledgement, and whether it has.
        private var mustWork = false
        private var works = false
        private var owesCheck = false

        init(_ version: MQTTVersion) throws {
            broker = try HostileBroker()
            var options = MQTTOptions(
                brokers: [BrokerAddress(host: "127.0.0.1", port: broker.port)], clientID: "victim")
            options.versions = .only(version)
            options.backoff.base = .microseconds(50)
            options.backoff.cap = .microseconds(100)
            options.backoff.unreadableFactor = 1
            // A filter that is left out because of a packet that is too large is requested again at once: most sessions
            // last less than a millisecond, so that the client would wait 360 times this long in each of them.
            options.backoff.stableAfter = .microseconds(1)
            self.options = options
            client = try MQTTPolledClient(options: options)
            try client.subscribe(to: "a", qos: .atLeastOnce)
        }

        /// Chooses the behaviour of the next session.
        func plan(_ attacks: inout Attacks) {
            guard isIdle, !isDone else { return }
            isIdle = false
            works = false
            // A session that works up to the attack verifies the session before.
            let attack = owesCheck ? attacks.popLate() : attacks.pop()
            if attack == nil, !owesCheck {
                isDone = true
                unreadable += client.statistics.unreadable
                return
            }
            broker.next = attack
            if attack != nil { self.attacks += 1 }
            mustWork = attack == nil || attack?.place == .afterwards || attack?.place == .goodbye
            owesCheck = attack != nil
            if client.isFinished { renew() }
        }

        private func renew() {
            unreadable += client.statistics.unreadable
            guard let next = try? MQTTPolledClient(options: options) else { return }
            try? next.subscribe(to: "a", qos: .atLeastOnce)
            client = next
        }

        func advance(_ readiness: MQTTReadiness) {
            guard !isDone, let deadline = client.deadline, !readiness.isEmpty || deadline <= .now else { return }
            for event in client.advance(readiness) {
                switch event {
                case .subscribed:
                    // Fails if the connection has already ended, which is recorded then.
                    try? client.publish(MQTTMessage(topic: "a", text: "works", qos: .atLeastOnce), token: 1)
                case .acknowledged:
                    works = true
                    if broker.next?.place == .goodbye { client.stop(within: .seconds(5)) }
                case .disconnected, .stopped:
                    sessionEnded()
                case .connecting, .connected, .subscriptionRefused, .subscriptionLeftOut, .subscriptionRestored,
                    .message, .rejected:
                    break
                }
            }
        }

        private func sessionEnded() {
            if mustWork {
                checks += 1
                if !works { failedChecks += 1 }
            }
            isIdle = true
        }
    }
}
