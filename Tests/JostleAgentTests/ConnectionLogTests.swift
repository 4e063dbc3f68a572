import Testing

@testable import JostleAgent
@testable import MosquittoClient

/// Requirement: a long outage of the broker does not fill the log.
@Suite struct ConnectionLogTests {
    private typealias Event = MQTTEvent

    private let broker = BrokerAddress(host: "broker")

    private func lost(_ failure: MQTTFailure) -> Event {
        .disconnected(
            MQTTDisconnection(
                broker: broker, failure: failure, wasConnected: false, undelivered: [], retryAfter: .seconds(3)))
    }

    @Test func logsRepeatedFailuresAtPowersOfTwo() {
        var log = ConnectionLog()
        let warnings = (1...1000).filter { _ in log.line(for: lost(.timedOut))?.level == .warning }
        #expect(warnings == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
        #expect(log.line(for: lost(.silent))?.level == .warning, "a different failure is logged")
        let connection = MQTTConnection(broker: broker, version: .v5, sessionPresent: false)
        #expect(log.line(for: Event.connected(connection))?.text == "connected to mqtt://broker:1883 with MQTT 5")
        #expect(log.line(for: lost(.timedOut))?.text.contains("attempts") == false, "counted from the start")
    }

    /// The key with which the attempts with MQTT 5 can be avoided is named.
    @Test func saysWhyTheVersionIsOlder() {
        var log = ConnectionLog()
        let connection = MQTTConnection(
            broker: broker, version: .v311, sessionPresent: false, withoutV5: .timedOut)
        #expect(
            log.line(for: Event.connected(connection))?.text
                == "connected to mqtt://broker:1883 with MQTT 3.1.1 (MQTT 5: no answer in time; mqtt.version: v3.1.1 does "
                + "without it)")
    }

    @Test func saysOnceWhatABrokerLacks() {
        var log = ConnectionLog()
        var connection = MQTTConnection(broker: broker, version: .v5, sessionPresent: false)
        #expect(log.lines(forLimitsOf: connection).isEmpty)
        connection.limits = MQTTLimits(retains: false, maximumQoS: .atMostOnce)
        let lines = log.lines(forLimitsOf: connection)
        #expect(lines.count == 2 && lines.allSatisfy { $0.level == .warning })
        #expect(lines.first?.text.hasPrefix("mqtt://broker:1883 retains no messages, so ") == true)
        #expect(lines.last?.text.hasPrefix("mqtt://broker:1883 takes messages with QoS 0 only, so ") == true)
        #expect(log.lines(forLimitsOf: connection).isEmpty, "once")
    }

    /// mosquitto 2.0.11 gives no reason.
    @Test func namesATakeover() {
        for (failure, takeovers, word) in [
            (MQTTFailure.closed, 2, "if this keeps happening"), (.closed, 3, "probably another client"),
            (.closedByBroker(.sessionTakenOver), 1, "use_username_as_clientid"),
        ] {
            var log = ConnectionLog()
            let end = MQTTDisconnection(
                broker: broker, failure: failure, wasConnected: true, undelivered: [], retryAfter: .seconds(3),
                takeovers: takeovers)
            #expect(log.line(for: .disconnected(end))?.text.contains(word) == true)
        }
    }

    /// A filter that is left out was not refused.
    @Test func namesSubscriptionsThatFail() {
        var log = ConnectionLog()
        let refused = log.line(for: Event.subscriptionRefused(filter: "a", .notAuthorised))
        #expect(
            refused?.level == .warning && refused?.text.hasPrefix("the broker refused the subscription to a: ") == true)
        let leftOut = log.line(for: Event.subscriptionLeftOut(filter: "a", .noAnswer))
        #expect(leftOut?.level == .warning && leftOut?.text.hasPrefix("not subscribed to a for now: ") == true)
    }

    @Test func countsRejectionsPerTopic() {
        var log = ConnectionLog()
        let refusal = MQTTFailure.refused(.notAuthorised)
        let logged = (1...10).count { _ in log.line(for: Event.rejected(nil, topic: "a", refusal)) != nil }
        #expect(logged == 4 && log.line(for: Event.rejected(nil, topic: "b", refusal)) != nil)
        for number in 0..<200 { _ = log.line(for: Event.rejected(nil, topic: "t\(number)", refusal)) }
        #expect(log.line(for: Event.rejected(nil, topic: "one more", refusal)) == nil)
    }
}
