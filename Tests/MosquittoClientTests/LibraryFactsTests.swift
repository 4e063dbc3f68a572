import BrokerTestSupport
import Glibc
import MosquittoClient
import Synchronization
import Testing

/// Facts about libmosquitto that must not affect the client's owner. They were measured with 2.0.11. Each is tested
/// against a broker, or against a fake if no real broker shows the behaviour.
@Suite(.serialized, .enabled(if: TestBroker.isAvailable, "mosquitto is not installed"))
struct LibraryFactsTests {
    private let rig = Rig()

    /// The library accepts a publish without a connection and sends it later, so that a retry would duplicate it.
    @Test func messagesPublishedWithoutAConnectionAreNeitherLostNorDuplicated() async throws {
        let broker = try rig.stoppedBroker()
        let publisher = try RecordedClient.started(.local(broker.port, id: "offline"))
        #expect(await eventually { publisher.disconnections.count >= 2 })
        var waiting: [Int] = []
        for number in 0..<50 {
            #expect(throws: MQTTError.notConnected) { try publisher.client.publish(Self.numbered(number)) }
            waiting.append(number)
        }
        try await broker.start()
        let listener = try await RecordedClient.connected(.local(broker.port, id: "listener"), subscribingTo: ["n"])
        #expect(await eventually { !publisher.connections.isEmpty })
        for number in waiting {
            try publisher.client.publish(Self.numbered(number), token: number)
        }
        #expect(await eventually { publisher.acknowledged.count == 50 })
        try publisher.publish("n", "end")
        #expect(await eventually { listener.messages.last?.text == "end" })
        #expect(listener.messages.map(\.text) == waiting.map { "\($0)" } + ["end"])
    }

    /// Messages in flight when the connection breaks are reported once, and the library discards them.
    @Test func messagesInFlightAreNotResentByTheLibrary() async throws {
        let broker = try await rig.broker()
        let publisher = try await RecordedClient.connected(.local(broker.port, id: "doubt"))
        broker.freeze()
        for number in 0..<40 {
            try publisher.client.publish(Self.numbered(number), token: number)
        }
        broker.kill()
        #expect(await eventually { !publisher.disconnections.isEmpty })
        #expect(publisher.disconnections.first?.undelivered.map(\.number) == Array(0..<40))
        try await broker.start()
        let listener = try await RecordedClient.connected(.local(broker.port, id: "listener"), subscribingTo: ["n"])
        #expect(await eventually { publisher.connections.count == 2 })
        for number in 0..<40 {
            try publisher.client.publish(Self.numbered(number), token: 100 + number)
        }
        #expect(await eventually { publisher.acknowledged.count == 40 })
        try publisher.publish("n", "end")
        #expect(await eventually { listener.messages.last?.text == "end" })
        #expect(listener.messages.map(\.text) == (0..<40).map { "\($0)" } + ["end"])
    }

    private static func numbered(_ number: Int) -> MQTTMessage {
        MQTTMessage(topic: "n", text: "\(number)", qos: .atLeastOnce)
    }

    /// The library's own delays are 1, 2, 4 … s for every client.
    @Test func clientsDoNotReconnectInLockstep() async throws {
        let broker = try await rig.broker()
        var options = MQTTOptions.local(broker.port, id: "one")
        options.backoff.cap = .milliseconds(400)
        let first = try await RecordedClient.connected(options)
        options.clientID = "two"
        let second = try await RecordedClient.connected(options)
        broker.kill()
        #expect(await eventually { first.disconnections.count >= 7 && second.disconnections.count >= 7 })
        let waits = [first, second].map { $0.disconnections.prefix(7).compactMap(\.retryAfter) }
        #expect(waits[0].count == 7 && waits[1].count == 7)
        for (a, b) in zip(waits[0], waits[1]) { #expect(a != b) }
        try await broker.start()
        #expect(await eventually { first.connections.count == 2 && second.connections.count == 2 })
    }

    /// The library frees a payload when the callback returns.
    @Test func copiesPayloads() async throws {
        let broker = try await rig.broker(settings: "allow_anonymous true\nmax_queued_messages 0")
        let client = try await RecordedClient.connected(.local(broker.port, id: "copy"), subscribingTo: ["c/#"])
        func payload(_ number: Int) -> [UInt8] {
            (0..<(1 + number * 37 % 5000)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) }
        }
        for number in 0..<300 {
            try client.client.publish(MQTTMessage(topic: "c/\(number)", payload: payload(number), qos: .atLeastOnce))
        }
        #expect(await eventually { client.messages.count == 300 })
        for (number, message) in client.messages.enumerated() {
            #expect(message.topic == "c/\(number)" && message.payload == payload(number))
        }
    }

    /// The library's publish function writes to the socket, and waits for locks that are held during callbacks.
    @Test func publishingDoesNotBlock() async throws {
        let broker = try await rig.broker()
        let stuck = try StuckClient(.local(broker.port, id: "hurry"))
        let client = stuck.client
        #expect(try await stuck.start())
        // The network thread is stuck on purpose: the test is that the calls return.
        for number in 0..<1000 { try client.publish(Self.numbered(number), token: number) }
        #expect(throws: MQTTError.queueFull) { try client.publish(Self.numbered(1000)) }
        #expect(client.statistics.queued == 1000)
        broker.freeze()
        stuck.release()
        #expect(await eventually { client.statistics.inFlight == 20 && client.statistics.queued == 980 })
        broker.thaw()
        #expect(await eventually { client.statistics.acknowledged == 1000 })
        _ = client.stop()
    }

    /// A stream of small messages must not wait for TCP acknowledgements, and child processes must not inherit the
    /// socket.
    @Test func theSocketSendsAtOnceAndIsNotInherited() async throws {
        let broker = try await rig.broker()
        let client = try await RecordedClient.connected(.local(broker.port, id: "nodelay"))
        let sockets = Loopback.connections(to: broker.port)
        #expect(sockets.count == 1)
        for descriptor in sockets {
            var value: Int32 = 0
            var size = socklen_t(MemoryLayout<Int32>.size)
            #expect(getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &value, &size) == 0 && value != 0)
            #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        }
        #expect(client.client.stop() == .stopped(undelivered: 0))
    }

    // MARK: Limits

    @Test func usesTheFirstBrokerThatAnswersAndReturnsToTheFirstInTheList() async throws {
        let preferred = try rig.stoppedBroker()
        let other = try await rig.broker()
        var options = MQTTOptions.local(preferred.port, id: "choice")
        let ports = [preferred.port, try Loopback.freePort(), other.port]
        options.brokers = ports.map { BrokerAddress(host: "127.0.0.1", port: $0) }
        // Any connection counts as stable.
        options.backoff.stableAfter = .zero
        let client = try await RecordedClient.connected(options)
        #expect(client.connections.map(\.broker.port) == [other.port])
        #expect(client.disconnections.map(\.broker.port) == Array(ports.prefix(2)))
        try await preferred.start()
        other.kill()
        #expect(await eventually { client.connections.count == 2 })
        #expect(client.connections.last?.broker.port == preferred.port)
    }

    @Test func respectsABrokersReceiveMaximum() async throws {
        // An MQTT 5 CONNACK with a receive maximum (0x21) of 2.
        let broker = try rig.fakeBroker { _ in [0x20, 6, 0, 0, 3, 0x21, 0, 2] }
        let client = try await RecordedClient.connected(.local(broker.port, id: "window"))
        for number in 0..<10 { try client.client.publish(Self.numbered(number)) }
        #expect(await eventually { Self.publishes(in: broker.heard) >= 2 })
        // Further messages would come at once, if they came.
        #expect(await eventually(within: .milliseconds(300)) { Self.publishes(in: broker.heard) > 2 } == false)
        _ = client.client.stop(within: .milliseconds(100))

        let real = try await rig.broker(settings: "allow_anonymous true\nmax_inflight_messages 2")
        let publisher = try await RecordedClient.connected(.local(real.port, id: "many"))
        for number in 0..<500 {
            try publisher.client.publish(Self.numbered(number), token: number)
        }
        #expect(await eventually { publisher.acknowledged.count == 500 })
        #expect(publisher.disconnections.isEmpty && publisher.rejected.isEmpty)
    }

    /// The messages on topic `n` in the sent bytes: a PUBLISH of QoS 1 without properties, with one digit.
    private static func publishes(in bytes: [UInt8]) -> Int {
        let start: [UInt8] = [0x32, 7, 0, 1, UInt8(ascii: "n")]
        return bytes.indices.count { bytes[$0...].starts(with: start) }
    }

    @Test func theBrokerWithholdsPacketsBeyondTheClientsLimit() async throws {
        let broker = try await rig.broker()
        var options = MQTTOptions.local(broker.port, id: "small")
        options.maximumPacketSize = 1000
        let small = try await RecordedClient.connected(options, subscribingTo: ["t"])
        let large = try await RecordedClient.connected(.local(broker.port, id: "large"))
        let message = MQTTMessage(topic: "t", payload: Array(repeating: 7, count: 2000), qos: .atLeastOnce)
        try large.client.publish(message)
        try large.publish("t", "small")
        #expect(await eventually { !small.messages.isEmpty })
        #expect(small.messages.map(\.text) == ["small"])
        #expect(small.disconnections.isEmpty)
    }

    /// The library takes a PUBLISH with an alias instead of a topic for a protocol error, so aliases are never enabled.
    @Test func doesNotEnableTopicAliasesAndSurvivesThem() async throws {
        let connects = Mutex<[[UInt8]]>([])
        let broker = try rig.fakeBroker { connect in
            let isFirst = connects.withLock { connects in
                connects.append(connect)
                return connects.count == 1
            }
            let accepted: [UInt8] = [0x20, 3, 0, 0, 0]
            // A PUBLISH without a topic, with topic alias (0x23) 1.
            return isFirst ? accepted + [0x30, 7, 0, 0, 3, 0x23, 0, 1, 1] : accepted
        }
        var options = MQTTOptions.local(broker.port, id: "alias")
        options.versions = .only(.v5)
        options.maximumInFlight = 7
        options.maximumPacketSize = 0x01_0203
        let client = try RecordedClient.started(options)
        #expect(await eventually { client.connections.count >= 2 })
        #expect(client.disconnections.first?.failure == .protocolError)
        let connect = try #require(connects.withLock { $0.first })
        let properties = try #require(Self.properties(of: connect))
        #expect(properties.contains([0x21, 0, 7]), "receive maximum")
        #expect(properties.contains([0x27, 0, 1, 2, 3]), "maximum packet size")
        #expect(!properties.contains { $0.first == 0x22 }, "topic alias maximum")
        _ = client.client.stop(within: .milliseconds(100))
    }

    /// The properties of a CONNECT packet that this client sends: identifier and value. The packet is short.
    private static func properties(of connect: [UInt8]) -> [[UInt8]]? {
        // Type and length (2), name (6), level, flags, keep-alive (2).
        guard connect.count > 12 else { return nil }
        var rest = connect[13...].prefix(Int(connect[12]))
        var properties: [[UInt8]] = []
        while let identifier = rest.first {
            let length = identifier == 0x21 || identifier == 0x22 ? 3 : 5
            properties.append(Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return properties
    }

    /// The library knows the five codes of MQTT 3 and takes others for a protocol error.
    @Test func reportsTheReasonOfEveryRefusalAndRetries() async throws {
        let codes: [UInt8] = [
            0x80, 0x81, 0x82, 0x83, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x8C, 0x90, 0x95, 0x97, 0x99, 0x9A, 0x9B, 0x9C,
            0x9D, 0x9F,
        ]
        let asked = Mutex(0)
        let broker = try rig.fakeBroker { _ in
            let number = asked.withLock { asked in
                defer { asked += 1 }
                return asked
            }
            return [0x20, 3, 0, number < codes.count ? codes[number] : 0, 0]
        }
        let client = try RecordedClient.started(.local(broker.port, id: "no"))
        #expect(await eventually { client.connections.count == 1 })
        #expect(client.refusals.map(\.failure) == codes.map { .refused(MQTTReason(rawValue: $0)) })
        _ = client.client.stop(within: .milliseconds(100))
    }
}
