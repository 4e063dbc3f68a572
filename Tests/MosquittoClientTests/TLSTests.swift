import BrokerTestSupport
import MosquittoClient
import Synchronization
import Testing

/// Encrypted connections: only the right broker is accepted, and the fault of any other is reported.
@Suite(
    .serialized,
    .enabled(if: TestBroker.isAvailable, "mosquitto is not installed"),
    .enabled(if: TestCertificates.isAvailable, "openssl is not installed"))
struct TLSTests {
    private let rig = Rig()

    /// A broker with a certificate for a name, and options that trust its authority. `use` is what the certificate is
    /// for, `basicConstraint` what its authority may do.
    private func broker(
        for name: String = "localhost", _ validity: TestCertificates.Validity = .now, use: String? = nil,
        basicConstraint: String? = nil, listener: String = ""
    ) async throws -> (TestBroker, TestCertificates, MQTTOptions) {
        let certificates = try TestCertificates(directory: TemporaryDirectory(), basicConstraint: basicConstraint)
        try certificates.makeServerCertificate(name: name, validity, use: use)
        let broker = try await rig.broker(
            directory: certificates.directory, listener: certificates.listenerLines + "\n" + listener)
        var options = MQTTOptions.local(broker.port, id: "tls", host: "localhost", tls: true)
        options.tls.caFile = certificates.caFile
        return (broker, certificates, options)
    }

    /// The failures, except those for lack of an IPv6 listener, to which `localhost` may resolve first.
    static func failures(_ client: RecordedClient) -> [MQTTFailure] {
        client.disconnections.map(\.failure).filter { $0 != .network(code: 111) }
    }

    /// A server that completes the handshake and does not speak MQTT, and options that trust its authority.
    private func silentServer(id: String) throws -> (TLSServer, MQTTOptions) {
        let certificates = try TestCertificates(directory: TemporaryDirectory())
        try certificates.makeServerCertificate(name: "localhost")
        let server = try TLSServer(certificates, protocols: "mqtt")
        var options = MQTTOptions.local(server.port, id: id, host: "localhost", tls: true)
        options.tls.caFile = certificates.caFile
        return (server, options)
    }

    /// A client that was started and has failed twice, each time for this reason.
    private func client(
        failingBecause fault: TLSFault, advice: String = "", _ options: MQTTOptions
    ) async throws -> RecordedClient {
        let client = try RecordedClient.started(options)
        #expect(await eventually { Self.failures(client).count >= 2 })
        #expect(Self.failures(client).allSatisfy { $0 == .tls(fault) }, "\(Self.failures(client))")
        #expect(advice.isEmpty || MQTTFailure.tls(fault).advice?.contains(advice) == true)
        return client
    }

    @Test("Messages go both ways over TLS, in bursts that fill its records")
    func roundTrip() async throws {
        let (_, _, options) = try await broker()
        let client = try await RecordedClient.connected(options, subscribingTo: ["t"])
        for number in 0..<300 { try client.publish("t", "\(number)") }
        #expect(await eventually { client.messages.count == 300 })
        #expect(client.messages.map(\.text) == (0..<300).map { "\($0)" })
        #expect(client.client.stop(within: .seconds(5)) == .stopped(undelivered: 0))
    }

    @Test("Refuses a certificate for another name, unless the check is disabled")
    func wrongHost() async throws {
        let (_, _, options) = try await broker(for: "other.example")
        #expect(try await client(failingBecause: .wrongHost, options).connections.isEmpty)

        var careless = options
        careless.tls.verifiesServerName = false
        let other = try await RecordedClient.connected(careless)
        #expect(other.connections.count == 1)
    }

    @Test("Does not trust an unknown authority")
    func untrusted() async throws {
        let (_, _, options) = try await broker()
        var unaware = options
        unaware.tls.caFile = nil
        let client = try RecordedClient.started(unaware)
        #expect(await eventually { Self.failures(client).count >= 2 })
        #expect(Set(Self.failures(client).map(\.description)) == [MQTTFailure.tls(.untrusted).description])
    }

    @Test("Retries with a certificate that is not valid yet or has expired, until there is a valid one")
    func validity() async throws {
        let cases: [(TestCertificates.Validity, TLSFault)] = [(.future, .notYetValid), (.past, .expired)]
        for (validity, fault) in cases {
            let (broker, certificates, options) = try await broker(for: "localhost", validity)
            let client = try RecordedClient(options)
            try client.client.start()
            #expect(await eventually { Self.failures(client).count >= 3 })
            #expect(Self.failures(client).allSatisfy { $0 == .tls(fault) })
            #expect(MQTTFailure.tls(fault).advice?.contains("clock") == true)
            broker.stop()
            try certificates.makeServerCertificate(name: "localhost")
            try await broker.start()
            #expect(await eventually { client.connections.count == 1 })
        }
    }

    @Test("Presents a client certificate to a broker that requires one, which refuses a client without")
    func clientCertificate() async throws {
        let (_, certificates, options) = try await broker(listener: "require_certificate true")
        let client = try RecordedClient.started(options)
        // The text of the alert depends on the version of TLS. The broker closes the connection at once, so an alert can
        // be lost to the reset.
        func alert() -> MQTTFailure? {
            Self.failures(client).first { if case .tls(.alert) = $0 { true } else { false } }
        }
        #expect(await eventually { alert() != nil }, "\(Self.failures(client))")
        #expect(client.connections.isEmpty)
        #expect(alert()?.advice?.contains("client certificate") == true)

        var known = options
        // Any certificate of the same authority will do.
        known.tls.certificateFile = certificates.directory.path("server.pem")
        known.tls.keyFile = certificates.directory.path("server.key")
        let other = try await RecordedClient.connected(known)
        #expect(other.connections.count == 1)
    }

    @Test("Reports a key with a passphrase as unusable, and does not prompt at a terminal")
    func encryptedKey() async throws {
        let (_, certificates, options) = try await broker()
        try runCommand(
            ["openssl", "pkey", "-in", "server.key", "-out", "hidden.key", "-aes256", "-passout", "pass:abcd"],
            in: certificates.directory)
        var locked = options
        locked.tls.certificateFile = certificates.directory.path("server.pem")
        locked.tls.keyFile = certificates.directory.path("hidden.key")
        let client = try RecordedClient.started(locked)
        #expect(await eventually { Self.failures(client).count >= 2 })
        let failure = try #require(Self.failures(client).first)
        #expect(
            failure.description.contains("hidden.key") && failure.advice?.contains("passphrase") == true, "\(failure)")
    }

    @Test("Names a missing CA file, and uses it once it exists")
    func missingFile() async throws {
        let (_, certificates, options) = try await broker()
        var hopeful = options
        let path = certificates.directory.path("later.pem")
        hopeful.tls.caFile = path
        let client = try RecordedClient.started(hopeful)
        #expect(await eventually { client.disconnections.count >= 2 })
        #expect(client.disconnections.allSatisfy { $0.failure == .file(path, code: 2) })
        try runCommand(["cp", "ca.pem", "later.pem"], in: certificates.directory)
        #expect(await eventually { client.connections.count == 1 })
    }

    @Test(
        "Names a certificate that only clients may use, and an authority whose certificate may not sign others",
        arguments: [
            ("clientAuth", nil, .wrongPurpose, "serverAuth"), (nil, "CA:FALSE", .invalidAuthority, "CA:TRUE"),
        ] as [(String?, String?, TLSFault, String)])
    func wrongUse(use: String?, basicConstraint: String?, fault: TLSFault, advice: String) async throws {
        let (_, _, options) = try await broker(use: use, basicConstraint: basicConstraint)
        _ = try await client(failingBecause: fault, advice: advice, options)
    }

    @Test("Does not connect over TLS to a plain port")
    func plainPort() async throws {
        let broker = try await rig.broker()
        var options = MQTTOptions.local(broker.port, id: "plain", host: "localhost", tls: true)
        options.connectTimeout = .seconds(1)
        let client = try await client(failingBecause: .interrupted, advice: "mqtt://", options)
        #expect(client.connections.isEmpty)
    }

    @Test(
        "Reports a port that answers in another protocol as not a TLS port",
        arguments: [
            "HTTP/1.1 400 Bad Request\r\n\r\n", "220 mail.example ESMTP ready\r\n", "SSH-2.0-OpenSSH_9.2p1\r\n",
            "RFB 003.008\n", "\u{20}\u{2}\0\0, a CONNACK", String(repeating: "\0", count: 40),
        ])
    func otherProtocol(answer: String) async throws {
        let server = try AnsweringServer(answer)
        let client = try RecordedClient.started(
            MQTTOptions.local(server.port, id: "other", host: "127.0.0.1", tls: true))
        #expect(await eventually { client.disconnections.count >= 2 })
        #expect(
            client.disconnections.allSatisfy { $0.failure == .tls(.notTLS) }, "\(client.disconnections.map(\.failure))")
        #expect(MQTTFailure.tls(.notTLS).advice?.contains("mqtt://") == true)
    }

    @Test("Reports a connection that is reset during the handshake, and does not read from it for ever")
    func resetDuringHandshake() async throws {
        let server = try AnsweringServer(nil)
        let client = try RecordedClient(MQTTOptions.local(server.port, id: "reset", host: "127.0.0.1", tls: true))
        let start = ContinuousClock.now
        try client.client.start()
        #expect(await eventually { client.disconnections.count >= 2 })
        // An attempt that is given up for want of an answer takes ten seconds.
        #expect(ContinuousClock.now - start < .seconds(9))
        let failures = client.disconnections.map(\.failure)
        #expect(failures.allSatisfy { $0 == .tls(.interrupted) }, "\(failures)")
    }

    @Test("Reports a closed port as such, whose attempts cost no broker anything")
    func closedPort() async throws {
        var options = MQTTOptions.local(try Loopback.freePort(), id: "early", host: "127.0.0.1", tls: true)
        // The delay doubles only after attempts that reach a broker.
        options.backoff.cap = .seconds(3600)
        let client = try RecordedClient.started(options)
        #expect(await eventually { client.disconnections.count >= 20 })
        #expect(
            client.disconnections.allSatisfy { $0.failure == .network(code: 111) },
            "\(client.disconnections.map(\.failure))")
        #expect(client.disconnections.first?.advice?.contains("listens") == true)
    }

    @Test(
        "Connects over IPv4 if the name's IPv6 address refuses the connection",
        .enabled(if: PrivateHosts.isAvailable, "needs the permissions of root, and not to be in a chroot"))
    func closedPortOfIPv6() async throws {
        let (_, certificates, options) = try await broker()
        let hosts = try certificates.directory.write("::1 localhost\n127.0.0.1 localhost\n", to: "hosts")
        let attempts = Mutex<[UInt64]>([])
        PrivateHosts.run(hosts) {
            guard let client = try? MQTTPolledClient(options: options) else { return }
            var driver = PolledDriver()
            driver.add(client)
            _ = driver.drive { $0.allSatisfy { $0.connects == 1 } }
            attempts.withLock { $0 = [client.statistics.attempts, client.statistics.connects] }
        }
        #expect(attempts.withLock { $0 } == [2, 1])
    }

    @Test("Reports a broker that ends the connection without a word as an ordinary end, not as a fault of TLS")
    func brokerDies() async throws {
        let (broker, _, options) = try await broker()
        let client = try await RecordedClient.connected(options)
        broker.kill()
        #expect(await eventually { client.disconnections.contains(where: \.wasConnected) })
        let failures: [MQTTFailure] = [.closed, .network(code: 104)]
        #expect(client.disconnections.first(where: \.wasConnected).map { failures.contains($0.failure) } == true)
    }

    @Test("Finds authorities in a directory")
    func authorityDirectory() async throws {
        let (_, certificates, options) = try await broker()
        let authorities = try TemporaryDirectory()
        try certificates.rehash(into: authorities)
        var other = options
        other.tls.caFile = nil
        other.tls.caDirectory = authorities.path
        let client = try await RecordedClient.connected(other)
        #expect(client.connections.count == 1)

        other.tls.caDirectory = authorities.path("nowhere")
        let lost = try RecordedClient.started(other)
        #expect(await eventually { lost.disconnections.count >= 2 })
        #expect(lost.disconnections.allSatisfy { $0.failure == .file(authorities.path("nowhere"), code: 2) })
    }

    @Test("While a person waits, a broker that stays silent on MQTT 5 after the handshake is asked for 3.1.1 soon")
    func silentBrokerForAPerson() async throws {
        var (server, options) = try silentServer(id: "hurry")
        defer { server.end() }
        options.trialTimeout = .seconds(1)
        options.connectTimeout = .seconds(60)
        let client = try RecordedClient.started(options)
        #expect(await eventually { client.versionsTried.last == .v311 })
        _ = client.client.stop(within: .milliseconds(100))
    }

    @Test("Offers the configured application protocol")
    func applicationProtocol() async throws {
        var (server, options) = try silentServer(id: "alpn")
        defer { server.end() }
        options.tls.applicationProtocol = "mqtt"
        let client = try RecordedClient.started(options)
        #expect(await eventually { server.output.contains("ALPN protocols advertised by the client: mqtt") })
        _ = client.client.stop(within: .milliseconds(100))
    }
}
