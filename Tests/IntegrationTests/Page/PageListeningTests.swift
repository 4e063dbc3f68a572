import BrokerTestSupport
import Foundation
import Testing

/// Where the page may be served, and what it needs for that.
@Suite(.needsPage) struct PageListeningTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    /// A start that must fail: no broker is needed for it.
    private func start(_ arguments: [String]) async throws -> Outcome {
        return try await JostleProgram(
            ["--broker", "mqtt://127.0.0.1:1"] + arguments, program: Products.pageProgram
        ).outcome()
    }

    /// A file that only its owner reads.
    private func secret(_ text: String, _ name: String, in directory: TemporaryDirectory) throws -> String {
        let path = try directory.write(text, to: name, permissions: 0o600)
        return path
    }

    @Test func otherMachinesNeedAPasswordAndACertificate() async throws {
        let password = "page.password_file=" + (try secret("secret\n", "password", in: directory))

        let bare = try await start(["--listen", "0.0.0.0:0"]).expect(
            status: 78, errors: "page.password_file, page.certificate_file and page.key_file", "--insecure-http")
        let plain = try await start(["--listen", "0.0.0.0:0", "--set", password]).expect(
            status: 78, errors: "needs page.certificate_file and page.key_file")
        let open = try await start(["--listen", "0.0.0.0:0", "--insecure-http"]).expect(
            status: 78, errors: "needs page.password_file\n")
        #expect((bare.output + plain.output + open.output).isEmpty)
    }

    @Test func withoutEncryptionThePageOnlyShows() async throws {
        let broker = try await rig.broker()
        let password = try secret("secret\n", "password", in: directory)
        let port = try Loopback.freePort()
        let program = try rig.run(
            [
                "--broker", "mqtt://127.0.0.1:\(broker.port)", "--listen", "0.0.0.0:\(port)", "--insecure-http",
                "--set", "page.password_file=\(password)", "--set", "page.control=true",
            ], program: Products.pageProgram)
        let isUp = await eventually { program.output.hasSuffix("\n") || !program.isRunning }
        try #require(isUp && program.isRunning, "\(program.errors)")

        let headers: [RawHTTP.Header] = [
            ("Content-Type", "application/json"), ("X-Jostle", "1"), ("Origin", "http://127.0.0.1:\(port)"),
        ]
        let login = try RawHTTP.send(port, "POST", "/api/login", headers, body: #"{"password":"secret"}"#)
        #expect(login.status == 204)
        let cookie = ("Cookie", String(try #require(login.header("Set-Cookie")).prefix { $0 != ";" }))
        let session = try RawHTTP.get(port, "/api/session", [cookie])
        #expect(session.body.contains(#""control":false"#))
        let body = #"{"board":"dut","name":"simulate","arguments":{}}"#
        let command = try RawHTTP.send(port, "POST", "/api/command", headers + [cookie], body: body)
        #expect(command.status == 403)
        #expect(command.body.contains(#""error":"read_only""#))
    }

    @Test func aPortInUseIsNamed() async throws {
        let (descriptor, port) = try Loopback.listening()
        defer { close(descriptor) }
        try await start(["--listen", "127.0.0.1:\(port)"]).expect(
            status: 69, errors: "another program uses 127.0.0.1:\(port)")
    }

    @Test(arguments: [("nowhere.invalid:8088", 69), ("127.0.0.1", 64), ("127.0.0.1:99999", 64), ("203.0.113.1:0", 69)])
    func anAddressThatCannotBeUsedIsNamed(_ address: String, _ status: Int32) async throws {
        let outcome = try await start(["--listen", address])
        // A value of the command line is refused like one of the configuration.
        #expect(outcome.status == status || status == 64 && outcome.status == 78)
        #expect(outcome.errors.contains(address.prefix { $0 != ":" }))
    }

    @Test func unusableFilesAreNamedWithTheirKey() async throws {
        let empty = try secret("\n", "empty", in: directory)
        let readable = try directory.write("secret\n", to: "readable")
        let noKey = try secret("-----BEGIN NOTHING-----\n", "no-key", in: directory)
        let cases: [([String], String)] = [
            (["page.password_file=\(directory.path("absent"))"], "page.password_file"),
            (["page.password_file=\(empty)"], "first line is empty"),
            (["page.password_file=\(readable)"], "chmod o= "),
            (["page.certificate_file=\(noKey)"], "a certificate needs page.key_file"),
            (["page.key_file=\(noKey)"], "a key needs page.certificate_file"),
            (["page.certificate_file=\(noKey)", "page.key_file=\(readable)"], "page.key_file"),
            (
                ["page.certificate_file=\(noKey)", "page.key_file=\(noKey)"],
                "page.certificate_file and page.key_file: not a PEM certificate and its PEM key"
            ),
        ]
        for (settings, text) in cases {
            let outcome = try await start(["--listen", "127.0.0.1:0"] + settings.flatMap { ["--set", $0] }).expect(
                status: 78)
            #expect(outcome.errors.contains(text), "\(settings)")
            #expect(!outcome.errors.contains("secret"))
        }
    }

    @Test func aCertificateNeedsItsOwnKey() async throws {
        try #require(TestCertificates.isAvailable)
        let certificates = try TestCertificates(directory: try TemporaryDirectory())
        try certificates.makeServerCertificate(name: "localhost")
        try certificates.makeClientCertificate(user: "other")
        try await start([
            "--listen", "127.0.0.1:0", "--set", "page.certificate_file=\(certificates.directory.path("server.pem"))",
            "--set", "page.key_file=\(certificates.directory.path("other.key"))",
        ]).expect(status: 78, errors: "not a PEM certificate and its PEM key")
    }

    @Test func withACertificateEverythingIsEncrypted() async throws {
        try #require(TestCertificates.isAvailable)
        let broker = try await rig.broker()
        let certificates = try TestCertificates(directory: try TemporaryDirectory())
        try certificates.makeServerCertificate(name: "localhost")
        let key = certificates.directory.path("server.key")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
        let port = try Loopback.freePort()
        let password = try secret("secret\n", "password", in: certificates.directory)
        let program = try rig.run(
            [
                "--broker", "mqtt://127.0.0.1:\(broker.port)", "--listen", "127.0.0.1:\(port)",
                "--set", "page.certificate_file=\(certificates.directory.path("server.pem"))",
                "--set", "page.key_file=\(key)", "--set", "page.password_file=\(password)",
            ], program: Products.pageProgram)
        let isUp = await eventually { program.output.hasSuffix("\n") || !program.isRunning }
        try #require(isUp && program.isRunning, "\(program.errors)")
        #expect(program.output.hasPrefix("https://127.0.0.1:\(port)/?token="))

        // Handshakes that do not go on: nothing sent, and the beginning of one.
        let silent = try (0..<150).map { _ in try RawHTTP.Connection(port) }
        for connection in silent.prefix(75) { connection.write([0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3]) }
        let share = try await ProcessFigures(program.processIdentifier).processorShare()
        #expect(share < 0.3, "no loop while a handshake waits")
        let plain = try RawHTTP.Connection(port)
        plain.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(!String(decoding: plain.readToEnd(), as: UTF8.self).contains("HTTP/"))

        let login = try await tool(
            "curl", "--silent", "--max-time", "20", "--cacert", certificates.caFile, "--dump-header", "-",
            "--header", "Content-Type: application/json", "--header", "X-Jostle: 1",
            "--header", "Origin: https://localhost:\(port)", "--data", #"{"password":"secret"}"#,
            "https://localhost:\(port)/api/login")
        #expect(login.output.contains(" 204 "), "\(login.output)\(login.errors)")
        #expect(login.output.contains("HttpOnly; SameSite=Strict; Secure"))
        for (version, isAccepted) in [("-tls1_1", false), ("-tls1_2", true), ("-tls1_3", true)] {
            let handshake = try await tool(
                "openssl", "s_client", "-connect", "127.0.0.1:\(port)", version, "-cipher", "DEFAULT@SECLEVEL=0",
                "-CAfile", certificates.caFile)
            #expect((handshake.status == 0) == isAccepted, "\(version): \(handshake.errors)")
        }
        withExtendedLifetime(silent) {}
    }

    /// Runs a program of the system to its end.
    private func tool(_ name: String, _ arguments: String...) async throws -> Outcome {
        let path = try #require(
            ["/usr/bin/", "/bin/"].map { $0 + name }.first { FileManager.default.isExecutableFile(atPath: $0) })
        return try await JostleProgram(arguments, program: URL(fileURLWithPath: path)).outcome()
    }
}
