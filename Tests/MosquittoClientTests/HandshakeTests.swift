import BrokerTestSupport
import Testing

@testable import MosquittoClient

/// Brokers that do not support MQTT 5, refuse the connection, or are not brokers at all.
@Suite(.serialized) struct HandshakeTests {
    @Test(
        "A broker of MQTT 3.1.1 is used with its version, however it refuses MQTT 5",
        arguments: [
            [0x20, 2, 0, 1],  // an MQTT 3.1.1 refusal
            [0x20, 3, 0, 0x84, 0],  // an MQTT 5 refusal
            nil,  // closing the connection
            [],  // no answer
        ] as [[UInt8]?])
    func fallback(answer: [UInt8]?) async throws {
        let broker = try FakeBroker { FakeBroker.level(of: $0) == 4 ? [0x20, 2, 0, 0] : answer }
        defer { broker.end() }
        var options = MQTTOptions.local(broker.port, id: "old")
        if answer == [] { options.connectTimeout = .seconds(1) }
        let client = try await RecordedClient.connected(options)
        #expect(client.connections.first?.version == .v311)
        #expect(client.connections.first?.withoutV5 != nil)
        // More often if a busy machine let an attempt time out.
        let versions: [MQTTVersion] = answer?.isEmpty ?? true ? [.v5, .v5, .v311] : [.v5, .v311]
        #expect(Array(client.versionsTried.prefix(versions.count)) == versions)
        #expect(client.refusals.count + client.disconnections.count >= 1)

        // The version that worked is remembered.
        let tried = client.versionsTried.count
        #expect(Loopback.cutConnections(to: broker.port) > 0)
        #expect(await eventually { client.connections.count == 2 })
        #expect(client.versionsTried.dropFirst(tried).allSatisfy { $0 == .v311 })
        _ = client.client.stop()
    }

    @Test("While a person waits, a broker that stays silent on MQTT 5 is asked for 3.1.1 soon, and at once")
    func silentBrokerForAPerson() async throws {
        let broker = try FakeBroker { FakeBroker.level(of: $0) == 4 ? [0x20, 2, 0, 0] : [] }
        defer { broker.end() }
        var options = MQTTOptions.local(broker.port, id: "hurry")
        options.trialTimeout = .seconds(1)
        options.connectTimeout = .seconds(60)
        let client = try await RecordedClient.connected(options)
        #expect(client.connections.first?.withoutV5 == .timedOut)
        #expect(client.versionsTried == [.v5, .v311])
        _ = client.client.stop()
    }

    @Test("The time for a broker that stays silent on MQTT 5 begins after the TLS handshake")
    func slowTLSForAPerson() async throws {
        let broker = try FakeBroker { _ in [] }
        defer { broker.end() }
        var options = MQTTOptions.local(broker.port, id: "slow", tls: true)
        options.trialTimeout = .milliseconds(200)
        options.connectTimeout = .seconds(2)
        let start = ContinuousClock.now
        let client = try RecordedClient.started(options)
        #expect(await eventually { !client.disconnections.isEmpty || client.versionsTried.count > 1 })
        #expect(start.duration(to: .now) >= .seconds(2))
        _ = client.client.stop()
    }

    @Test(
        "A broker without retained messages and QoS 1 gets messages that it takes",
        arguments: [MQTTLimits(retains: false), MQTTLimits(maximumQoS: .atMostOnce)])
    func limits(limits: MQTTLimits) async throws {
        // The properties Retain Available and Maximum QoS, as 0.
        let property: UInt8 = limits.retains ? 0x24 : 0x25
        let broker = try FakeBroker { _ in [0x20, 5, 0, 0, 2, property, 0] }
        defer { broker.end() }
        let client = try await RecordedClient.connected(.local(broker.port, id: "poor"))
        #expect(client.connections.first?.limits == limits)
        try client.client.publish(MQTTMessage(topic: "t", text: "x", qos: .atLeastOnce, retain: true), token: 1)
        // PUBLISH with QoS 1 alone, and with the retain flag alone.
        #expect(await eventually { broker.heard.first == (limits.retains ? 0x31 : 0x32) }, "\(broker.heard)")
        #expect(client.rejected.isEmpty)
        _ = client.client.stop()
    }

    @Test(
        "A refusal is reported as such, even if libmosquitto takes its code for a protocol error",
        arguments: [0x87, 0x8A, 0x88] as [UInt8])
    func refusal(code: UInt8) async throws {
        let broker = try FakeBroker { _ in [0x20, 3, 0, code, 0] }
        defer { broker.end() }
        let client = try RecordedClient(.local(broker.port, id: "no"))
        try client.client.start()
        #expect(await eventually { client.refusals.count >= 3 })
        #expect(client.refusals.allSatisfy { $0.failure == .refused(MQTTReason(rawValue: code)) })
        #expect(client.versionsTried.allSatisfy { $0 == .v5 })
        _ = client.client.stop()
    }

    @Test("The broker's reason for ending a connection is reported")
    func closedByBroker() async throws {
        let broker = try FakeBroker { _ in [0x20, 3, 0, 0, 0, 0xE0, 2, 0x8E, 0] }
        defer { broker.end() }
        let client = try RecordedClient(.local(broker.port, id: "twin"))
        try client.client.start()
        #expect(await eventually { client.disconnections.count >= 2 })
        #expect(client.connections.count >= 2)
        #expect(
            client.disconnections.allSatisfy { $0.failure == .closedByBroker(.sessionTakenOver) && $0.wasConnected })
        #expect(client.disconnections.first?.failure.advice?.contains("client id") == true)
        _ = client.client.stop()
    }

    @Test("A server that is not a broker is a failure, and is retried")
    func notMQTT() async throws {
        let server = try FakeBroker { _ in Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8) }
        defer { server.end() }
        var options = MQTTOptions.local(server.port, id: "web")
        options.connectTimeout = .milliseconds(300)
        let client = try RecordedClient(options)
        try client.client.start()
        #expect(await eventually { client.disconnections.count >= 4 })
        #expect(client.connections.isEmpty)
        _ = client.client.stop()
    }

    @Test("What is not MQTT is reported as such, also if it looks like a message that is too large")
    func notMQTTButLong() async throws {
        let server = try FakeBroker { _ in [0x30, 0xFF, 0xFF, 0xFF, 0x7F, 0, 3, 0x61, 0x62, 0x63] }
        defer { server.end() }
        let client = try RecordedClient(.local(server.port, id: "noise"))
        try client.client.start()
        #expect(await eventually { client.disconnections.count >= 3 })
        #expect(client.disconnections.allSatisfy { $0.failure == .protocolError && !$0.wasConnected })
        _ = client.client.stop()
    }

    @Test("A server that accepts and sends nothing hits the connection timeout")
    func mute() async throws {
        let server = try FakeBroker { _ in [] }
        defer { server.end() }
        var options = MQTTOptions.local(server.port, id: "mute")
        options.connectTimeout = .milliseconds(200)
        let client = try RecordedClient(options)
        try client.client.start()
        #expect(await eventually { client.disconnections.count >= 2 })
        #expect(client.disconnections.allSatisfy { $0.failure == .timedOut })
        #expect(client.client.stop(within: .seconds(5)) == .stopped(undelivered: 0))
    }
}
