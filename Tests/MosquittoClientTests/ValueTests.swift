import Testing

@testable import MosquittoClient

/// Addresses, topics, options, errors: what can be wrong is told before anything is connected.
@Suite struct ValueTests {
    @Test(
        "Addresses are read from URLs",
        arguments: [
            ("mqtt://pi.local", "pi.local", 1883, false),
            ("mqtts://broker.example/", "broker.example", 8883, true),
            ("MQTT://10.0.0.2:2883", "10.0.0.2", 2883, false),
            ("mqtts://[fe80::1%eth0]:443", "fe80::1%eth0", 443, true),
            ("mqtt://[::1]", "::1", 1883, false),
        ] as [(String, String, UInt16, Bool)])
    func address(text: String, host: String, port: UInt16, tls: Bool) throws {
        let address = try BrokerAddress(parsing: text)
        #expect(address == BrokerAddress(host: host, port: port, usesTLS: tls))
        #expect(try BrokerAddress(parsing: address.description) == address)
    }

    @Test(
        "What is wrong with an address is said exactly",
        arguments: [
            ("pi.local:1883", .missingScheme("pi.local:1883")), ("http://pi", .unknownScheme("http")),
            ("mqtt://me:secret@pi", .containsCredentials), ("mqtt://pi/jostle", .hasPath("pi/jostle")),
            ("mqtt://", .emptyHost), ("mqtt://:1883", .emptyHost), ("mqtt://my pi", .invalidHost("my pi")),
            ("mqtt://[::1", .invalidHost("[::1")), ("mqtt://pi:0", .invalidPort(":0")),
            ("mqtt://pi:65536", .invalidPort(":65536")), ("mqtt://pi:+1", .invalidPort(":+1")),
            ("mqtt://pi:", .invalidPort(":")), ("mqtt://[::1]1883", .invalidPort("1883")),
        ] as [(String, BrokerAddressError)])
    func badAddress(text: String, error: BrokerAddressError) {
        #expect(throws: error) { try BrokerAddress(parsing: text) }
        #expect(!error.description.contains("secret"))
    }

    @Test("Topic names: no wildcards, no control characters, 1 to 65,535 bytes")
    func names() throws {
        for name in ["jostle/washer-1/event/shake", "/", "ü/€", String(repeating: "x", count: 65_535)] {
            try MQTTTopic.validate(name: name)
        }
        for (name, fault) in [
            ("", .empty), ("a/+/b", .wildcardInName), ("a#", .wildcardInName), ("a\u{0}", .controlCharacter),
            ("a\n", .controlCharacter), ("\u{FFFF}", .controlCharacter),
        ] as [(String, MQTTTopic.Fault)] {
            #expect(throws: MQTTError.invalidTopic(name, fault)) { try MQTTTopic.validate(name: name) }
        }
        #expect(throws: MQTTError.self) { try MQTTTopic.validate(name: String(repeating: "ü", count: 32_768)) }
    }

    @Test("Topic filters: '+' is a whole level, '#' the whole rest")
    func filters() throws {
        for filter in ["#", "+", "a/+/b", "a/#", "+/+", "/+", "$share/group/a/#", "a//#"] {
            try MQTTTopic.validate(filter: filter)
        }
        for filter in ["a+", "a/b#", "#/a", "a/#/b", "+a/b", "##"] {
            #expect(throws: MQTTError.invalidTopic(filter, .misplacedWildcard)) {
                try MQTTTopic.validate(filter: filter)
            }
        }
        #expect(MQTTTopic.matches("jostle/a/set/rate", filter: "jostle/+/set/#"))
        #expect(!MQTTTopic.matches("jostle/a/state", filter: "jostle/+/set/#"))
    }

    @Test("A password shows in no description, dump or mirror")
    func password() {
        var options = MQTTOptions(brokers: [BrokerAddress(host: "pi")], clientID: "a")
        options.credentials = MQTTCredentials(userName: "me", password: MQTTCredentials.Secret("hunter2"))
        var text = "\(options) " + String(reflecting: options)
        dump(options, to: &text)
        #expect(text.contains("me") && !text.contains("hunter2"))
    }

    @Test("Options that cannot work are refused when the client is made")
    func options() {
        func error(_ change: (inout MQTTOptions) -> Void) -> MQTTError? {
            var options = MQTTOptions(brokers: [BrokerAddress(host: "pi")], clientID: "a")
            change(&options)
            do throws(MQTTError) {
                _ = try MQTTClient(options: options) { _ in }
                return nil
            } catch {
                return error
            }
        }
        #expect(error { _ in } == nil)
        #expect(error { $0.brokers = [] } != nil)
        #expect(error { $0.clientID = "" } != nil)
        #expect(error { $0.keepAlive = .seconds(4) } != nil)
        #expect(error { $0.responseTimeout = .zero } != nil)
        #expect(error { $0.backoff.base = .zero } != nil)
        #expect(error { $0.backoff.cap = .milliseconds(1) } != nil)
        #expect(error { $0.maximumInFlight = 0 } != nil)
        #expect(error { $0.maximumPacketSize = 1 } != nil)
        #expect(error { $0.tls.certificateFile = "/x" } != nil)
        #expect(error { $0.will = MQTTMessage(topic: "a/#", text: "") } == .invalidTopic("a/#", .wildcardInName))
    }

    @Test("A client that is not connected takes no messages, and says so")
    func notConnected() throws {
        let client = try MQTTClient(options: MQTTOptions(brokers: [BrokerAddress(host: "pi")], clientID: "a")) { _ in }
        let message = MQTTMessage(topic: "a", text: "b")
        #expect(throws: MQTTError.notConnected) { try client.publish(message) }
        let large = MQTTMessage(topic: "a", payload: Array(repeating: 0, count: (1 << 20) + 1))
        #expect(throws: MQTTError.tooLarge("payload", size: (1 << 20) + 1, limit: 1 << 20)) {
            try client.publish(large)
        }
        #expect(client.stop() == .notStarted)
        #expect(throws: MQTTError.stopped) { try client.publish(message) }
        #expect(throws: MQTTError.stopped) { try client.start() }
    }

    @Test("Failures say what to do: the clock, the password, the name")
    func advice() {
        #expect(MQTTFailure.tls(.notYetValid).advice == "check this board's clock")
        #expect(MQTTFailure.refused(.badUserNameOrPassword).advice?.contains("password") == true)
        #expect(MQTTFailure.hostNotFound("pi", code: -2).description.contains("pi"))
        #expect(MQTTFailure.refused(MQTTReason(connack311: 5)).description.contains("Not authorized"))
        #expect(MQTTFailure.network(code: 111).description == "Connection refused")
    }

    @Test("The queue keeps its order around its end, and takes no more than its capacity")
    func queue() {
        var queue = BoundedQueue<Int>(capacity: 3)
        var next = 0
        var expected = 0
        for _ in 0..<7 {
            while queue.append(next) { next += 1 }
            #expect(queue.count == 3)
            for _ in 0..<2 {
                #expect(queue.popFirst() == expected)
                expected += 1
            }
        }
        #expect(queue.popFirst() == expected)
        #expect(queue.isEmpty && queue.popFirst() == nil)
    }

    @Test("Waits are rounded up to whole milliseconds, so that a timer never spins")
    func milliseconds() {
        #expect(Duration.zero.pollMilliseconds == 0)
        #expect(Duration.nanoseconds(1).pollMilliseconds == 1)
        #expect(Duration.milliseconds(1500).pollMilliseconds == 1500)
        #expect(Duration.seconds(-1).pollMilliseconds == 0)
        #expect(Duration.seconds(1_000_000).pollMilliseconds == 3_600_000)
    }
}
