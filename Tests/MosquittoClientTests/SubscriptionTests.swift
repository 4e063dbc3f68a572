import BrokerTestSupport
import MosquittoClient
import Synchronization
import Testing

/// Requirement: subscriptions are answered or the connection ends; one that is refused costs no other.
@Suite struct SubscriptionTests {
    private let rig = Rig()

    @Test(
        "A second request for a filter brings the retained messages again, without affecting other filters",
        .enabled(if: TestBroker.isAvailable, "mosquitto is not installed"), arguments: [MQTTVersion.v5, .v311])
    func subscribesAgain(version: MQTTVersion) async throws {
        let broker = try await rig.broker()
        var options = MQTTOptions.local(broker.port, id: "again")
        options.versions = .only(version)
        let client = try await RecordedClient.connected(options, subscribingTo: ["kept/+", "other"])
        for topic in ["kept/a", "kept/b", "other"] { try client.publish(topic, topic, retain: true) }
        #expect(await eventually { client.messages.count == 3 })
        for count in 1...3 {
            try client.client.subscribe(to: "kept/+", qos: .atLeastOnce)
            #expect(await eventually { client.retained == count * 2 })
        }
        #expect(client.subscribed.count == 5 && client.connections.count == 1)
        #expect(!client.messages.contains { $0.retain && $0.topic == "other" })
    }

    @Test(
        "A filter that the access rules refuse takes no other with it",
        .enabled(if: TestBroker.isAvailable, "mosquitto is not installed"))
    func refusedFilter() async throws {
        // mosquitto refuses only filters that match a rule of this kind; others are granted and never matched.
        let broker = try await rig.broker(rules: "topic readwrite good/#\ntopic deny bad\n")
        let client = try RecordedClient.started(
            .local(broker.port, id: "refused"), subscribingTo: ["bad", "good/1", "good/2"])
        #expect(await eventually { client.subscribed.count + client.subscriptionRefusals.count == 3 })
        #expect(Set(client.subscribed).isSuperset(of: ["good/1", "good/2"]))
        try client.publish("good/2", "x")
        #expect(await eventually { client.messages.map(\.topic) == ["good/2"] })
        #expect(client.disconnections.isEmpty)
    }

    @Test("A subscription without an answer ends the connection, and the next broker is used")
    func noAnswer() async throws {
        let silent = try ScriptedBroker { $0 == "b" ? .none : .granted }
        let working = try ScriptedBroker { _ in .granted }
        var options = MQTTOptions.local(silent.port, id: "silent")
        options.brokers.append(BrokerAddress(host: "127.0.0.1", port: working.port))
        options.versions = .only(.v311)
        options.subscribeTimeout = .milliseconds(300)
        // However long a connection lasts, this is a failure.
        options.backoff.stableAfter = .zero
        let client = try RecordedClient.started(options, subscribingTo: ["a", "b", "c"])
        #expect(await eventually { client.connections.count == 2 && client.subscribed == ["a", "c", "a", "b", "c"] })
        #expect(client.disconnections.map(\.failure) == [.subscriptionUnanswered("b")])
        #expect(client.connections.map(\.broker.port) == [silent.port, working.port])
    }

    @Test(
        "An optional filter on which the broker closes or stays silent is left out, and requested once more",
        arguments: [false, true])
    func optionalFilter(isSilent: Bool) async throws {
        let broker = try ScriptedBroker { $0 == "bad" ? isSilent ? .none : .closed : .granted }
        var options = MQTTOptions.local(broker.port, id: "optional")
        options.versions = .only(.v311)
        options.subscribeTimeout = .milliseconds(300)
        options.backoff.stableAfter = .milliseconds(500)
        let client = try RecordedClient(options)
        for filter in ["bad", "better"] { try client.client.subscribe(to: filter, qos: .atLeastOnce, isOptional: true) }
        for filter in ["z", "a"] { try client.client.subscribe(to: filter, qos: .atLeastOnce) }
        try client.client.start()
        // The second request for it is the last: from now on, it is left out.
        let ends = isSilent ? 2 : 3
        #expect(await eventually { client.leftOut.count == 2 * 2 && client.connections.count == ends + 1 })
        let requests = broker.connections.map { $0.count { $0 == "bad" } }
        #expect(requests == Array(repeating: 1, count: ends) + [0], "\(broker.connections)")
        #expect(await eventually { broker.connections.last?.sorted() == ["a", "better", "z"] })
        try client.client.subscribe(to: "bad", qos: .atLeastOnce, isOptional: true)
        #expect(await eventually { client.leftOut.count == 5 })
        #expect(client.connections.count == ends + 1 && client.subscriptionRefusals.isEmpty)
    }

    /// For a broker with a retained message, the client that published it, and the options of a device that takes at most
    /// 10,000 bytes, with MQTT 3.1.1, which has no limit that the broker would know.
    private func broker(
        retaining topic: String, bytes: Int, overTLS: Bool
    ) async throws -> (RecordedClient, MQTTOptions) {
        let certificates = try TestCertificates(directory: TemporaryDirectory())
        try certificates.makeServerCertificate(name: "localhost")
        let broker = try await rig.broker(
            directory: certificates.directory, listener: overTLS ? certificates.listenerLines : "")
        var options = MQTTOptions.local(broker.port, id: "operator", host: "localhost", tls: overTLS)
        options.tls.caFile = overTLS ? certificates.caFile : nil
        options.maximumPacketSize = 100 << 20
        let publisher = try await RecordedClient.connected(options)
        let message = MQTTMessage(
            topic: topic, payload: [UInt8](repeating: 0x61, count: bytes), qos: .atLeastOnce, retain: true)
        try publisher.client.publish(message, token: 1)
        #expect(await eventually { publisher.acknowledged == [1] })
        options.clientID = "device"
        options.versions = .only(.v311)
        options.maximumPacketSize = 10_000
        return (publisher, options)
    }

    @Test(
        "A retained message that is too large costs only its own filter, until it is removed",
        .enabled(if: TestBroker.isAvailable && TestCertificates.isAvailable, "mosquitto or openssl is not installed"),
        arguments: [false, true])
    func tooLargeMessage(overTLS: Bool) async throws {
        let (publisher, device) = try await broker(retaining: "do/it", bytes: 20 << 20, overTLS: overTLS)
        var options = device
        // The session stays at the broker, with the subscriptions.
        options.sessionExpiry = .seconds(100)
        options.backoff.stableAfter = .seconds(3)
        let client = try RecordedClient.started(options, subscribingTo: ["do/it", "do/+/now", "else"])
        // Requested again when the connection was stable, and then later.
        #expect(await eventually { client.leftOut == ["do/it", "do/it"] && client.connections.count == 3 })
        #expect(await eventually { client.granted == ["do/+/now", "else"] })
        #expect(client.omissions.allSatisfy { $0 == .messageTooLarge(topic: "do/it") })
        // Where localhost is an IPv6 address first, that refuses.
        #expect(
            TLSTests.failures(client) == [.packetTooLarge(topic: "do/it"), .packetTooLarge(topic: "do/it")])
        #expect(client.disconnections.last?.advice?.contains("retained") == true)
        try publisher.publish("else", "ok")
        #expect(await eventually { client.messages.map(\.text) == ["ok"] })

        try publisher.publish("do/it", retain: true, token: 2)
        #expect(await eventually { publisher.acknowledged.contains(2) })
        #expect(await eventually { client.subscribed.suffix(1) == ["do/it"] })
        #expect(client.connections.count == 3)
        #expect(client.client.stop() == .stopped(undelivered: 0))
    }

    @Test(
        "A retained message with a very long topic costs only its own filter",
        .enabled(if: TestBroker.isAvailable && TestCertificates.isAvailable, "mosquitto or openssl is not installed"),
        arguments: [false, true])
    func longTopic(overTLS: Bool) async throws {
        // Several records of TLS.
        let topic = "do/" + String(repeating: "x", count: 60_000)
        let (_, options) = try await broker(retaining: topic, bytes: 20_000, overTLS: overTLS)
        let client = try RecordedClient.started(options, subscribingTo: ["do/+", "else"])
        #expect(await eventually { client.leftOut == ["do/+"] && client.subscribed.last == "else" })
        // Where localhost is an IPv6 address first, that refuses.
        #expect(TLSTests.failures(client) == [.packetTooLarge(topic: topic)])
        #expect(client.disconnections.allSatisfy { $0.failure.description.utf8.count < 300 })
        #expect(client.client.stop() == .stopped(undelivered: 0))
    }

    /// Found with a broker that was killed: its only unanswered filter was then left out for good.
    @Test("A filter that was unanswered when the broker ended is requested again on the next connection")
    func unansweredFilter() async throws {
        let hasClosed = Mutex(false)
        let broker = try ScriptedBroker { filter in
            guard filter == "layer" else { return .granted }
            return hasClosed.withLock { isSecond in
                defer { isSecond = true }
                return isSecond ? .granted : .closed
            }
        }
        var options = MQTTOptions.local(broker.port, id: "unanswered")
        options.versions = .only(.v311)
        options.backoff.stableAfter = .milliseconds(300)
        let client = try RecordedClient(options)
        try client.client.subscribe(to: "own", qos: .atLeastOnce)
        try client.client.subscribe(to: "layer", qos: .atLeastOnce, isOptional: true)
        try client.client.start()
        #expect(await eventually { client.subscribed.contains("layer") })
        #expect(client.connections.count == 2)
    }
}

extension RecordedClient {
    /// The number of messages that arrived because they were retained.
    var retained: Int { messages.count { $0.retain } }
}
