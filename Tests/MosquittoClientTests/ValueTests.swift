import BrokerTestSupport
import Testing

@testable import MosquittoClient

/// Addresses, topics, options, errors: invalid values are reported before anything is connected.
@Suite struct ValueTests {
    @Test("An address has the default port, and is printed as a URL")
    func address() {
        #expect("\(BrokerAddress(host: "pi.local"))" == "mqtt://pi.local:1883")
        #expect("\(BrokerAddress(host: "pi.local", usesTLS: true))" == "mqtts://pi.local:8883")
        #expect("\(BrokerAddress(host: "fe80::1%eth0", port: 443, usesTLS: true))" == "mqtts://[fe80::1%eth0]:443")
    }

    @Test("Topic names have no wildcards or control characters, and 1 to 65,535 bytes")
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

    @Test("In topic filters, '+' is a whole level and '#' the last one")
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

    @Test("A password appears in no description, dump or mirror")
    func password() {
        var options = MQTTOptions(brokers: [BrokerAddress(host: "pi")], clientID: "a")
        options.credentials = MQTTCredentials(userName: "me", password: MQTTCredentials.Secret("hunter2"))
        var text = "\(options) " + String(reflecting: options)
        dump(options, to: &text)
        #expect(text.contains("me") && !text.contains("hunter2"))
    }

    @Test("Invalid options are refused when the client is created")
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

    @Test("A client that is not connected refuses messages with an error")
    func notConnected() throws {
        let client = try MQTTClient(options: MQTTOptions(brokers: [BrokerAddress(host: "pi")], clientID: "a")) {
            _ in
        }
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

    @Test("TLS errors are reported without the libraries' decoration")
    func complaints() {
        for (text, fault) in [
            (
                "OpenSSL Error[0]: error:0A00045C:SSL routines::tlsv13 alert certificate required",
                .alert("certificate required")
            ),
            (
                "OpenSSL Error[0]: error:14094410:SSL routines:ssl3_read_bytes:sslv3 alert handshake failure",
                .alert("handshake failure")
            ),
            ("OpenSSL Error[0]: error:0A00010B:SSL routines::wrong version number", .notTLS),
            (
                "Error: Unable to load client key file \"/a.key\".",
                .clientCertificate("Unable to load client key file \"/a.key\"")
            ),
            (
                "Error: Client certificate/key are inconsistent.",
                .clientCertificate("Client certificate/key are inconsistent")
            ),
        ] as [(String, TLSFault)] {
            #expect(TLSFault(log: text) == fault)
        }
    }

    @Test("Failures come with advice: the clock, the password, the name")
    func advice() {
        #expect(MQTTFailure.tls(.notYetValid).advice == "check this board's clock")
        #expect(MQTTFailure.refused(.badUserNameOrPassword).advice?.contains("password") == true)
        #expect(MQTTFailure.hostNotFound("pi", code: -2).description.contains("pi"))
        #expect(MQTTFailure.refused(MQTTReason(connack311: 5)).description.contains("Not authorized"))
        #expect(MQTTFailure.network(code: 111).description == "Connection refused")
    }

    @Test("The queue keeps its order when it wraps, and respects its capacity")
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

    @Test("The queue keeps its order when it grows after it has wrapped", arguments: [9, 20, 1000])
    func growingQueue(_ capacity: Int) {
        var queue = BoundedQueue<Int>(capacity: capacity)
        var next = 0
        var expected = 0
        // Three are removed of every five that are added, so the oldest is in another place at each growth.
        while queue.count + 5 <= capacity {
            for _ in 0..<5 {
                let isAccepted = queue.append(next)
                #expect(isAccepted)
                next += 1
            }
            for _ in 0..<3 {
                #expect(queue.first == expected)
                let element = queue.popFirst()
                #expect(element == expected)
                expected += 1
            }
        }
        while queue.append(next) { next += 1 }
        #expect(queue.count == capacity)
        while let element = queue.popFirst() {
            #expect(element == expected)
            expected += 1
        }
        #expect(expected == next)
    }

    @Test("OpenSSL's reasons for refusing a certificate have names and advice of their own")
    func verifyResults() throws {
        let named: [Int: TLSFault] = [
            9: .notYetValid, 10: .expired, 20: .untrusted, 23: .revoked, 26: .wrongPurpose, 79: .invalidAuthority,
            62: .wrongHost, 66: .tooWeak, 67: .tooWeak, 68: .tooWeak,
        ]
        for (code, fault) in named { #expect(TLSFault(verifyResult: code) == fault) }
        #expect(Set(named.values.map { MQTTFailure.tls($0).advice }).count == 8)
        #expect(TLSFault(verifyResult: 0) == nil)
        guard case .certificate(let text) = TLSFault(verifyResult: 25) else { throw Unexpected("no reason of its own") }
        #expect(text == "path length constraint exceeded")
    }

    @Test("Timeouts are rounded up to whole milliseconds, so that a timer never spins")
    func milliseconds() {
        #expect(Duration.zero.pollMilliseconds == 0)
        #expect(Duration.nanoseconds(1).pollMilliseconds == 1)
        #expect(Duration.milliseconds(1500).pollMilliseconds == 1500)
        #expect(Duration.seconds(-1).pollMilliseconds == 0)
        #expect(Duration.seconds(1_000_000).pollMilliseconds == 3_600_000)
    }
}
