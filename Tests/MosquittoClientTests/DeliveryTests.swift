import BrokerTestSupport
import MosquittoClient
import Testing

/// Messages through a real broker: published messages arrive, and their outcome is reported.
@Suite(.serialized, .enabled(if: TestBroker.isAvailable, "mosquitto is not installed"))
struct DeliveryTests {
    private let rig = Rig()

    @Test(
        "Messages of both qualities of service arrive in order and are acknowledged",
        arguments: [MQTTVersion.v5, .v311])
    func publishAndSubscribe(version: MQTTVersion) async throws {
        let broker = try await rig.broker()
        var options = MQTTOptions.local(broker.port, id: "both")
        options.versions = .only(version)
        let client = try await RecordedClient.connected(options, subscribingTo: ["t/#"])
        #expect(client.connections.first?.version == version)
        #expect(client.connections.first?.sessionPresent == false)

        for number in 0..<10 {
            let message = MQTTMessage(
                topic: "t/\(number)", text: "\(number)", qos: number % 2 == 0 ? .atMostOnce : .atLeastOnce)
            try client.client.publish(message, token: number)
        }
        #expect(await eventually { client.messages.count == 10 && client.acknowledged.count == 10 })
        #expect(client.messages.map(\.topic) == (0..<10).map { "t/\($0)" })
        #expect(client.messages.map(\.text) == (0..<10).map { "\($0)" })
        #expect(Set(client.acknowledged) == Set(0..<10))
        let statistics = client.client.statistics
        #expect(statistics.published == 10 && statistics.acknowledged == 10 && statistics.received == 10)
        #expect(client.client.stop() == .stopped(undelivered: 0))
    }

    @Test("In a reading pause messages are sent; what arrives is read when it ends or is called off, or if it is much")
    func readingPause() async throws {
        let broker = try await rig.broker()
        let client = try await RecordedClient.connected(.local(broker.port, id: "pausing"), subscribingTo: ["t"])
        let other = try await RecordedClient.connected(.local(broker.port, id: "other"), subscribingTo: ["t"])
        client.client.pauseReading(for: .seconds(60))
        // The first one may still be read at once.
        for number in 0..<3 {
            try client.publish("t", "\(number)")
            #expect(await eventually { other.messages.count == number + 1 })
        }
        try await Task.sleep(for: .milliseconds(300))
        #expect(client.messages.count < 3)
        client.client.pauseReading(for: nil)
        #expect(await eventually { client.messages.map(\.text) == ["0", "1", "2"] })
        client.client.pauseReading(for: .milliseconds(300))
        for number in 3..<20 { try client.publish("t", "\(number)") }
        #expect(await eventually { client.messages.count == 20 })

        // The broker waits for acknowledgements after every 20 messages: with as many pauses, these would take 18 s.
        client.client.pauseReading(for: .seconds(2))
        for number in 20..<220 { try other.publish("t", "\(number)") }
        #expect(await eventually(within: .seconds(12)) { client.messages.count == 220 })

        client.client.pauseReading(for: nil)
        #expect(await eventually { other.client.statistics.queued + other.client.statistics.inFlight == 0 })
        other.client.pauseReading(for: .seconds(60))
        for number in 220..<223 {
            try other.publish("t", "\(number)")
            #expect(await eventually { client.messages.count == number + 1 })
        }
        let stopped = ContinuousClock.now
        #expect(other.client.stop(within: .seconds(40)) == .stopped(undelivered: 0))
        #expect(stopped.duration(to: .now) < .seconds(20), "a stop ends the pause")
    }

    @Test("A retained message reaches a later subscriber with the retain flag; an empty one clears it")
    func retained() async throws {
        let broker = try await rig.broker()
        let publisher = try await RecordedClient.connected(.local(broker.port, id: "publisher"))
        try publisher.publish("state", "on", retain: true, token: 1)
        #expect(await eventually { publisher.acknowledged.count == 1 })

        let subscriber = try await RecordedClient.connected(
            .local(broker.port, id: "subscriber"), subscribingTo: ["state"])
        #expect(await eventually { subscriber.messages.count == 1 })
        #expect(subscriber.messages.first?.retain == true)
        #expect(subscriber.messages.first?.text == "on")

        try publisher.client.publish(MQTTMessage(topic: "state", payload: [], qos: .atLeastOnce, retain: true))
        #expect(await eventually { subscriber.messages.count == 2 })
        #expect(subscriber.messages.last?.payload == [] && subscriber.messages.last?.retain == false)
    }

    @Test("The properties of MQTT 5 arrive as they were sent, with bytes of every value")
    func properties() async throws {
        let broker = try await rig.broker()
        let client = try await RecordedClient.connected(.local(broker.port, id: "five"), subscribingTo: ["p"])
        let properties = MQTTMessage.Properties(
            messageExpiry: 3600, responseTopic: "jostle/_reply/ü", correlationData: Array(0...255),
            contentType: "application/json",
            userProperties: [MQTTMessage.UserProperty("from", "é"), MQTTMessage.UserProperty("from", "")])
        let message = MQTTMessage(topic: "p", payload: Array(0...255), qos: .atLeastOnce, properties: properties)
        try client.client.publish(message)
        #expect(await eventually { client.messages.count == 1 })
        let received = try #require(client.messages.first)
        #expect(received.payload == message.payload)
        #expect(received.properties.responseTopic == properties.responseTopic)
        #expect(received.properties.correlationData == properties.correlationData)
        #expect(received.properties.contentType == properties.contentType)
        #expect(received.properties.userProperties == properties.userProperties)
        // The broker subtracts the time for which it stored the message.
        let expiry = try #require(received.properties.messageExpiry)
        #expect((3500...3600).contains(expiry))
    }

    @Test("1,000 messages published at once, then a stop: all arrive in order, and no will is published")
    func drain() async throws {
        let broker = try await rig.broker(settings: "allow_anonymous true\nmax_queued_messages 0")
        let subscriber = try await RecordedClient.connected(
            .local(broker.port, id: "sub"), subscribingTo: ["n", "will"])
        var options = MQTTOptions.local(broker.port, id: "pub")
        options.will = MQTTMessage(topic: "will", text: "lost", qos: .atLeastOnce)
        let publisher = try await RecordedClient.connected(options)
        for number in 0..<1000 { try publisher.publish("n", "\(number)", token: number) }
        #expect(publisher.client.stop(within: .seconds(20)) == .stopped(undelivered: 0))
        #expect(publisher.acknowledged.count == 1000)
        #expect(publisher.stopped == [[]])
        // The broker publishes a will before it accepts anything from a later client.
        let last = try await RecordedClient.connected(.local(broker.port, id: "last"))
        try last.publish("n", "end")
        #expect(await eventually { subscriber.messages.last?.text == "end" })
        #expect(subscriber.messages.map(\.text) == (0..<1000).map { "\($0)" } + ["end"])
    }

    @Test("Messages or bytes beyond the queue's limits are refused, and no other message is lost")
    func queueFull() async throws {
        let broker = try await rig.broker()
        var options = MQTTOptions.local(broker.port, id: "full")
        options.queueCapacity = 10
        options.queueBytes = 100
        let client = try await RecordedClient.connected(options)
        broker.freeze()
        // First the window of 20 fills, then the queue: with ten messages, or with the one that exceeds the bytes.
        func fill(_ text: String) async throws -> Int {
            var count = 0
            let isFull = await eventually {
                do throws(MQTTError) {
                    try client.publish("n", text, token: 0)
                    count += 1
                    return false
                } catch {
                    return error == .queueFull && client.client.statistics.inFlight == 20
                }
            }
            try #require(isFull)
            return count
        }
        #expect(try await fill("x") == 30)
        broker.thaw()
        #expect(await eventually { client.acknowledged.count == 30 })
        broker.freeze()
        #expect(try await fill(String(repeating: "x", count: 60)) == 21)
        broker.thaw()
        #expect(await eventually { client.acknowledged.count == 51 })
        #expect(client.client.stop(within: .seconds(10)) == .stopped(undelivered: 0))
    }

    @Test("A message that the broker's access rules forbid is rejected with the reason")
    func accessRules() async throws {
        let broker = try await rig.broker(rules: "topic readwrite allowed\n")
        let client = try await RecordedClient.connected(.local(broker.port, id: "acl"), subscribingTo: ["allowed"])
        try client.publish("forbidden", token: 7)
        #expect(await eventually { client.rejected.count == 1 })
        #expect(client.rejected.first?.token == 7)
        #expect(client.rejected.first?.failure == .refused(.notAuthorised))
        #expect(client.rejected.first?.failure.messageDescription == MQTTReason.notAuthorised.description)
        // A rejected message without a token is reported too, by its topic.
        try client.publish("forbidden/too")
        #expect(await eventually { client.rejected.map(\.topic) == ["forbidden", "forbidden/too"] })
        #expect(client.client.statistics.rejected == 2)
    }

    @Test("A message larger than the broker's limit is rejected, and the connection stays up")
    func oversize() async throws {
        let broker = try await rig.broker(settings: "allow_anonymous true\nmax_packet_size 1000")
        let client = try await RecordedClient.connected(.local(broker.port, id: "large"))
        try client.client.publish(
            MQTTMessage(topic: "a", payload: Array(repeating: 1, count: 2000), qos: .atLeastOnce),
            token: 1)
        try client.publish("a", "b", token: 2)
        #expect(await eventually { client.acknowledged == [2] })
        #expect(client.rejected.map(\.token) == [1])
        #expect(client.connections.count == 1)
    }

    @Test("Subscriptions can be added and ended while connected")
    func unsubscribe() async throws {
        let broker = try await rig.broker()
        let client = try await RecordedClient.connected(.local(broker.port, id: "un"), subscribingTo: ["a", "b"])
        client.client.unsubscribe(from: "a")
        try client.client.subscribe(to: "c", qos: .atMostOnce)
        #expect(await eventually { client.subscribed.count == 3 })
        for topic in ["a", "b", "c"] { try client.publish(topic) }
        #expect(await eventually { client.messages.count == 2 })
        #expect(client.messages.map(\.topic) == ["b", "c"])
    }
}
