import BrokerTestSupport
import MosquittoClient
import Testing

/// The client recovers from everything that can happen to a broker and to the network.
@Suite(.serialized, .enabled(if: TestBroker.isAvailable, "mosquitto is not installed"))
struct RecoveryTests {
    private let rig = Rig()
    private let broker: TestBroker

    init() async throws {
        broker = try await rig.broker()
    }

    @Test("Connects to a broker that appears later")
    func brokerAppears() async throws {
        let broker = try rig.stoppedBroker()
        let client = try RecordedClient.started(.local(broker.port, id: "early"))
        #expect(await eventually { client.disconnections.count >= 3 })
        #expect(client.disconnections.allSatisfy { $0.failure == .network(code: 111) && !$0.wasConnected })
        #expect(client.disconnections.allSatisfy { ($0.retryAfter ?? .seconds(9)) <= .milliseconds(100) })
        try await broker.start()
        #expect(await eventually { client.connections.count == 1 })
        #expect(client.client.statistics.connection?.broker.port == broker.port)
    }

    @Test("After a broker's restart the client is connected and subscribed, and has reported undelivered messages")
    func brokerRestarts() async throws {
        let client = try await RecordedClient.connected(.local(broker.port, id: "back"), subscribingTo: ["r"])
        broker.freeze()
        for number in 0..<30 { try client.publish("x", token: number) }
        broker.kill()
        #expect(await eventually { !client.disconnections.isEmpty })
        let lost = try #require(client.disconnections.first)
        #expect(lost.wasConnected)
        #expect(client.acknowledged.isEmpty)
        #expect(lost.undelivered.map(\.number) == Array(0..<30))
        #expect(throws: MQTTError.notConnected) { try client.client.publish(MQTTMessage(topic: "x", text: "")) }

        try await broker.start()
        #expect(await eventually { client.connections.count == 2 && client.subscribed == ["r", "r"] })
        try client.publish("r", "again")
        #expect(await eventually { client.messages.map(\.text) == ["again"] })
        // It may come back before the broker's acknowledgement.
        #expect(await eventually { client.client.statistics.inFlight == 0 })
        let statistics = client.client.statistics
        #expect(statistics.connects == 2 && statistics.undelivered == 30)
    }

    @Test("Reports a wrong password and retries; connects with the right one")
    func wrongPassword() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("board:right\n", to: "passwords")
        try runCommand(["mosquitto_passwd", "-U", file], in: directory)
        let broker = try await rig.broker(
            directory: directory, settings: "allow_anonymous false\npassword_file \(file)")
        var options = MQTTOptions.local(broker.port, id: "password")
        options.credentials = MQTTCredentials(userName: "board", password: MQTTCredentials.Secret("wrong"))
        let client = try RecordedClient.started(options)
        #expect(await eventually { client.refusals.count >= 3 })
        // mosquitto calls it "not authorised", as MQTT allows.
        let reasons = [MQTTFailure.refused(.badUserNameOrPassword), .refused(.notAuthorised)]
        #expect(client.refusals.allSatisfy { reasons.contains($0.failure) })
        #expect(client.refusals.first?.failure.advice?.contains("password") == true)
        #expect(client.client.stop() == .stopped(undelivered: 0))

        options.credentials?.password = MQTTCredentials.Secret("right")
        let other = try await RecordedClient.connected(options)
        #expect(other.refusals.isEmpty)
    }

    @Test("Detects a frozen broker by keep-alive and response timeout, and reconnects to it")
    func frozenBroker() async throws {
        var options = MQTTOptions.local(broker.port, id: "frozen")
        options.keepAlive = .seconds(5)
        options.responseTimeout = .seconds(1)
        options.connectTimeout = .seconds(1)
        let client = try await RecordedClient.connected(options)
        broker.freeze()
        #expect(await eventually { !client.disconnections.isEmpty })
        #expect(client.disconnections.first?.failure == .silent)
        // The kernel still accepts its TCP connections, but it does not answer, which has a timeout too.
        #expect(await eventually { client.disconnections.count >= 2 })
        #expect(client.disconnections.dropFirst().first?.failure == .timedOut)
        broker.thaw()
        #expect(await eventually { client.connections.count >= 2 })
    }

    @Test("A connection without messages outlasts the silence limit: pings are sent and answered")
    func quiet() async throws {
        var options = MQTTOptions.local(broker.port, id: "quiet")
        options.keepAlive = .seconds(5)
        options.responseTimeout = .seconds(3)
        let client = try await RecordedClient.connected(options)
        let isLost = await eventually(within: .seconds(11)) { !client.disconnections.isEmpty }
        #expect(!isLost && client.connections.count == 1)
    }

    @Test("Uses the second broker while the first is down")
    func secondBroker() async throws {
        var options = MQTTOptions.local(try Loopback.freePort(), id: "second")
        options.brokers.append(BrokerAddress(host: "127.0.0.1", port: broker.port))
        let client = try await RecordedClient.connected(options)
        #expect(client.connections.first?.broker.port == broker.port)
        #expect(client.disconnections.count == 1)
    }

    @Test("A name that may have an IPv6 address too reaches a broker that listens only on IPv4")
    func localhost() async throws {
        let client = try await RecordedClient.connected(.local(broker.port, id: "name", host: "localhost"))
        #expect(client.connections.count == 1)
    }

    @Test("Reports a host that does not exist, and retries")
    func hostNotFound() async throws {
        let client = try RecordedClient.started(.local(1, id: "nowhere", host: "no-such-host.invalid"))
        #expect(await eventually { client.disconnections.count >= 2 })
        guard case .hostNotFound("no-such-host.invalid", _) = client.disconnections.first?.failure else {
            throw Unexpected(client.disconnections)
        }
    }

    @Test("A session that outlives the connection keeps the messages that arrive meanwhile")
    func session() async throws {
        var options = MQTTOptions.local(broker.port, id: "kept")
        options.sessionExpiry = .seconds(60)
        options.cleanStart = false
        let first = try await RecordedClient.connected(options, subscribingTo: ["kept"])
        #expect(first.client.stop() == .stopped(undelivered: 0))
        let other = try await RecordedClient.connected(.local(broker.port, id: "other"))
        try other.publish("kept", "late", token: 1)
        #expect(await eventually { other.acknowledged.count == 1 })
        // The session does not know what the client subscribes to now.
        let second = try await RecordedClient.connected(options, subscribingTo: ["added"])
        #expect(second.connections.first?.sessionPresent == true)
        #expect(await eventually { second.messages.map(\.text) == ["late"] })
        try other.publish("added", "new", token: 2)
        #expect(await eventually { second.messages.map(\.text) == ["late", "new"] })
    }

    @Test("Of two clients with the same id the first is disconnected, and reports why")
    func takeover() async throws {
        var options = MQTTOptions.local(broker.port, id: "twin")
        // Otherwise they would disconnect each other in turn.
        options.backoff.base = .seconds(3600)
        options.backoff.cap = .seconds(3600)
        let first = try await RecordedClient.connected(options)
        let second = try await RecordedClient.connected(options)
        #expect(await eventually { first.disconnections.count == 1 })
        // mosquitto 2.0.11 closes the connection without MQTT 5's reason for it.
        let failures = [MQTTFailure.closed, .closedByBroker(.sessionTakenOver)]
        #expect(first.disconnections.first.map { $0.wasConnected && failures.contains($0.failure) } == true)
        #expect(second.disconnections.isEmpty)
        #expect(first.disconnections.first?.advice?.contains("another client") == true)
    }
}
